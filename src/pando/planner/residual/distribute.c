/*
 * distribute.c: cutting a SELECT into fragments and a residual, level by level.
 *
 * A level is tried, in this order, as
 * - one fragment, whole;
 * - one fragment under its own DISTINCT, ORDER BY and LIMIT, which the tasks apply, too,
 * where that lets them send less;
 * - partial aggregates on the shards under final ones (aggregate.c);
 * - fragments in place of FROM items (cut.c).
 * Before the latter two, conditions move into the subqueries that they are about
 * (push_down.c), and subqueries that stand in the way may become intermediate results
 * (broadcast.c).
 * Then the same is done to the subqueries, WITH queries and sublinks that are left.
 * Since a filtered scan of one table is always a fragment, nothing is left in the end.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "pando/planner/residual/exchange/exchange_level.h"
#include "pando/planner/where/object_names.h"
#include "pando/planner/query/column_use.h"
#include "pando/planner/query/cte_use.h"
#include "pando/planner/query/distinct.h"
#include "pando/planner/query/each_level.h"
#include "pando/planner/query/exists.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/hoist.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/query/merge_source.h"
#include "pando/planner/query/part.h"
#include "pando/planner/query/push_down.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/query/row_number.h"
#include "pando/planner/residual/aggregate/split_aggregates.h"
#include "pando/planner/residual/broadcast.h"
#include "pando/planner/residual/cut.h"
#include "pando/planner/residual/decorrelate.h"
#include "pando/planner/residual/distribute.h"
#include "pando/planner/residual/part_fragment.h"
#include "pando/planner/residual/row_locks.h"
#include "pando/planner/where/copies_here.h"
#include "pando/planner/where/cte_once.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/where/exchange_item.h"
#include "pando/planner/where/level.h"
#include "pando/planner/where/lock_query.h"
#include "pando/planner/where/relations.h"
#include "pando/planner/where/result_scope.h"
#include "parser/parse_clause.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"

static void distribute_level(Query *query);
static void distribute_inside(Query *query);

/* ------------------------------------------------------------------------------------
 * WITH queries.
 */

static void
become_subquery(RangeTblEntry *rte, int depth, void *query)
{
	rte_become_subquery(rte, copyObject((Query *) query));
	IncrementVarSublevelsUp((Node *) rte->subquery, depth, 1);
}

/* May it be computed where it is used, and gives it the same there? */
static bool
cte_can_move(CommonTableExpr *cte)
{
	Query *query = (Query *) cte->ctequery;

	return !cte->cterecursive && query->commandType == CMD_SELECT &&
		   query->rowMarks == NIL && !query_varies((Node *) query);
}

/*
 * A WITH query that is used once becomes a subquery, so that it can be a part of a
 * fragment. Those not used at all go away: they would not be executed.
 */
static void
inline_ctes(Query *query)
{
	List *kept = NIL;
	ListCell *cell;

	foreach (cell, query->cteList)
	{
		CommonTableExpr *cte = lfirst(cell);

		cte->cterefcount = cte_each_use(query, cte->ctename, NULL, NULL);
		if (cte->cterefcount == 0 && ((Query *) cte->ctequery)->commandType == CMD_SELECT)
			continue;
		if (cte->cterefcount == 1 && cte_can_move(cte))
			cte_each_use(query, cte->ctename, become_subquery, cte->ctequery);
		else
			kept = lappend(kept, cte);
	}
	query->cteList = kept;
}

/* ------------------------------------------------------------------------------------
 * DISTINCT, ORDER BY and LIMIT over one fragment.
 */

/* Can the tasks compute it: a value that is the same everywhere, without sublinks or
 * columns? */
static bool
limit_can_move(Node *limit)
{
	return limit == NULL || (!expression_refers_outside(limit) &&
							 !expression_varies(limit) && !checkExprHasSubLink(limit));
}

