/*
 * rebalance_plan.c: which shard groups to move so that nodes carry even loads.
 *
 * An *item* is the placement of one shard group, with a cost; a node has a capacity, and
 * its load is the cost of its items divided by that. First items leave nodes where they
 * may not be. Then, from the most loaded node to the least, the costliest item moves that
 * lowers the higher of the two loads, until no move helps or all loads are near the
 * average.
 *
 * Each colocation group is balanced by itself, so that each table is spread. Groups with
 * fewer shard groups than there are nodes (as single-shard tables have) are balanced
 * together, since none of them can be spread.
 */
#include "pando/compat/compat.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "pando/cluster/move.h"
#include "pando/cluster/rebalance_plan.h"
#include "pando/metadata/table.h"

typedef struct Load
{
	const DistNode *node;
	double capacity;
	double cost;
} Load;

typedef struct Item
{
	int64 shard_id;
	double cost;
	bool fixed;	  /* excluded by the caller */
	Load *at;	  /* NULL: on a node that is not active */
	List *others; /* Item *: other placements of the same shard group */
} Item;

typedef struct Planner
{
	const RebalanceRequest *request;
	List *loads; /* Load *, in order of group */
	List *moves; /* RebalanceMove * */
} Planner;

static double
load_of(const Load *load)
{
	return load->capacity > 0 ? load->cost / load->capacity : 0;
}

/* ------------------------------------------------------------------------------------
 * What there is.
 */

static List *
loads_make(const RebalanceRequest *request)
{
	List *loads = NIL;

	foreach_ptr (const DistNode, node, node_list(NODES_ALL))
	{
		Load *load = palloc0(sizeof(Load));

		load->node = node;
		load->capacity = DatumGetFloat4(
			OidFunctionCall1(request->strategy.node_capacity, Int32GetDatum(node->id)));
		loads = lappend(loads, load);
	}
	return loads;
}

static bool
is_excluded(const RebalanceRequest *request, List *tables, int index)
{
	ListCell *cell;

	foreach (cell, tables)
	{
		foreach_ptr (int64, id, request->excluded)
		{
			if (*id == dist_table_require(lfirst_oid(cell))->shards[index].id)
				return true;
		}
	}
	return false;
}

static Load *
load_of_group(Planner *planner, int32 group)
{
	foreach_ptr (Load, load, planner->loads)
	{
		if (load->node->group == group)
			return load;
	}
	return NULL;
}

/* Appends the items of a table's colocation group. */
static List *
add_items(Planner *planner, List *items, const DistTable *table)
{
	List *tables = shard_group_tables(table);

	for (int i = 0; i < table->nshards; i++)
	{
		const Shard *shard = &table->shards[i];
		bool fixed = is_excluded(planner->request, tables, i);
		double cost = DatumGetFloat4(OidFunctionCall1(
			planner->request->strategy.shard_cost, Int64GetDatum(shard->id)));
		List *copies = NIL;

		CHECK_FOR_INTERRUPTS();
		for (int j = 0; j < shard->nplacements; j++)
		{
			Item *item = palloc0(sizeof(Item));

			item->shard_id = shard->id;
			item->cost = cost;
			item->fixed = fixed;
			item->at = load_of_group(planner, shard->placements[j].group);
			copies = lappend(copies, item);
			items = lappend(items, item);
		}
		foreach_ptr (Item, item, copies)
			item->others = list_delete_ptr(list_copy(copies), item);
	}
	return items;
}

/* ------------------------------------------------------------------------------------
 * Where things may be.
 */

static bool
may_be_on(Planner *planner, const Item *item, const Load *load)
{
	if (!load->node->should_have_shards || load->capacity <= 0)
		return false;
	foreach_ptr (Item, other, item->others)
	{
		if (other->at == load)
			return false;
	}
	return DatumGetBool(OidFunctionCall2(planner->request->strategy.shard_allowed,
										 Int64GetDatum(item->shard_id),
										 Int32GetDatum(load->node->id)));
}

static bool
more_moves_allowed(const Planner *planner)
{
	return list_length(planner->moves) < planner->request->max_moves;
}

static void
move_item(Planner *planner, Item *item, Load *to)
{
	RebalanceMove *move = palloc0(sizeof(RebalanceMove));

	move->shard_id = item->shard_id;
	move->source = item->at->node;
	move->target = to->node;
	planner->moves = lappend(planner->moves, move);
	item->at->cost -= item->cost;
	to->cost += item->cost;
	item->at = to;
}

/* ------------------------------------------------------------------------------------
 * Moving.
 */

/* Items leave nodes where they may not be, for the node with the least load afterwards.
 */
