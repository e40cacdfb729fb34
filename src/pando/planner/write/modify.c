/*
 * modify.c: UPDATE and DELETE, and what all writes have in common.
 *
 * An UPDATE or DELETE is sent whole where each of the target's rows finds all that it is
 * compared with in its own shard group: that is distribution_of_query()'s verdict on the
 * statement. What may move rows to other shards is key_change.c's.
 *
 * A table whose rows exist more than once (reference tables) gets the same statement on
 * every copy, so that nothing in it may come out differently there: no volatile
 * functions, no LIMIT without a total order.
 */
#include "pando/compat/compat.h"
#include "access/table.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_func.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pando/plan/row_place.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/query/each_level.h"
#include "pando/planner/fragment/fragment_make.h"
#include "pando/planner/query/equality.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/query/whole_row.h"
#include "pando/planner/residual/broadcast.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/where/point.h"
#include "pando/planner/where/result_scope.h"
#include "pando/planner/write/computed_change.h"
#include "pando/planner/write/key_change.h"
#include "pando/planner/write/may_run_here.h"
#include "pando/planner/write/merge.h"
#include "pando/planner/write/triggered.h"
#include "pando/planner/write/write.h"

bool
table_has_copies(const DistTable *table)
{
	return table->kind == TABLE_REFERENCE ||
		   (table->nshards > 0 && table->shards[0].nplacements > 1);
}

static bool
assignment_keeps_key(const TargetEntry *tle, const Query *query, const DistTable *target,
					 List *keys)
{
	Node *expr = equality_strip((Node *) tle->expr);

	if (IsA(expr, Var))
	{
		Var *var = (Var *) expr;

		/* In a conflict the existing row has the same key: a unique index includes it. */
		return var->varlevelsup == 0 && var->varattno == target->key &&
			   (var->varno == query->resultRelation ||
				(query->onConflict != NULL &&
				 var->varno == query->onConflict->exclRelIndex));
	}
	return list_length(keys) == 1 && equal(expr, equality_strip(linitial(keys)));
}

bool
keeps_key(const Query *query, const DistTable *target, List *keys)
{
	List *assignments =
		query->onConflict ? query->onConflict->onConflictSet : query->targetList;

	if (target->key == InvalidAttrNumber)
		return true;
	foreach_ptr (TargetEntry, tle, assignments)
	{
		if (!tle->resjunk && tle->resno == target->key)
			return assignment_keeps_key(tle, query, target, keys);
	}
	return true;
}

void
refuse_key_change(const Query *query, const DistTable *target, List *keys)
{
	if (keeps_key(query, target, keys))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("modifying the distribution column \"%s\" of table \"%s\" is not "
					"supported yet",
					get_attname(target->relid, target->key, false),
					get_rel_name(target->relid)),
			 errdetail("The row would move to another shard."),
			 errhint("Delete the row and insert it with the other value.")));
}

static bool
depends_on_order(Query *level, void *context)
{
	const char **construct = context;

	if (level->limitCount || level->limitOffset)
		*construct = "LIMIT or OFFSET";
	else if (level->hasDistinctOn)
		*construct = "DISTINCT ON";
	else if (level->hasWindowFuncs)
		*construct = "a window function";
	return *construct != NULL;
}

/* What may come out differently for two copies of a row, in words for a user; NULL:
 * nothing. */
static const char *
varying_construct(Query *query)
{
	const char *construct = NULL;

	if (write_system_columns(query).others)
		return "a system column";
	if (query_varies((Node *) query))
		return "a volatile function";
	(void) query_each_level(query, depends_on_order, &construct);
	return construct;
}

void
refuse_varying_copies(const DistTable *target, Query *query)
{
	const char *construct = table_has_copies(target) ? varying_construct(query) : NULL;

	if (construct)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s in a change of table \"%s\", which has several copies, is not "
					"supported yet",
					construct, get_rel_name(target->relid)),
			 errdetail("The copies might come to differ.")));
}

/*
 * Where several rows of FROM match one row of the target, each copy might take another of
 * them. Whether that is so is seen when the statement runs: true is added to its
 * condition as
 *
 *     (SELECT pando.refuse_several_sources(count(*), name) FROM target, ... WHERE
 * condition GROUP BY target.ctid HAVING 1 < count(*) LIMIT 1) IS NULL
 */
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

static Query *
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

static void
refuse_modification(const DistTable *target, Query *query, const char *why)
{
	refuse_varying_copies(target, query);
	ereport(
		ERROR,
		(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		 errmsg("this change of table \"%s\" cannot be made on its shards and is not "
				"supported yet",
				get_rel_name(target->relid)),
		 errdetail("%s.", why ? why : "It depends on rows of other shards or tables")));
}