/* NULL when there is no limit, or none that a task could reach. */
static Node *
constant_sum(Const *count, Const *offset)
{
	int64 sum;

	if (count->constisnull)
		return NULL;
	if (offset->constisnull)
		return copyObject((Node *) count);
	if (pg_add_s64_overflow(DatumGetInt64(count->constvalue),
							DatumGetInt64(offset->constvalue), &sum))
		return NULL;
	return (Node *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(sum),
							  false, FLOAT8PASSBYVAL);
}

/* The number of rows that each task must send at most. */
static Node *
limit_of_tasks(Query *query)
{
	if (query->limitCount == NULL || query->limitOption != LIMIT_OPTION_COUNT ||
		!limit_can_move(query->limitCount) || !limit_can_move(query->limitOffset))
		return NULL;
	if (query->limitOffset == NULL)
		return copyObject(query->limitCount);
	if (IsA(query->limitCount, Const) && IsA(query->limitOffset, Const))
		return constant_sum((Const *) query->limitCount, (Const *) query->limitOffset);
	return (Node *) makeFuncExpr(
		F_INT8PL, INT8OID,
		list_make2(copyObject(query->limitCount), copyObject(query->limitOffset)),
		InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

static List *
visible_columns(List *target_list)
{
	List *result = NIL;
	ListCell *cell;

	foreach (cell, target_list)
	{
		if (!((TargetEntry *) lfirst(cell))->resjunk)
			result = lappend(result, lfirst(cell));
	}
	return result;
}

/*
 * Columns that are only sorted by must come out of the tasks as well. DISTINCT has those
 * in its list, and must not see the others, that are only grouped by.
 */
static void
output_columns(Query *query, Query *part)
{
	ListCell *cell;

	if (part->distinctClause != NIL && !part->hasDistinctOn)
	{
		query->targetList = visible_columns(query->targetList);
		return;
	}
	foreach (cell, part->targetList)
	{
		TargetEntry *entry = lfirst(cell);

		if (entry->resname == NULL)
			entry->resname = psprintf("column%d", entry->resno);
		entry->resjunk = false;
	}
}

static bool
become_fragment(Query *query, Query *part, const Distribution *distribution,
				bool per_task)
{
	List *ctes = query->cteList;

	output_columns(query, part);
	level_become_scan(query, per_task ? part_fragment_per_task(part, distribution)
									  : part_fragment(part, distribution));
	/* Subqueries of LIMIT and OFFSET stay. */
	if (query->hasSubLinks)
	{
		foreach_ptr (CommonTableExpr, cte, ctes)
		{
			if (((Query *) cte->ctequery)->commandType == CMD_SELECT)
				query->cteList = lappend(query->cteList, cte);
		}
		distribute_inside(query);
	}
	return true;
}

/*
 * Are there sets in the target list whose rows PostgreSQL would make after the sort, so
 * that those of one row come in the function's order?
 */
static bool
sets_keep_their_order(const Query *query)
{
	if (!query->hasTargetSRFs || query->sortClause == NIL ||
		query->distinctClause != NIL || query->limitOption == LIMIT_OPTION_WITH_TIES)
		return false;
	foreach_ptr (TargetEntry, entry, query->targetList)
	{
		if (expression_returns_set((Node *) entry->expr) &&
			!targetIsInSortList(entry, InvalidOid, query->sortClause))
			return true;
	}
	return false;
}

/* Rows that are equal in what the level sorts by come as they came from their task. */
static void
sort_as_they_came(Query *query)
{
	int number = list_length(query->targetList) + 1;
	TargetEntry *entry =
		makeTargetEntry((Expr *) row_number_over(query, NIL), number, NULL, true);

	query->targetList = lappend(query->targetList, entry);
	query->sortClause = addTargetToSortList(NULL, entry, query->sortClause,
											query->targetList, makeNode(SortBy));
}

/* skips: rows that are locked by others will be passed over, so more are wanted. */
static bool
level_peel(Query *query, bool skips)
{
	Distribution distribution;
	Query *part;
	bool sets_keep_order = sets_keep_their_order(query);

	if (has_record_columns(query->targetList, true) || level_orders_names(query))
		return false;
	distribution = distribution_of_query(query);
	if (distribution_has_shards(&distribution))
	{
		part = copyObject(query);
		level_clear(query, LEVEL_ORDER);
		/* A task's rows come in the order that it gives them. */
		return become_fragment(query, part, &distribution, false);
	}
	/* Each task would lock that many. */
	if (query->rowMarks != NIL && clause_limits(query->limitCount))
		return false;
	part = copyObject(query);
	level_clear(part, LEVEL_ORDER);
	distribution = distribution_of_query(part);
	if (!distribution_has_shards(&distribution) && query->hasSubLinks &&
		query_is_set(query))
		distribution = distribution_of_set(query);
	if (!distribution_has_shards(&distribution))
		return false;

	part = copyObject(query);
	part->limitCount = limit_of_tasks(query);
	if (skips && part->limitCount != NULL)
		part->limitCount = limit_with_reach(part->limitCount);
	part->limitOffset = NULL;
	part->limitOption = LIMIT_OPTION_COUNT;
	if (part->limitCount == NULL && !part->hasDistinctOn)
		part->sortClause = NIL;
	(void) become_fragment(query, part, &distribution, true);
	if (sets_keep_order)
		sort_as_they_came(query);
	return true;
}

/* ------------------------------------------------------------------------------------
 * The walk over levels.
 */

static bool
sublink_walker(Node *node, void *context)
{
	if (node == NULL || IsA(node, Query))
		return false;
	if (IsA(node, SubLink))
		distribute_level((Query *) ((SubLink *) node)->subselect);
	return expression_tree_walker(node, sublink_walker, context);
}

static void
distribute_from(Query *query)
{
	level_drop_unread_columns(query);
	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		if (rte->rtekind == RTE_SUBQUERY)
			distribute_level(rte->subquery);
	}
}

/* ------------------------------------------------------------------------------------
 * Branches of a set operation that takes each row once: no task need send one twice.
 */

/* Gives the branch a DISTINCT that compares as the set operation does. */
static bool
branch_add_distinct(Query *branch, const SetOperationStmt *setop)
{
	List *distinct = NIL;

	if (!query_is_plain(branch) || branch->hasWindowFuncs || branch->sortClause != NIL ||
		query_varies((Node *) branch->targetList) ||
		list_length(branch->targetList) != list_length(setop->groupClauses))
		return false;
	foreach_ptr (TargetEntry, entry, branch->targetList)
	{
		int column = list_length(distinct);
		SortGroupClause *clause = copyObject(list_nth(setop->groupClauses, column));
		Node *expr = (Node *) entry->expr;

		if (entry->resjunk || exprType(expr) != list_nth_oid(setop->colTypes, column) ||
			exprCollation(expr) != list_nth_oid(setop->colCollations, column))
			return false;
		clause->tleSortGroupRef = entry->resno;
		distinct = lappend(distinct, clause);
	}
	foreach_ptr (TargetEntry, entry, branch->targetList)
		entry->ressortgroupref = entry->resno;
	branch->distinctClause = distinct;
	return true;
}

/* setop: the operation above that takes each row once, if any */
static void
distribute_branch(Query *query, Node *node, const SetOperationStmt *setop)
{
	const SetOperationStmt *own = (SetOperationStmt *) node;

	if (IsA(node, RangeTblRef))
	{
		int varno = ((RangeTblRef *) node)->rtindex;
		Query *branch = rt_fetch(varno, query->rtable)->subquery;
		bool added = setop != NULL && branch_add_distinct(branch, setop);

		distribute_level(branch);
		/* What the tasks leave is done once, above. */
		if (added)
			branch->distinctClause = NIL;
		return;
	}
	if (!own->all)
		setop = own;
	else if (own->op != SETOP_UNION)
		setop = NULL;
	distribute_branch(query, own->larg, setop);
	distribute_branch(query, own->rarg, setop);
}

/* All that is inside of the level and not yet done. */
static void
distribute_inside(Query *query)
{
	ListCell *cell;

	/* Rows that no fragment takes after all are read here. */
	exchange_expand(query);
	level_drop_unused_ctes(query);
	foreach (cell, query->cteList)
		distribute_level((Query *) ((CommonTableExpr *) lfirst(cell))->ctequery);
	if (query->setOperations != NULL)
		distribute_branch(query, query->setOperations, NULL);
	else
		distribute_from(query);
	if (query->hasSubLinks)
		query_tree_walker(query, sublink_walker, NULL,
						  QTW_IGNORE_RC_SUBQUERIES | QTW_IGNORE_JOINALIASES);
}

/* Reads nothing but what this node has itself. */
static bool
is_local(Query *query)
{
	DistRelations found = query_dist_relations(query);

	if (!found.any)
		return true;
	return !found.sharded && !query_locks_elsewhere(query) &&
		   query_use_local_copies(copyObject(query));
}

/* A change of a local table: only what it reads is cut, the write stays as it is. */
static void
distribute_local_write(Query *query)
{
	inline_ctes(query);
	level_keep_ctes(query);
	/* MERGE's condition is no filter of the source's rows: that is a query by itself. */
	if (query->commandType == CMD_MERGE)
		merge_source_become_subquery(query);
	else
		level_cut_from(query);
	distribute_inside(query);
}

static void
distribute_select(Query *query, bool skips)
{
	bool broadcast = false;
	bool exchanged;

	level_push_down(query);
	if (level_decorrelate(query) && level_peel(query, skips))
		return;
	exchanged = level_exchange(query);
	if (exchanged && level_peel(query, skips))
		return;
	(void) level_exchange_joined(query);
	if (level_broadcast(query))
	{
		level_drop_unused_ctes(query);
		broadcast = true;
		/* What was replaced may have been the only obstacle. */
		if (level_peel(query, skips))
			return;
	}
	level_drop_unused_ctes(query);
	if (query->setOperations == NULL && !level_split_aggregates(query))
	{
		if (broadcast)
			level_cut_whole(query);
		else if (exchanged)
			level_cut_joined(query);
		else
			level_cut_from(query);
	}
	distribute_inside(query);
}

static void
distribute_level(Query *query)
{
	check_stack_depth();
	if (is_local(query))
		return;
	if (query->commandType != CMD_SELECT)
	{
		distribute_local_write(query);
		return;
	}
	inline_ctes(query);
	level_hoist_order(query);
	/* What LIMIT reads stays above a fragment. */
	if (checkExprHasSubLink(query->limitCount) || checkExprHasSubLink(query->limitOffset))
		level_keep_ctes(query);
	if (level_peel(query, false))
		return;
	level_keep_ctes(query);
	if (query->rowMarks == NIL)
		distribute_select(query, false);
	else
	{
		LevelLocks locks = level_take_locks(query);

		if (!level_peel(query, locks.skips))
			distribute_select(query, locks.skips);
		level_put_locks(query, &locks);
	}
}

/* What a rule left in the range table, OLD and NEW, and no part of the query reads. */
static bool
drop_unread_entries(Query *level, void *context)
{
	Relids read = compat_relids_in_jointree((Node *) level->jointree, true);
	int varno = 0;

	foreach_ptr (RangeTblEntry, rte, level->rtable)
	{
		bool is_read = bms_is_member(++varno, read) || varno == level->resultRelation ||
					   (level->onConflict && varno == level->onConflict->exclRelIndex);

		if (!is_read &&
			((rte->rtekind == RTE_RELATION && dist_table(rte->relid) != NULL) ||
			 (rte->rtekind == RTE_SUBQUERY && level->setOperations == NULL)))
			rte_become(rte, RTE_RESULT);
	}
	return false;
}

Query *
distribute_query(Query *query)
{
	List *outer = results_enter();

	query = query_without_join_columns(query);
	(void) query_each_level(query, drop_unread_entries, NULL);
	query_simplify_exists(query);
	distribute_level(query);
	results_leave(outer);
	return query;
}
