/*
 * batched_lookup.c: nested loops that look up many rows in a shard before the next one.
 *
 * Shards of a table on this node may stand in a query as a UNION ALL: PostgreSQL's plan
 * is an Append then. A nested loop that looks its rows up in it, by another column than
 * the distribution column, does so in each shard's index, and for the next row in all of
 * them again: no index stays in the processor's caches. Such paths become a custom one
 * with the nested loop as its child, "Citus Batched Lookups", that takes rows by the
 * hundred to one shard after the other (executor/batched_lookup.c). The rows, their order
 * and the costs stay those of the nested loop.
 */
#include "pando/compat/compat.h"

#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "parser/parsetree.h"

#include "pando/metadata/shard_relation.h"
#include "pando/plan/fragment.h"
#include "pando/planner/local/batched_lookup.h"

static set_join_pathlist_hook_type next_hook;

static Plan *
plan_batches(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
			 List *clauses, List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);

	/* The nested loop has the qualifications. */
	scan->scan.plan.targetlist = tlist;
	scan->custom_scan_tlist = copyObject(((Plan *) linitial(custom_plans))->targetlist);
	scan->custom_plans = custom_plans;
	scan->flags = path->flags;
	scan->methods = plan_scan_methods(PLAN_BATCHED_LOOKUP);
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "Citus Batched Lookups",
	.PlanCustomPath = plan_batches,
};

/* Is it several shards of a table, each by an index? */
static bool
looks_up_in_shards(PlannerInfo *root, const AppendPath *append)
{
	if (list_length(append->subpaths) < 2 || append->path.parallel_aware)
		return false;
	foreach_ptr (const Path, child, append->subpaths)
	{
		const RangeTblEntry *rte = child->parent->relid > 0
									   ? planner_rt_fetch(child->parent->relid, root)
									   : NULL;

		if (child->param_info == NULL ||
			(!IsA(child, IndexPath) && !IsA(child, BitmapHeapPath)) || rte == NULL ||
			!relation_is_shard(rte->relid, NULL, NULL))
			return false;
	}
	return true;
}

static bool
may_be_batched(PlannerInfo *root, const NestPath *loop)
{
	const JoinPath *join = &loop->jpath;

	if (!IsA(join->innerjoinpath, AppendPath) ||
		!bms_overlap(PATH_REQ_OUTER(join->innerjoinpath),
					 join->outerjoinpath->parent->relids) ||
		!looks_up_in_shards(root, (const AppendPath *) join->innerjoinpath))
		return false;
	foreach_ptr (RestrictInfo, info, join->joinrestrictinfo)
	{
		if (contain_volatile_functions((Node *) info->clause))
			return false;
	}
	return true;
}

static Path *
batches_of_loop(Path *loop)
{
	CustomPath *path = makeNode(CustomPath);

	path->path = *loop;
	path->path.type = T_CustomPath;
	path->path.pathtype = T_CustomScan;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make1(loop);
	path->methods = &path_methods;
	return &path->path;
}

static void
batch_paths(PlannerInfo *root, List *paths)
{
	ListCell *cell;

	foreach (cell, paths)
	{
		Path *path = lfirst(cell);

		if (IsA(path, NestPath) && may_be_batched(root, (NestPath *) path))
			lfirst(cell) = batches_of_loop(path);
	}
}

static void
batch_lookups(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer,
			  RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	if (next_hook != NULL)
		next_hook(root, joinrel, outer, inner, type, extra);
	/* Columns that tell which partition a row is to be changed in are an Append's own. */
	if (root->row_identity_vars != NIL)
		return;
	batch_paths(root, joinrel->pathlist);
	batch_paths(root, joinrel->partial_pathlist);
}

void
batched_lookup_init(void)
{
	next_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = batch_lookups;
}
