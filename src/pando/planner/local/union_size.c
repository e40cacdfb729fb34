/*
 * union_size.c: how many rows a UNION ALL of a table's shards has, and who reads it.
 *
 * PostgreSQL adds up what it expects of each child, and of each at least one row. A table
 * of hardly more rows than shards has no selective filter then: of 25 nations in 32
 * shards one name would give 32. The filters' selectivity among the rows of all shards,
 * by the statistics of the whole (column_stats.c), is what it expects of a plain table.
 * The same of lookups, in one shard or in all, as the inner side of a nested loop.
 *
 * Groups that are made shard group by shard group (all_here.c) are made once. In a
 * parallel plan PostgreSQL would as well have each process make all of them, as the inner
 * side of a join: it counts the time, which is the same, not the work, which is a
 * multiple. A Parallel Append of them, shared out or in a shared hash table, is as fast.
 *
 * Tasks of a node that are one statement are queries under UNION ALL. Processes are
 * shared out among them, by a Parallel Append: if each query had some of its own, as many
 * would be started as there are tasks and more, one after the other.
 */
#include "pando/compat/compat.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"

#include "pando/base/hook.h"
#include "pando/metadata/shard_relation.h"
#include "pando/planner/local/union_size.h"

/* Rows of the children, unfiltered; 0: they are no shards (one tells for all). */
static double
tuples_of_shards(PlannerInfo *root, Index parent)
{
	double tuples = 0;

	foreach_ptr (AppendRelInfo, child, root->append_rel_list)
	{
		RangeTblEntry *rte = planner_rt_fetch(child->child_relid, root);

		if (child->parent_relid != parent)
			continue;
		if (rte->rtekind != RTE_RELATION ||
			(tuples == 0 && !relation_is_shard(rte->relid, NULL, NULL)))
			return 0;
		tuples += root->simple_rel_array[child->child_relid]->tuples;
	}
	return tuples;
}

static void
scale_paths(List *paths, double factor)
{
	foreach_ptr (Path, path, paths)
	{
		if (path->param_info == NULL)
			path->rows = clamp_row_est(path->rows * factor);
	}
}

/*
 * A lookup finds what the whole table has of its values, be it in one shard or in all:
 * the core added up the shards' rows, at least one of each.
 */
static void
size_lookups(PlannerInfo *root, RelOptInfo *rel)
{
	foreach_ptr (Path, path, rel->pathlist)
	{
		Relids outer = PATH_REQ_OUTER(path);
		Relids both = bms_union(rel->relids, outer);
		List *clauses = NIL;

		if (path->param_info == NULL)
			continue;
		foreach_ptr (RestrictInfo, info, rel->joininfo)
		{
			if (join_clause_is_movable_into(info, rel->relids, both))
				clauses = lappend(clauses, info);
		}
		clauses = list_concat(clauses, compat_join_equalities(root, both, outer, rel));
		path->rows = Min(path->rows, get_parameterized_baserel_size(root, rel, clauses));
	}
}

/* Are the children groups, or distinct rows, of shard groups (one tells for all)? */
static bool
groups_of_shards(PlannerInfo *root, Index parent)
{
	foreach_ptr (AppendRelInfo, child, root->append_rel_list)
	{
		RangeTblEntry *rte = planner_rt_fetch(child->child_relid, root);

		if (child->parent_relid != parent)
			continue;
		if (rte->rtekind != RTE_SUBQUERY ||
			(rte->subquery->groupClause == NIL && rte->subquery->distinctClause == NIL))
			return false;
		foreach_ptr (RangeTblEntry, item, rte->subquery->rtable)
		{
			if (item->rtekind == RTE_RELATION &&
				relation_is_shard(item->relid, NULL, NULL))
				return true;
		}
		return false;
	}
	return false;
}

/* Processes of a parallel plan share the union's rows: none makes all of them. */
static void
share_union(RelOptInfo *rel)
{
	if (rel->partial_pathlist == NIL)
		return;
	foreach_ptr (Path, path, rel->pathlist)
	{
		path->parallel_safe = false;
	}
}

/* Are there enough queries under UNION ALL to keep all processes busy? */
static bool
has_many_queries(PlannerInfo *root)
{
	int queries = 0;

	foreach_ptr (AppendRelInfo, child, root->append_rel_list)
	{
		if (planner_rt_fetch(child->child_relid, root)->rtekind == RTE_SUBQUERY)
			queries++;
	}
	return queries > 2 * max_parallel_workers_per_gather;
}

/* The shard of one of many tasks is read by one process. */
static void
share_tasks(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	if (rel->partial_pathlist == NIL || rte->rtekind != RTE_RELATION ||
		!relation_is_shard(rte->relid, NULL, NULL))
		return;
	for (PlannerInfo *above = root->parent_root; above != NULL;
		 above = above->parent_root)
	{
		if (has_many_queries(above))
			rel->partial_pathlist = NIL;
	}
}

static void
size_union(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	double tuples = 0;
	double rows;

	hook_pathlist_next(PATHLIST_UNION_SIZE, root, rel, rti, rte);
	share_tasks(root, rel, rte);
	if (rte->rtekind == RTE_SUBQUERY && rte->inh && rel->reloptkind == RELOPT_BASEREL &&
		!IS_DUMMY_REL(rel))
	{
		tuples = tuples_of_shards(root, rti);
		if (tuples <= 0 && groups_of_shards(root, rti))
			share_union(rel);
	}
	if (tuples <= 0)
		return;
	/* As of a table: filtered rows are no measure for its columns' distinct values. */
	rel->tuples = tuples;
	rows = clamp_row_est(tuples * clauselist_selectivity(root, rel->baserestrictinfo, 0,
														 JOIN_INNER, NULL));
	scale_paths(rel->pathlist, rows / rel->rows);
	scale_paths(rel->partial_pathlist, rows / rel->rows);
	rel->rows = rows;
	size_lookups(root, rel);
}

void
union_size_init(void)
{
	hook_pathlist(PATHLIST_UNION_SIZE, size_union);
}
