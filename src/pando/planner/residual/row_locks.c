/*
 * row_locks.c: FOR UPDATE and its relatives where one task can't do it all.
 *
 * Rows are locked on their first copy, the one that every write changes first; so locks
 * and writes meet there, whatever other copies a table has.
 *
 * A level whose rows are put together on the shards locks them in its text, except rows
 * of reference tables (a node's own copy is not the first), and except under a LIMIT over
 * several shards, where each task would lock that many. Any other level is read without
 * locks, each row with the *places* (plan/row_place.h) of the rows that it was made of,
 * in junk columns of a name that no user's column can have. Right below the level's LIMIT
 * a node of ours takes as many rows as are wanted and locks them at their places. If one
 * has changed since it was read, all is read anew: rows locked already stay the same, so
 * that the second time it finds the newest version of what it waited for.
 *
 * That the node comes right below the LIMIT the core sees to: the level keeps a row mark,
 * so that the core plans a LockRows node there, which has nothing to do on fragments. Of
 * that node's plan all scans depend on its parameter for second looks; changing it is how
 * all is read anew. Local tables, and reference tables whose first copy is here, are
 * locked by the core's node itself.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "parser/analyze.h"
#include "parser/parse_func.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"

#include "pando/compat/rights.h"
#include "pando/metadata/table.h"
#include "pando/plan/fragment.h"
#include "pando/plan/row_place.h"
#include "pando/planner/fragment/fragment_plan.h"
#include "pando/planner/residual/cut.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/where/copies_here.h"
#include "pando/planner/where/lock_query.h"
#include "pando/planner/residual/row_locks.h"
#include "pando/transaction/access.h"

/* Not a name that a column of a user's can have as junk: junk has names of the core's. */
#define PLACE_NAME "pando place"

/* ------------------------------------------------------------------------------------
 * Taking the locks out of a level.
 */

/* FROM items whose columns an outer join of the level may make NULL. */
static Relids
nullable_items(Node *node, List *above)
{
	Relids result = NULL;

	if (IsA(node, FromExpr))
	{
		above = list_concat_copy(above, quals_flat(((FromExpr *) node)->quals));
		foreach_ptr (Node, item, ((FromExpr *) node)->fromlist)
			result = bms_add_members(result, nullable_items(item, above));
	}
	else if (IsA(node, JoinExpr))
	{
		JoinExpr *join = (JoinExpr *) node;
		JoinType type = join_type_reduced(join, above);

		if (type == JOIN_INNER)
			above = list_concat_copy(above, quals_flat(join->quals));
		result = bms_union(nullable_items(join->larg, above),
						   nullable_items(join->rarg, above));
		if (type == JOIN_RIGHT || type == JOIN_FULL)
			result =
				bms_add_members(result, compat_relids_in_jointree(join->larg, false));
		if (type == JOIN_LEFT || type == JOIN_FULL)
			result =
				bms_add_members(result, compat_relids_in_jointree(join->rarg, false));
	}
	return result;
}

/* Would the core pull it up, so that its locks are the outer level's? */
static bool
is_pulled_up(Query *query)
{
	return query->commandType == CMD_SELECT && query->setOperations == NULL &&
		   !query->hasAggs && !query->hasWindowFuncs && !query->hasTargetSRFs &&
		   query->groupClause == NIL && query->groupingSets == NIL &&
		   query->havingQual == NULL && query->sortClause == NIL &&
		   query->distinctClause == NIL && query->limitOffset == NULL &&
		   query->limitCount == NULL && !query->hasForUpdate && query->cteList == NIL;
}

/* A reference table whose first copy is on another node becomes a scan of that. */
static Node *
read_first_copy(Query *query, Index varno)
{
	TargetEntry *place;

	query->targetList =
		lappend(query->targetList, makeTargetEntry((Expr *) row_place_call(varno), 0,
												   pstrdup(PLACE_NAME), true));
	level_cut_table(query, varno);
	place = llast(query->targetList);
	query->targetList = list_delete_last(query->targetList);
	return (Node *) place->expr;
}

static List *take_marks(Query *query, List **kept);

