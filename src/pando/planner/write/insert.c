/*
 * insert.c: INSERT with rows written in the statement.
 *
 * The rewriter has put column defaults into the target list. Every expression of a row is
 * evaluated on this node, row by row, so that a sequence gives each value once and all
 * copies of a row agree; the template has a slot for the rows and the executor decides
 * where each goes. ON CONFLICT and RETURNING are evaluated with the row in its shard.
 *
 * Rows with a subquery or a set-returning function in them come from a plan: see
 * insert_select.c.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "catalog/pg_attribute.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pando/planner/fragment/fragment_make.h"
#include "pando/planner/write/write_rules.h"
#include "pando/planner/write/insert.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/residual/broadcast.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/where/fragment_params.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/where/hazard.h"
#include "pando/planner/where/result_scope.h"

/* Replaces the columns of a VALUES list by what one of its rows has there. */
typedef struct RowSubstitution
{
	int varno;
	List *row;
} RowSubstitution;

static Node *
substitute_mutator(Node *node, RowSubstitution *substitution)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var *var = (Var *) node;

		if (var->varno == substitution->varno && var->varlevelsup == 0)
			return list_nth(substitution->row, var->varattno - 1);
	}
	return expression_tree_mutator(node, substitute_mutator, substitution);
}

/* The VALUES list that alone the rows come from, or NULL: the target list is the one row,
 * or a query gives them. */
static RangeTblEntry *
values_rte(Query *query, int *varno)
{
	Node *item;
	RangeTblEntry *rte;

	if (list_length(query->jointree->fromlist) != 1)
		return NULL;
	item = linitial(query->jointree->fromlist);
	if (!IsA(item, RangeTblRef))
		return NULL;
	*varno = ((RangeTblRef *) item)->rtindex;
	rte = rt_fetch(*varno, query->rtable);
	return rte->rtekind == RTE_VALUES ? rte : NULL;
}

static Expr *
plan_value(Node *expr)
{
	if (IsA(expr, Const))
		return (Expr *) expr;
	return expression_planner((Expr *) copyObject(expr));
}

static List *
plan_row(List *tlist, RowSubstitution *substitution)
{
	List *row = NIL;

	foreach_ptr (TargetEntry, tle, tlist)
	{
		Node *expr = (Node *) tle->expr;

		if (tle->resjunk)
			continue;
		if (substitution)
			expr = substitute_mutator(expr, substitution);
		row = lappend(row, plan_value(expr));
	}
	return row;
}

static void
set_columns(Fragment *fragment, List *tlist)
{
	foreach_ptr (TargetEntry, tle, tlist)
	{
		if (!tle->resjunk)
			fragment->insert_columns = lappend_int(fragment->insert_columns, tle->resno);
	}
}

static void
set_rows(Fragment *fragment, Query *query, List *tlist)
{
	RowSubstitution substitution;
	RangeTblEntry *values = values_rte(query, &substitution.varno);

	if (values == NULL)
		fragment->insert_rows = list_make1(plan_row(tlist, NULL));
	else
		foreach_ptr (List, row, values->values_lists)
		{
			substitution.row = row;
			fragment->insert_rows =
				lappend(fragment->insert_rows, plan_row(tlist, &substitution));
		}
}

/* A NULL for each column of the target list: the template's row, to be cut out of it. */
static List *
null_tlist(Oid relid, List *tlist)
{
	List *nulls = NIL;

	foreach_ptr (TargetEntry, tle, tlist)
	{
		Oid type;
		int32 typmod;
		Oid collation;

		if (tle->resjunk)
			continue;
		get_atttypetypmodcoll(relid, tle->resno, &type, &typmod, &collation);
		nulls = lappend(nulls,
						makeTargetEntry((Expr *) makeNullConst(type, typmod, collation),
										tle->resno, tle->resname, false));
	}
	return nulls;
}

/* INSERT of DEFAULT VALUES where no column has one: some column's NULL makes the row. */
static List *
first_column_null(Oid relid)
{
	Relation relation = table_open(relid, NoLock);
	TupleDesc desc = RelationGetDescr(relation);
	List *tlist = NIL;

	for (int i = 0; i < desc->natts && tlist == NIL; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);

		if (attr->attisdropped || attr->attgenerated)
			continue;
		tlist = list_make1(makeTargetEntry(
			(Expr *) makeNullConst(attr->atttypid, attr->atttypmod, attr->attcollation),
			i + 1, pstrdup(NameStr(attr->attname)), false));
	}
	table_close(relation, NoLock);
	if (tlist == NIL)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("INSERT into a distributed table without columns is not "
							   "supported")));
	return tlist;
}

void
insert_forget_source(Query *insert)
{
	const OnConflictExpr *conflict = insert->onConflict;
	Index varno = 0;

	foreach_ptr (RangeTblEntry, rte, insert->rtable)
	{
		varno++;
		if ((int) varno != insert->resultRelation &&
			(conflict == NULL || (int) varno != conflict->exclRelIndex))
			rte_become(rte, RTE_RESULT);
	}
	insert->jointree = makeFromExpr(NIL, NULL);
	insert->cteList = NIL;
	insert->override = OVERRIDING_NOT_SET;
}

/* The statement with one row of NULLs and nothing that was done with it here. */
static Query *
template_query(Query *query, List *tlist)
{
	Query *copy = copyObject(query);
	Oid relid = rt_fetch(query->resultRelation, query->rtable)->relid;

	insert_forget_source(copy);
	copy->hasModifyingCTE = false;
	copy->targetList = null_tlist(relid, tlist);
	return copy;
}

