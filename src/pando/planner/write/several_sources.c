/*
 * several_sources.c: UPDATE ... FROM of a table with copies, where several rows of FROM
 * match one row of the target.
 *
 * Each copy might take another of them, so one is taken here, unless it is known that
 * each row has at most one (modify.c). Where it can't be taken here, whether there are
 * several is seen when the statement runs: true is added to its condition as
 *
 *     (SELECT pando.refuse_several_sources(count(*), name) FROM target, ... WHERE
 * condition GROUP BY target.ctid HAVING 1 < count(*) LIMIT 1) IS NULL
 */
#include "pando/compat/compat.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_operator_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_func.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pando/plan/row_place.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/write/several_sources.h"
#include "pando/planner/write/write_rules.h"

static Aggref *
count_rows(void)
{
	Aggref *count = makeNode(Aggref);

	count->aggfnoid = F_COUNT_;
	count->aggtype = INT8OID;
	count->aggstar = true;
	count->aggkind = AGGKIND_NORMAL;
	count->aggno = count->aggtransno = -1;
	count->location = -1;
	return count;
}

/* What tells the target's rows from each other: partitions number theirs each by itself.
 */
static Expr *
row_of_copy(Index varno, const RangeTblEntry *rte)
{
	return rte->relkind == RELKIND_PARTITIONED_TABLE
			   ? (Expr *) row_place_call(varno)
			   : (Expr *) makeVar(varno, SelfItemPointerAttributeNumber, TIDOID, -1,
								  InvalidOid, 0);
}

static Query *
several_sources_query(Query *query, const DistTable *target)
{
	Query *several = copyObject(query);
	RangeTblEntry *rte = rt_fetch(query->resultRelation, several->rtable);
	Expr *row = row_of_copy(query->resultRelation, rte);
	SortGroupClause *group = makeNode(SortGroupClause);
	Oid types[] = {INT8OID, TEXTOID};
	Oid function = LookupFuncName(
		list_make2(makeString("pando"), makeString("refuse_several_sources")), 2, types,
		false);
	List *args = list_make2(count_rows(),
							makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
									  CStringGetTextDatum(get_rel_name(target->relid)),
									  false, false));
	Expr *refusal = (Expr *) makeFuncExpr(function, BOOLOID, args, InvalidOid,
										  DEFAULT_COLLATION_OID, COERCE_EXPLICIT_CALL);

	level_become_select(several);
	several->hasAggs = true;
	rte->rellockmode = AccessShareLock;
	group->tleSortGroupRef = 1;
	get_sort_group_operators(exprType((Node *) row), true, true, false, &group->sortop,
							 &group->eqop, NULL, &group->hashable);
	several->groupClause = list_make1(group);
	several->targetList =
		list_make2(makeTargetEntry(refusal, 1, pstrdup("refused"), false),
				   makeTargetEntry(row, 2, pstrdup("row"), true));
	((TargetEntry *) lsecond(several->targetList))->ressortgroupref = 1;
	several->havingQual = (Node *) make_opclause(
		Int8LessOperator, BOOLOID, false,
		(Expr *) makeConst(INT8OID, -1, InvalidOid, 8, Int64GetDatum(1), false,
						   FLOAT8PASSBYVAL),
		(Expr *) count_rows(), InvalidOid, InvalidOid);
	set_opfuncid((OpExpr *) several->havingQual);
	several->limitCount = (Node *) makeConst(INT8OID, -1, InvalidOid, 8, Int64GetDatum(1),
											 false, FLOAT8PASSBYVAL);
	return several;
}

/* Of `column = value` the column of the relation, where the target's row alone tells the
 * value; else 0. */