/* The places of rows of a FROM item, as expressions of the level. */
static List *
places_of_item(Query *query, RowMarkClause *mark, bool *kept)
{
	RangeTblEntry *rte = rt_fetch(mark->rti, query->rtable);
	const DistTable *table = distributed_table(rte);
	bool is_here =
		table == NULL || (table->kind == TABLE_REFERENCE && first_copy_is_here(table));
	List *result = NIL;
	List *inner_kept = NIL;

	*kept = false;
	if (!is_here && policies_are_for_here(query, mark->rti) &&
		level_put_barrier(query, mark->rti))
		rte = rt_fetch(mark->rti, query->rtable);
	if (rte->rtekind == RTE_SUBQUERY && is_pulled_up(rte->subquery))
	{
		List *places = take_marks(rte->subquery, &inner_kept);

		if (places != NIL)
		{
			level_fix_whole_rows(query, mark->rti);
			rte = rt_fetch(mark->rti, query->rtable);
			/* Its rows are no longer those of a view or a function. */
			rte->relid = InvalidOid;
			rte->functions = NIL;
		}
		foreach_ptr (TargetEntry, place, places)
		{
			place->resno = list_length(rte->subquery->targetList) + 1;
			rte->subquery->targetList = lappend(rte->subquery->targetList, place);
			rte->eref->colnames =
				lappend(rte->eref->colnames, makeString(pstrdup(place->resname)));
			result = lappend(
				result, makeTargetEntry((Expr *) makeVarFromTargetEntry(mark->rti, place),
										0, place->resname, false));
		}
		rte->subquery->rowMarks = inner_kept;
		return result;
	}
	if (rte->rtekind == RTE_SUBQUERY)
	{
		/* Locks by itself: as its own clause says from now on. */
		foreach_ptr (RowMarkClause, inner, rte->subquery->rowMarks)
			inner->pushedDown = false;
		rte->subquery->hasForUpdate = rte->subquery->rowMarks != NIL;
		return NIL;
	}
	if (is_here)
	{
		*kept = rte->rtekind == RTE_RELATION;
		return NIL;
	}
	return list_make1(makeTargetEntry(
		(Expr *) (table->kind == TABLE_REFERENCE ? read_first_copy(query, mark->rti)
												 : row_place_call(mark->rti)),
		0,
		psprintf(PLACE_NAME " %d %d %u", mark->strength, mark->waitPolicy,
				 access_is_lent(rte) ? entry_rights(rte)->checkAsUser : InvalidOid),
		false));
}

/* Target entries for the places of all that is marked; what stays marked in *kept. */
static List *
take_marks(Query *query, List **kept)
{
	Relids nullable = nullable_items((Node *) query->jointree, NIL);
	List *places = NIL;

	foreach_ptr (RowMarkClause, mark, query->rowMarks)
	{
		bool keep;
		List *of_item = places_of_item(query, mark, &keep);

		if (of_item != NIL && bms_is_member(mark->rti, nullable))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("%s cannot be applied to the nullable side of an outer join",
							LCS_asString(mark->strength))));
		places = list_concat(places, of_item);
		if (keep)
			*kept = lappend(*kept, mark);
	}
	level_join_columns_refresh(query);
	return places;
}

LevelLocks
level_take_locks(Query *query)
{
	LevelLocks locks = {0};
	List *places = take_marks(query, &locks.here);

	foreach_ptr (TargetEntry, place, places)
	{
		int strength;
		int wait;

		place->resno = list_length(query->targetList) + 1;
		place->resjunk = true;
		query->targetList = lappend(query->targetList, place);
		locks.places = true;
		if (sscanf(place->resname, PLACE_NAME " %d %d", &strength, &wait) == 2 &&
			wait == LockWaitSkip)
			locks.skips = true;
	}
	/* Those on reference tables keep them out of fragments. */
	query->rowMarks = locks.here;
	query->hasForUpdate = false;
	return locks;
}

/* A mark that makes the core plan a LockRows node. */
static RowMarkClause *
dummy_mark(Query *query)
{
	RowMarkClause *mark = makeNode(RowMarkClause);
	Index varno = 0;

	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		varno++;
		if (rte->rtekind != RTE_RELATION)
			mark->rti = varno;
	}
	if (mark->rti == 0)
		elog(ERROR, "nothing on shards is left in a level that locks rows there");
	mark->strength = LCS_FORUPDATE;
	mark->waitPolicy = LockWaitBlock;
	return mark;
}

void
level_put_locks(Query *query, const LevelLocks *locks)
{
	query->rowMarks = locks->here;
	if (locks->places)
		query->rowMarks = lappend(query->rowMarks, dummy_mark(query));
	/* Such a level is not to be pulled up. */
	query->hasForUpdate = query->rowMarks != NIL;
}

