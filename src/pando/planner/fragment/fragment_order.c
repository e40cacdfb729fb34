/*
 * fragment_order.c: fragments whose rows come sorted.
 *
 * Where the residual wants rows in an order that columns of a fragment can give, the
 * nodes may sort, side by side and close to the rows, and this node merges what comes.
 * The tasks' text is wrapped (Fragment.per_node), and the path has pathkeys: PostgreSQL
 * decides by cost.
 *
 * The order must be the same on all nodes: not that of types whose values mean something
 * else on each of them.
 */
#include "pando/compat/compat.h"

#include <math.h>

#include "access/stratnum.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "pando/base/type.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/fragment/estimate.h"
#include "pando/planner/fragment/fragment_order.h"

/* One more level in the nodes' statements, and streams to be set up. */
#define MERGE_COST 500.0

/* The fragment's column that is a member of the class, or 0. */
static AttrNumber
column_of_class(const EquivalenceClass *class, Index relid)
{
	foreach_ptr (EquivalenceMember, member, class->ec_members)
	{
		Expr *expr = member->em_expr;

		while (IsA(expr, RelabelType))
			expr = ((RelabelType *) expr)->arg;
		if (!member->em_is_const && !member->em_is_child && IsA(expr, Var) &&
			((Var *) expr)->varno == relid && ((Var *) expr)->varattno > 0 &&
			((Var *) expr)->varlevelsup == 0 &&
			((Var *) expr)->varcollid == class->ec_collation)
			return ((Var *) expr)->varattno;
	}
	return 0;
}

/* The column in the key's order, if it is its type's usual one; else NULL. */
static SortGroupClause *
clause_of_key(const Fragment *fragment, const PathKey *key, Index relid)
{
	AttrNumber column = column_of_class(key->pk_eclass, relid);
	SortGroupClause *clause;
	TypeCacheEntry *type;

	if (column == 0 || column > list_length(fragment->column_types) ||
		!type_travels_binary(list_nth_oid(fragment->column_types, column - 1)))
		return NULL;
	type = lookup_type_cache(list_nth_oid(fragment->column_types, column - 1),
							 TYPECACHE_BTREE_OPFAMILY | TYPECACHE_EQ_OPR |
								 TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
	if (type->btree_opf != key->pk_opfamily || !OidIsValid(type->gt_opr))
		return NULL;
	clause = makeNode(SortGroupClause);
	clause->tleSortGroupRef = column;
	clause->eqop = type->eq_opr;
	clause->sortop =
		key->pk_strategy == BTLessStrategyNumber ? type->lt_opr : type->gt_opr;
	clause->nulls_first = key->pk_nulls_first;
	return clause;
}

List *
fragment_order_for(const Fragment *fragment, List *pathkeys, Index relid)
{
	List *order = NIL;

	if (fragment->command != CMD_SELECT || fragment->locks || fragment->first_copy ||
		fragment->restart != 0 || fragment->local != NULL ||
		(fragment->choice != SHARDS_ALL && fragment->choice != SHARDS_BY_KEY))
		return NIL;
	foreach_ptr (PathKey, key, pathkeys)
	{
		SortGroupClause *clause = clause_of_key(fragment, key, relid);

		if (clause == NULL)
			return NIL;
		order = lappend(order, clause);
	}
	return order;
}

Fragment *
fragment_ordered(const Fragment *fragment, List *order)
{
	Fragment *ordered = palloc(sizeof(Fragment));
	List *around = fragment->per_node;

	*ordered = *fragment;
	ordered->order = order;
	ordered->per_node = list_make2(
		makeString(psprintf("SELECT * FROM (%s", around ? strVal(linitial(around)) : "")),
		makeString(psprintf("%s) AS sorted ORDER BY %s",
							around ? strVal(lsecond(around)) : "",
							fragment_order_text(ordered, false))));
	return ordered;
}

/* The nodes sort at the same time; the merge compares each row with others. */
void
fragment_order_cost(const Fragment *fragment, PlannerInfo *root, CustomPath *path)
{
	Distribution distribution = {.kind = DIST_SHARDED,
								 .anchor = fragment->anchor,
								 .pruned = fragment->choice == SHARDS_BY_KEY,
								 .keys = fragment->keys};
	int nodes = estimate_nodes(&distribution);
	Path sort;

	cost_sort(&sort, root, path->path.pathkeys, 0, fragment->rows / nodes,
			  fragment->width, 0, work_mem, -1);
	path->path.startup_cost += fragment->cost + sort.startup_cost;
	path->path.total_cost += sort.total_cost + MERGE_COST +
							 2.0 * cpu_operator_cost * fragment->rows * log2(nodes + 1);
}