static AttrNumber
equated_column(Node *qual, Index varno, Index target)
{
	OpExpr *test = (OpExpr *) qual;

	if (!IsA(qual, OpExpr) || list_length(test->args) != 2 ||
		!op_mergejoinable(test->opno, exprType(linitial(test->args))))
		return 0;
	for (int i = 0; i < 2; i++)
	{
		Var *var = (Var *) strip_implicit_coercions(list_nth(test->args, i));
		Node *value = list_nth(test->args, 1 - i);

		if (IsA(var, Var) && var->varno == varno && var->varlevelsup == 0 &&
			test->inputcollid == var->varcollid &&
			bms_is_subset(pull_varnos(NULL, value), bms_make_singleton(target)) &&
			!expression_varies(value))
			return var->varattno;
	}
	return 0;
}

/* Is there a unique index over some of those columns alone, of all rows? */
static bool
has_unique_index(Oid relid, List *columns)
{
	const DistTable *table = dist_table(relid);
	Relation relation;
	bool found = false;

	if ((table != NULL && table->kind == TABLE_APPEND) ||
		(get_rel_relkind(relid) == RELKIND_RELATION && has_subclass(relid)))
		return false;
	relation = table_open(relid, NoLock);

	foreach_oid(index, RelationGetIndexList(relation))
	{
		Relation rel = index_open(index, AccessShareLock);
		Form_pg_index form = rel->rd_index;
		bool all = form->indisunique && form->indimmediate && form->indisvalid &&
				   RelationGetIndexPredicate(rel) == NIL;

		for (int i = 0; i < form->indnkeyatts; i++)
			all &= list_member_int(columns, form->indkey.values[i]);
		found |= all;
		index_close(rel, AccessShareLock);
	}
	table_close(relation, NoLock);
	return found;
}

/* Can each row of the target match one row of that item of FROM at most? */
static bool
matches_one(Query *query, Index varno)
{
	const RangeTblEntry *rte = rt_fetch(varno, query->rtable);
	List *columns = NIL;

	if (rte->rtekind == RTE_VALUES)
		return list_length(rte->values_lists) == 1;
	if (rte->rtekind != RTE_RELATION)
		return rte->rtekind == RTE_RESULT;
	foreach_ptr (Node, qual, quals_flat(query->jointree->quals))
	{
		AttrNumber column = equated_column(qual, varno, query->resultRelation);

		if (column > 0)
			columns = lappend_int(columns, column);
	}
	return has_unique_index(rte->relid, columns);
}

bool
may_have_several_sources(Query *query, const DistTable *target)
{
	if (query->commandType != CMD_UPDATE || !table_has_copies(target) ||
		list_length(query->jointree->fromlist) < 2)
		return false;
	foreach_ptr (Node, item, query->jointree->fromlist)
	{
		const RangeTblRef *ref = (RangeTblRef *) item;

		if (!IsA(item, RangeTblRef) ||
			(ref->rtindex != query->resultRelation && !matches_one(query, ref->rtindex)))
			return true;
	}
	return false;
}

Query *
query_that_refuses_several_sources(Query *query, const DistTable *target)
{
	SubLink *sublink = makeNode(SubLink);
	NullTest *none = makeNode(NullTest);

	if (query->commandType != CMD_UPDATE || !table_has_copies(target) ||
		list_length(query->jointree->fromlist) < 2)
		return query;
	query = copyObject(query);
	sublink->subLinkType = EXPR_SUBLINK;
	sublink->subselect = (Node *) several_sources_query(query, target);
	sublink->location = -1;
	none->arg = (Expr *) sublink;
	none->nulltesttype = IS_NULL;
	none->location = -1;
	query->jointree->quals = make_and_qual(query->jointree->quals, (Node *) none);
	query->hasSubLinks = true;
	return query;
}

PG_FUNCTION_INFO_V1(refuse_several_sources);

Datum
refuse_several_sources(PG_FUNCTION_ARGS)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		 errmsg("UPDATE of a row of table \"%s\", which has several copies, from more "
				"than one row is not supported",
				text_to_cstring(PG_GETARG_TEXT_PP(1))),
		 errdetail("The copies might come to differ."),
		 errhint(
			 "Make each row match at most one row of FROM, for example by GROUP BY.")));
	PG_RETURN_NULL();
}