Node *
limit_with_reach(Node *limit)
{
	Oid none[1];
	Oid reach = LookupFuncName(list_make2(makeString("pando"), makeString("lock_reach")),
							   0, none, false);

	return (Node *) makeFuncExpr(
		F_INT8MUL, INT8OID,
		list_make2(limit, makeFuncExpr(reach, INT8OID, NIL, InvalidOid, InvalidOid,
									   COERCE_EXPLICIT_CALL)),
		InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

/* ------------------------------------------------------------------------------------
 * After planning.
 */

static Plan *put_locks(Plan *plan, Limit *limit, int restart);

static void
put_in_list(List *plans, int restart)
{
	ListCell *cell;

	foreach (cell, plans)
		lfirst(cell) = put_locks(lfirst(cell), NULL, restart);
}

/* (column, strength, wait policy, whose rights) of each place in the rows. */
static List *
places_in(List *targetlist)
{
	List *result = NIL;

	foreach_ptr (TargetEntry, entry, targetlist)
	{
		int strength;
		int wait;
		Oid role;

		if (entry->resjunk && entry->resname != NULL &&
			sscanf(entry->resname, PLACE_NAME " %d %d %u", &strength, &wait, &role) == 3)
			result =
				lappend(result, list_make4_int(entry->resno, strength, wait, (int) role));
	}
	return result;
}

static Plan *
lock_node(LockRows *rows, List *places, Limit *limit)
{
	CustomScan *scan = fragment_scan_above(&rows->plan, PLAN_LOCK_ROWS);

	scan->custom_private = list_make2(places, list_make1_int(rows->epqParam));
	/* A limit that gives another value each time is no limit. */
	if (limit != NULL && limit->limitOption == LIMIT_OPTION_COUNT &&
		limit->limitCount != NULL && !contain_volatile_functions(limit->limitCount) &&
		!contain_volatile_functions(limit->limitOffset))
	{
		scan->custom_exprs = list_make1(copyObject(limit->limitCount));
		if (limit->limitOffset != NULL)
			scan->custom_exprs =
				lappend(scan->custom_exprs, copyObject(limit->limitOffset));
	}
	return &scan->scan.plan;
}

/* restart: the parameter of the nearest lock node above whose rows come from here. */
static Plan *
put_locks(Plan *plan, Limit *limit, int restart)
{
	List *places = NIL;

	if (plan == NULL)
		return NULL;
	switch (nodeTag(plan))
	{
		case T_LockRows:
			places = places_in(plan->targetlist);
			if (places != NIL)
				restart = ((LockRows *) plan)->epqParam;
			break;
		case T_CustomScan:
		{
			CustomScan *scan = (CustomScan *) plan;

			if (scan->methods == plan_scan_methods(PLAN_FRAGMENT) && restart >= 0)
				fragment_packed_restart(scan->custom_private, restart);
			put_in_list(scan->custom_plans, restart);
			break;
		}
		case T_Append:
			put_in_list(((Append *) plan)->appendplans, restart);
			break;
		case T_MergeAppend:
			put_in_list(((MergeAppend *) plan)->mergeplans, restart);
			break;
		case T_SubqueryScan:
			((SubqueryScan *) plan)->subplan =
				put_locks(((SubqueryScan *) plan)->subplan, NULL, restart);
			break;
		default:
			break;
	}
	plan->lefttree =
		put_locks(plan->lefttree, IsA(plan, Limit) ? (Limit *) plan : NULL, restart);
	plan->righttree = put_locks(plan->righttree, NULL, restart);
	return places != NIL ? lock_node((LockRows *) plan, places, limit) : plan;
}

void
plan_put_locks(PlannedStmt *stmt)
{
	stmt->planTree = put_locks(stmt->planTree, NULL, -1);
	put_in_list(stmt->subplans, -1);
}

void
plan_mark_locks(PlannedStmt *stmt, const Query *query)
{
	PlanRowMark *mark = makeNode(PlanRowMark);

	/* The executor passes over marks of parents; the first one names the command. */
	mark->rti = mark->prti = 1;
	mark->markType = ROW_MARK_EXCLUSIVE;
	mark->allMarkTypes = 1 << ROW_MARK_EXCLUSIVE;
	mark->strength = query->rowMarks != NIL
						 ? linitial_node(RowMarkClause, query->rowMarks)->strength
						 : LCS_FORUPDATE;
	mark->isParent = true;
	stmt->rowMarks = lcons(mark, stmt->rowMarks);
}
