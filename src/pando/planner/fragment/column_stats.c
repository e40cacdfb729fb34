/*
 * column_stats.c: statistics of columns that are no table's.
 *
 * PostgreSQL asks for those of a FROM item's column through a hook. A fragment knows its
 * columns'. A UNION ALL of shards (of all_here.c, or in the text of merged tasks) is an
 * Append of which the core knows the size only: its columns have the shell table's, or
 * what the largest shard says of all of them. Of what tasks compute from rows a node
 * that groups them (per_node.c) knows how many values there are, and of rows that came
 * from other nodes it is told how many were expected. The rows that stand for
 * a sublink (broadcast.c) are a set: without that knowledge the core counts 200 values,
 * and looks each of 20,000 up in the index of each shard.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "pando/metadata/shard_relation.h"
#include "pando/plan/exchange_argument.h"
#include "pando/planner/fragment/column_stats.h"
#include "pando/planner/fragment/estimate.h"
#include "pando/planner/fragment/fragment_path.h"

static get_relation_stats_hook_type next_stats_hook;

/* The tables under a UNION ALL. */
typedef struct Children
{
	AppendRelInfo *largest; /* stands best for all; NULL: there are none */
	double largest_rows;
	double rows; /* of all */
} Children;

/*
 * The core takes filters for single tables out of OR conditions, and remembers how many
 * rows they leave, before it has looked at any child: there is a RelOptInfo of none then.
 */
static Children
children_of(PlannerInfo *root, Index parent)
{
	Children children = {.largest_rows = -1};

	foreach_ptr (AppendRelInfo, child, root->append_rel_list)
	{
		RelOptInfo *rel = root->simple_rel_array[child->child_relid];
		RangeTblEntry *rte = planner_rt_fetch(child->child_relid, root);
		double rows;

		if (child->parent_relid != parent || rte->rtekind != RTE_RELATION)
			continue;
		rows = rel != NULL ? rel->tuples : Max(0, estimate_counted_rows(rte->relid));
		children.rows += rows;
		if (rows > children.largest_rows)
		{
			children.largest_rows = rows;
			children.largest = child;
		}
	}
	return children;
}

static HeapTuple
stats_of_column(Oid relid, AttrNumber column)
{
	return SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(relid), Int16GetDatum(column),
						   BoolGetDatum(false));
}

/* A shard's column as if it were all shards': with as many more distinct values. */
static HeapTuple
stats_of_shards(HeapTuple shard, double shard_rows, double rows)
{
	HeapTuple tuple = heap_copytuple(shard);
	Form_pg_statistic form = (Form_pg_statistic) GETSTRUCT(tuple);
	double distinct = form->stadistinct;

	/* Below zero it is a part of the rows. */
	if (distinct < 0)
		distinct *= -shard_rows;
	if (distinct > 0)
		form->stadistinct =
			estimate_distinct(Min(distinct, shard_rows), shard_rows, rows);
	return tuple;
}

/* Statistics that say how many distinct values there are, not which part of the rows. */
static HeapTuple
stats_counted(HeapTuple stats, double rows)
{
	HeapTuple tuple = heap_copytuple(stats);
	Form_pg_statistic form = (Form_pg_statistic) GETSTRUCT(tuple);

	if (form->stadistinct < 0)
		form->stadistinct = clamp_row_est(-form->stadistinct * rows);
	return tuple;
}

static void
keep_stats(HeapTuple tuple)
{
}

static bool
union_stats(PlannerInfo *root, RangeTblEntry *rte, AttrNumber column,
			VariableStatData *variable)
{
	Children children = {0};
	Index relid = variable->rel != NULL ? variable->rel->relid : 0;
	Oid shard;
	Oid shell;
	Var *var;
	HeapTuple tuple;

	if (rte->inh && column > 0 && relid > 0 && relid < root->simple_rel_array_size &&
		root->simple_rte_array[relid] == rte)
		children = children_of(root, relid);
	if (children.largest == NULL ||
		column > list_length(children.largest->translated_vars) ||
		!IsA(list_nth(children.largest->translated_vars, column - 1), Var))
		return false;
	shard = planner_rt_fetch(children.largest->child_relid, root)->relid;
	if (!relation_is_shard(shard, NULL, &shell))
		return false;
	var = list_nth(children.largest->translated_vars, column - 1);
	variable->acl_ok = pg_class_aclcheck(shell, GetUserId(), ACL_SELECT) == ACLCHECK_OK;
	variable->freefunc = ReleaseSysCache;
	tuple = stats_of_column(shell, var->varattno);
	if (HeapTupleIsValid(tuple) && variable->rel->tuples > 0)
	{
		variable->statsTuple = tuple;
		return true;
	}
	variable->freefunc = keep_stats;
	if (HeapTupleIsValid(tuple))
		variable->statsTuple = stats_counted(tuple, children.rows);
	else
	{
		tuple = stats_of_column(shard, var->varattno);
		if (HeapTupleIsValid(tuple))
			variable->statsTuple =
				stats_of_shards(tuple, children.largest_rows, children.rows);
	}
	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return true;
}

