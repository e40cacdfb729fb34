/*
 * shard_choice.c: of an Append of shards, the one shard where a key's rows are.
 *
 * Shards of a table on this node may stand in a query as a UNION ALL: PostgreSQL's plan
 * is an Append then. Where it is looked up by the distribution column, as the inner side
 * of a nested loop, only one of its children can have the rows. Such paths become a
 * custom one with the same children, "Citus Shard Choice", that hashes the value and runs
 * that child alone (executor/shard_choice.c).
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"

#include "pando/base/hook.h"
#include "pando/metadata/shard_relation.h"
#include "pando/metadata/table.h"
#include "pando/plan/fragment.h"
#include "pando/planner/query/equality.h"
#include "pando/planner/local/shard_choice.h"

static Plan *
plan_choice(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
			List *clauses, List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);

	/* The children have the qualifications. */
	scan->scan.plan.targetlist = tlist;
	scan->custom_scan_tlist = make_tlist_from_pathtarget(path->path.pathtarget);
	scan->custom_plans = custom_plans;
	scan->custom_exprs = list_make1(linitial(path->custom_private));
	scan->custom_private = lsecond(path->custom_private);
	scan->flags = path->flags;
	scan->methods = plan_scan_methods(PLAN_SHARD_CHOICE);
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "Citus Shard Choice",
	.PlanCustomPath = plan_choice,
};

/* Which shard of which table the path reads; NULL: it is not of a shard. */
static const DistTable *
shard_of_path(PlannerInfo *root, const Path *path, int *index)
{
	RangeTblEntry *rte =
		path->parent->relid > 0 ? planner_rt_fetch(path->parent->relid, root) : NULL;
	const DistTable *table;
	const Shard *shard;
	int64 id;

	if (rte == NULL || rte->rtekind != RTE_RELATION ||
		!relation_is_shard(rte->relid, &id, NULL))
		return NULL;
	shard = shard_by_id(id, &table);
	if (shard == NULL || table->kind != TABLE_HASH)
		return NULL;
	*index = shard->index;
	return table;
}

/* What the path of a shard is told that the key equals; NULL: nothing. */
static Node *
value_of_key(const Path *path, const DistTable *table)
{
	Index relid = path->parent->relid;

	if (path->param_info == NULL)
		return NULL;
	foreach_ptr (RestrictInfo, info, path->param_info->ppi_clauses)
	{
		OpExpr *clause = (OpExpr *) info->clause;

		if (!IsA(clause, OpExpr) || list_length(clause->args) != 2)
			continue;
		for (int side = 0; side < 2; side++)
		{
			Node *key = list_nth(clause->args, side);
			Node *value = list_nth(clause->args, 1 - side);

			if (IsA(key, Var) && ((Var *) key)->varno == relid &&
				((Var *) key)->varattno == table->key &&
				exprType(value) == table->key_type &&
				!bms_is_member(relid, pull_varnos(NULL, value)) &&
				!contain_volatile_functions(value) &&
				equality_family(clause->opno, key, clause->inputcollid) ==
					hash_family_of_type(table->key_type))
				return value;
		}
	}
	return NULL;
}

/* The Append's children by shard; NULL: the key does not choose among them. */
static CustomPath *
choice_of_append(PlannerInfo *root, AppendPath *append)
{
	Path *path = &append->path;
	const DistTable *table = NULL;
	List *shards = NIL;
	Node *value;
	CustomPath *choice;
	int count = list_length(append->subpaths);

	foreach_ptr (Path, child, append->subpaths)
	{
		int index;
		const DistTable *of = shard_of_path(root, child, &index);

		if (of == NULL || (table != NULL && of != table))
			return NULL;
		table = of;
		shards = lappend_int(shards, index);
	}
	/* The Append itself has no list of them. */
	value = value_of_key(linitial(append->subpaths), table);
	if (value == NULL)
		return NULL;
	choice = makeNode(CustomPath);
	choice->path = *path;
	choice->path.type = T_CustomPath;
	choice->path.pathtype = T_CustomScan;
	choice->path.parallel_aware = false;
	choice->path.pathkeys = NIL;
	/* Each child expects the value to be its own. */
	choice->path.rows = clamp_row_est(path->rows / count);
	choice->path.startup_cost = path->startup_cost;
	choice->path.total_cost = path->startup_cost +
							  (path->total_cost - path->startup_cost) / count +
							  cpu_operator_cost;
	choice->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	choice->custom_paths = append->subpaths;
	choice->custom_private =
		list_make2(value, list_make2(list_make1_oid(table->relid), shards));
	choice->methods = &path_methods;
	return choice;
}

static void
offer_choices(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	List *choices = NIL;

	hook_pathlist_next(PATHLIST_SHARD_CHOICE, root, rel, rti, rte);
	if (rte->rtekind != RTE_SUBQUERY || !rte->inh || rel->reloptkind != RELOPT_BASEREL)
		return;
	foreach_ptr (Path, path, rel->pathlist)
	{
		if (IsA(path, AppendPath) && path->param_info != NULL &&
			list_length(((AppendPath *) path)->subpaths) > 1)
			choices = lappend(choices, choice_of_append(root, (AppendPath *) path));
	}
	foreach_ptr (Path, choice, choices)
	{
		if (choice != NULL)
			add_path(rel, choice);
	}
}

void
shard_choice_init(void)
{
	hook_pathlist(PATHLIST_SHARD_CHOICE, offer_choices);
}