static void
drain(Planner *planner, List *items)
{
	foreach_ptr (Item, item, items)
	{
		Load *best = NULL;

		if (item->at == NULL || item->fixed || !more_moves_allowed(planner) ||
			may_be_on(planner, item, item->at))
			continue;
		foreach_ptr (Load, load, planner->loads)
		{
			if (load == item->at || !may_be_on(planner, item, load))
				continue;
			if (best == NULL || (load->cost + item->cost) / load->capacity <
									(best->cost + item->cost) / best->capacity)
				best = load;
		}
		if (best == NULL)
			ereport(
				WARNING,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard %lld can't leave node %s:%d, no other node may have it",
						(long long) item->shard_id, item->at->node->host,
						item->at->node->port)));
		else
			move_item(planner, item, best);
	}
}

/* Higher loads first; of equal ones the lower group. */
static int
compare_sources(const ListCell *a, const ListCell *b)
{
	const Load *left = lfirst(a);
	const Load *right = lfirst(b);

	if (load_of(left) != load_of(right))
		return load_of(left) > load_of(right) ? -1 : 1;
	return left->node->group - right->node->group;
}

/* Lower loads first; of equal ones the lower group. */
static int
compare_targets(const ListCell *a, const ListCell *b)
{
	const Load *left = lfirst(a);
	const Load *right = lfirst(b);

	if (load_of(left) != load_of(right))
		return load_of(left) < load_of(right) ? -1 : 1;
	return left->node->group - right->node->group;
}

/* The costliest item whose move lowers the higher of both loads enough; NULL: none. */
static Item *
best_item(Planner *planner, List *items, const Load *from, const Load *to)
{
	Item *best = NULL;

	foreach_ptr (Item, item, items)
	{
		double part = item->cost / from->capacity;
		double peak = Max((from->cost - item->cost) / from->capacity,
						  (to->cost + item->cost) / to->capacity);
		double gain = load_of(from) - peak;

		if (item->at != from || item->fixed || gain <= 1e-9 * part ||
			gain < planner->request->strategy.improvement * part ||
			(best != NULL && item->cost <= best->cost))
			continue;
		if (may_be_on(planner, item, to))
			best = item;
	}
	return best;
}

/* One move that helps; false when there is none. */
static bool
improve(Planner *planner, List *items)
{
	List *loads = NIL;
	List *targets;
	double cost = 0;
	double capacity = 0;
	double low;
	double high;

	foreach_ptr (Load, load, planner->loads)
	{
		if (!load->node->should_have_shards || load->capacity <= 0)
			continue;
		cost += load->cost;
		capacity += load->capacity;
		loads = lappend(loads, load);
	}
	if (list_length(loads) < 2)
		return false;
	low = cost / capacity * (1 - planner->request->strategy.threshold);
	high = cost / capacity * (1 + planner->request->strategy.threshold);
	targets = list_copy(loads);
	list_sort(loads, compare_sources);
	list_sort(targets, compare_targets);

	foreach_ptr (Load, from, loads)
	{
		foreach_ptr (Load, to, targets)
		{
			Item *item;

			if (load_of(to) >= load_of(from) ||
				(load_of(from) <= high && load_of(to) >= low))
				continue;
			item = best_item(planner, items, from, to);
			if (item != NULL)
			{
				move_item(planner, item, to);
				return true;
			}
		}
	}
	return false;
}

/* Plans for one set of items that are balanced together. */
static void
plan_items(Planner *planner, List *items)
{
	foreach_ptr (Load, load, planner->loads)
		load->cost = 0;
	foreach_ptr (Item, item, items)
	{
		if (item->at != NULL)
			item->at->cost += item->cost;
	}

	drain(planner, items);
	if (planner->request->drain_only)
		return;
	while (more_moves_allowed(planner) && improve(planner, items))
		CHECK_FOR_INTERRUPTS();
}

static int
target_count(const Planner *planner)
{
	int n = 0;

	foreach_ptr (Load, load, planner->loads)
		n += load->node->should_have_shards && load->capacity > 0;
	return n;
}

List *
rebalance_plan(const RebalanceRequest *request)
{
	Planner planner = {.request = request, .loads = loads_make(request)};
	List *groups = NIL;
	List *small = NIL;
	ListCell *cell;

	foreach (cell, OidIsValid(request->relid) ? list_make1_oid(request->relid)
											  : dist_table_oids())
	{
		const DistTable *table = dist_table_require(lfirst_oid(cell));

		if (!dist_table_is_sharded(table) || list_member_int(groups, table->colocation))
			continue;
		if (table->colocation != 0)
			groups = lappend_int(groups, table->colocation);
		if (table->nshards < target_count(&planner) && !OidIsValid(request->relid))
			small = add_items(&planner, small, table);
		else
			plan_items(&planner, add_items(&planner, NIL, table));
	}
	plan_items(&planner, small);
	return planner.moves;
}