bool
conflict_has_sublinks(const Query *query)
{
	const OnConflictExpr *conflict = query->onConflict;

	return query->hasSubLinks && conflict != NULL &&
		   (checkExprHasSubLink((Node *) conflict->onConflictSet) ||
			checkExprHasSubLink(conflict->onConflictWhere));
}

/* Does a subquery read anything that a shard's node may not have? */
static bool
reads_tables_walker(Node *node, void *context)
{
	Query *query = (Query *) node;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, reads_tables_walker, context);
	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		if (rte->rtekind == RTE_RELATION || rte->rtekind == RTE_CTE ||
			rte->rtekind == RTE_NAMEDTUPLESTORE)
			return true;
	}
	if (query->cteList != NIL || query->rowMarks != NIL ||
		expression_hazard((Node *) query->targetList) ||
		expression_hazard((Node *) query->jointree) ||
		expression_hazard(query->havingQual))
		return true;
	return query_tree_walker(query, reads_tables_walker, context, QTW_IGNORE_JOINALIASES);
}

/* What of ON CONFLICT is evaluated with the row: not its exclRelTlist, which is the
 * planner's. */
static List *
conflict_parts(const Query *query)
{
	const OnConflictExpr *conflict = query->onConflict;

	return conflict == NULL
			   ? NIL
			   : list_make4(conflict->arbiterElems, conflict->arbiterWhere,
							conflict->onConflictSet, conflict->onConflictWhere);
}

/* The same of the whole INSERT. */
static Node *
parts_on_shard(const Query *query)
{
	return (Node *) lcons(query->returningList, conflict_parts(query));
}

const char *
insert_hazard(const Query *query)
{
	return expression_hazard(parts_on_shard(query));
}

bool
conflict_is_for_here(const Query *query)
{
	return query->onConflict != NULL &&
		   expression_hazard((Node *) conflict_parts(query)) != NULL;
}

void
check_on_shard(Query *query, const DistTable *target)
{
	OnConflictExpr *conflict = query->onConflict;
	Node *parts = parts_on_shard(query);
	const char *hazard;

	if (reads_tables_walker(parts, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("this subquery in ON CONFLICT of an INSERT into a distributed "
						"table is not supported yet")));
	hazard = insert_hazard(query);
	if (hazard)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("ON CONFLICT or RETURNING of an INSERT into a distributed "
							   "table cannot be evaluated on a shard"),
						errdetail("%s.", hazard)));
	if (conflict_has_sublinks(query))
		refuse_varying_copies(target, template_query(query, query->targetList));
	if (table_has_copies(target) && expression_varies(parts))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a volatile function in ON CONFLICT or RETURNING of an INSERT "
						"into table \"%s\", which has several copies, is not "
						"supported yet",
						get_rel_name(target->relid))));
	if (conflict)
		refuse_key_change(query, target, NIL);
}

static ShardChoice
insert_choice(const DistTable *target)
{
	switch (target->kind)
	{
		case TABLE_HASH:
		case TABLE_RANGE:
		case TABLE_APPEND: /* which raises for each row */
			return SHARDS_BY_ROW;
		case TABLE_SINGLE:
			return SHARDS_ALL;
		case TABLE_REFERENCE:
			return SHARDS_ALL_COPIES;
		case TABLE_MANAGED_LOCAL:
			break;
	}
	elog(ERROR, "unexpected kind of table %u", target->relid);
}

Fragment *
insert_rows_fragment(Query *query, const DistTable *target, bool from_plan)
{
	Fragment *fragment = palloc0(sizeof(Fragment));
	List *tlist = query->targetList;
	List *params = NIL;
	List *outer = results_enter();
	Query *text;

	if (conflict_has_sublinks(query))
	{
		query = query_without_join_columns(query);
		conflict_broadcast(query);
	}
	check_on_shard(query, target);
	if (tlist == NIL)
		tlist = first_column_null(target->relid);

	fragment->command = CMD_INSERT;
	fragment->anchor = target->relid;
	fragment->choice = insert_choice(target);
	set_columns(fragment, tlist);
	if (!from_plan)
		set_rows(fragment, query, tlist);
	text = fragment_params_extract(template_query(query, tlist), &params);
	fragment->template = template_from_query(text, &fragment->relations);
	fragment->params = plan_expressions(params);
	fragment->subplans = results_of_query(text);
	results_leave(outer);
	fragment->rows = query->returningList ? list_length(fragment->insert_rows) : 0;
	fragment_set_columns(fragment, query->returningList);
	return fragment;
}

bool
insert_is_of_select(Query *query)
{
	int varno;

	/* A rule's condition, or its action's FROM, may stand beside the rows. */
	return query->jointree->quals != NULL ||
		   (query->jointree->fromlist != NIL && values_rte(query, &varno) == NULL);
}

Fragment *
insert_values_fragment(Query *query, const DistTable *target)
{
	int varno;
	RangeTblEntry *values = values_rte(query, &varno);

	if (query->hasModifyingCTE || query->hasTargetSRFs ||
		(query->hasSubLinks &&
		 (checkExprHasSubLink((Node *) query->targetList) ||
		  (values && checkExprHasSubLink((Node *) values->values_lists)))))
		return NULL;
	return insert_rows_fragment(query, target, false);
}