bool
can_stand_on_shards(Query *query, const DistTable *target,
					const Distribution *distribution)
{
	if (query->hasModifyingCTE && distribution->kind != DIST_SINGLE)
		return false;
	if (table_has_copies(target) && varying_construct(query) != NULL)
		return false;
	/* A copy of the row on a node of another shard group would be forgotten. */
	if (target->kind == TABLE_REFERENCE)
		return distribution->kind == DIST_ANYWHERE;
	return distribution->kind == DIST_SINGLE || distribution->kind == DIST_SHARDED;
}

/* The statement once what it is compared with has been read, and is known to all shards;
 * NULL if it can't stand on them then, either. */
static Query *
change_after_reads(Query *query, const DistTable *target, Distribution *distribution)
{
	Query *copy = query_without_join_columns(query);

	if (!write_broadcast(copy))
		return NULL;
	*distribution = distribution_of_query(copy);
	return can_stand_on_shards(copy, target, distribution) ? copy : NULL;
}

/* The same once all that it computes has been computed; `given`: with the policies of its
 * target. Raises an error if that can't be. */
static Query *
change_after_computing(Query *given, Query *query, const DistTable *target,
					   Distribution *distribution)
{
	const char *why = distribution->reason;
	Query *computed;

	results_forget(0);
	computed = change_computed_here(given, target, &why);
	if (computed == NULL)
		refuse_modification(target, query, why);
	*distribution = distribution_of_query(computed);
	if (!can_stand_on_shards(computed, target, distribution))
		refuse_modification(target, query, distribution->reason);
	return computed;
}

/* `given`: with the policies of its target. */
static Fragment *
change_fragment(Query *given, Query *query, const DistTable *target)
{
	List *outer = results_enter();
	SystemColumns columns = write_system_columns(query);
	Distribution distribution;
	bool by_ctid = false;
	Fragment *fragment;

	if (columns.tableoid)
		query = write_with_shell_oids(query);
	distribution = distribution_of_query(query);
	if (!can_stand_on_shards(query, target, &distribution))
	{
		Query *change = change_after_reads(query, target, &distribution);

		by_ctid = change != NULL && columns.others;
		query = change != NULL
					? change
					: change_after_computing(given, query, target, &distribution);
	}
	query = query_that_refuses_several_sources(query, target);
	fragment = fragment_from_query(query, &distribution);
	fragment->anchor = target->relid;
	fragment->subplans = results_of_query(query);
	fragment->by_ctid = by_ctid;
	results_leave(outer);
	return fragment;
}

/*
 * A view that was replaced by its table leaves its own EXCLUDED behind, whose name the
 * table's is to have in text.
 */
static void
forget_excluded_of_views(Query *query)
{
	Index varno = 0;

	if (query->onConflict == NULL || query->onConflict->exclRelIndex == 0)
		return;
	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		varno++;
		if (varno != query->onConflict->exclRelIndex && rte->rtekind == RTE_RELATION &&
			rte->relkind == RELKIND_COMPOSITE_TYPE)
			rte->alias = rte->eref = makeAlias("excluded of a view", rte->eref->colnames);
	}
}

PlannedStmt *
plan_write(Query *query, int cursor_options, ParamListInfo params)
{
	const RangeTblEntry *rte = rt_fetch(query->resultRelation, query->rtable);
	const DistTable *target = dist_table(rte->relid);
	Fragment *fragment;
	Query *given;
	Query *bare;
	Point point;

	if (target == NULL || target->kind == TABLE_MANAGED_LOCAL)
		return NULL;
	if (query->commandType == CMD_MERGE)
		return plan_merge(query, target, params);
	forget_excluded_of_views(query);
	given = query_with_rows_written_out(query);
	bare = query_without_target_policies(given);
	if (change_fires_here(bare, target))
		return plan_triggered(given, bare, target, cursor_options, params);
	if (key_may_change(bare, target))
		return plan_key_change(given, bare, target, cursor_options, params);
	if (query->commandType != CMD_INSERT)
		fragment = change_fragment(given, bare, target);
	else
	{
		fragment = insert_fragment(bare, target);
		if (fragment == NULL)
			return plan_insert_select(bare, target, cursor_options, params);
	}
	if (point_of_query(query, &point))
		fragment_may_run_here(fragment, query, point.key, cursor_options);
	return fragment_planned_stmt(query, fragment);
}
