/*
 * several_sources.c: UPDATE ... FROM of a table with copies, where several rows of FROM
 * match one row of the target.
 *
 * Each copy might take another of them. Whether that is so is seen when the statement
 * runs: true is added to its condition as
 *
 *     (SELECT pando.refuse_several_sources(count(*), name) FROM target, ... WHERE
 * condition GROUP BY target.ctid HAVING 1 < count(*) LIMIT 1) IS NULL
 */
#include "pando/compat/compat.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_operator_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_func.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "pando/plan/row_place.h"
#include "pando/planner/query/level_fields.h"
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