/* Distinct values of a column of the UNION ALL; 0: not known. */
static double
distinct_of_rows(PlannerInfo *root, Index relid, AttrNumber column)
{
	double known = 0;
	double part = 0;
	double all = 0;

	foreach_ptr (AppendRelInfo, child, root->append_rel_list)
	{
		if (child->parent_relid != relid || column > list_length(child->translated_vars))
			continue;
		if (all == 0)
		{
			VariableStatData variable;
			bool isdefault;

			examine_variable(root, list_nth(child->translated_vars, column - 1), 0,
							 &variable);
			known = get_variable_numdistinct(&variable, &isdefault);
			ReleaseVariableStats(variable);
			part = find_base_rel(root, child->child_relid)->tuples;
			if (isdefault || part <= 0)
				return 0;
		}
		all += find_base_rel(root, child->child_relid)->tuples;
	}
	return all > part ? estimate_distinct(Min(known, part), part, all) : known;
}

/* Of the rows of a node's tasks, joined or computed ones: how many groups they have. */
static bool
task_rows_stats(PlannerInfo *root, RangeTblEntry *rte, AttrNumber column,
				VariableStatData *variable)
{
	double distinct = 0;

	if (rte->inh && column > 0 && variable->rel != NULL &&
		strcmp(rte->eref->aliasname, TASK_ROWS) == 0)
		distinct = distinct_of_rows(root, variable->rel->relid, column);
	if (distinct <= 0)
		return false;
	variable->statsTuple = estimate_column_stats(distinct);
	variable->freefunc = keep_stats;
	variable->acl_ok = true;
	return true;
}

static bool
fragment_stats(RangeTblEntry *rte, AttrNumber column, VariableStatData *variable)
{
	Fragment *fragment = NULL;

	if (list_length(rte->functions) == 1)
		fragment =
			fragment_of_call(linitial_node(RangeTblFunction, rte->functions)->funcexpr);
	if (fragment == NULL || column < 1 || column > list_length(fragment->column_stats))
		return false;
	variable->statsTuple = list_nth(fragment->column_stats, column - 1);
	variable->freefunc = keep_stats;
	variable->acl_ok = true;
	return true;
}

/* value IN (SELECT ... FROM read_intermediate_result(...)): each value is there once. */
static bool
sublink_stats(RangeTblEntry *rte, VariableStatData *variable)
{
	if (list_length(rte->eref->colnames) != 1 ||
		strcmp(rte->eref->aliasname, SUBLINK_ROWS) != 0)
		return false;
	variable->isunique = true;
	return true;
}

/* What a node was told of rows that came from others. */
static bool
exchange_stats(RangeTblEntry *rte, AttrNumber column, VariableStatData *variable)
{
	int distinct = 0;

	if (list_length(rte->functions) == 1)
		distinct = exchange_call_distinct(
			linitial_node(RangeTblFunction, rte->functions)->funcexpr, column);
	if (distinct == 0)
		return false;
	variable->statsTuple = estimate_column_stats(distinct);
	variable->freefunc = keep_stats;
	variable->acl_ok = true;
	return true;
}

/*
 * Of a table's column nothing is known here that PostgreSQL doesn't know. Its costs of
 * BRIN indexes, which ask for those only, leave all of the variable but for the result
 * unset: nothing of it may be read before it is known to be another kind of FROM item.
 */
static bool
column_stats(PlannerInfo *root, RangeTblEntry *rte, AttrNumber column,
			 VariableStatData *variable)
{
	bool known = false;

	if (rte->rtekind == RTE_SUBQUERY)
		known = union_stats(root, rte, column, variable) ||
				task_rows_stats(root, rte, column, variable);
	else if (rte->rtekind == RTE_FUNCTION)
		known = fragment_stats(rte, column, variable) || sublink_stats(rte, variable) ||
				exchange_stats(rte, column, variable);
	return known ||
		   (next_stats_hook != NULL && next_stats_hook(root, rte, column, variable));
}

void
column_stats_init(void)
{
	next_stats_hook = get_relation_stats_hook;
	get_relation_stats_hook = column_stats;
}
