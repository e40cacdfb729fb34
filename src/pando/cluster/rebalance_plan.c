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
 *
 * A move costs what it touches, not what there is: nodes are kept in order of their
 * loads, and the items of a node in order of their costs, so that the first that will do
 * is found by halving.
 */
#include "pando/compat/compat.h"

#include <math.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/regproc.h"

#include "pando/base/debug_point.h"
#include "pando/base/int_map.h"
#include "pando/cluster/move.h"
#include "pando/cluster/rebalance_plan.h"
#include "pando/cluster/shard_size.h"
#include "pando/metadata/table.h"

typedef struct Item Item;

typedef struct Load
{
	const DistNode *node;
	double capacity;
	double cost;
	bool is_target; /* it may get items, and is in the order of loads */
	bool stuck;		/* none of its items could move, as of late */
	Item **items;	/* costliest first, of equal ones the lower number */
	int nitems;
	int room;
} Load;

struct Item
{
	int64 shard_id;
	double cost;
	int number;
	bool fixed;	  /* excluded by the caller */
	Load *at;	  /* NULL: on a node that is not active */
	Item *copies; /* all placements of the same shard group, this one among them */
	int ncopies;
};

typedef struct ItemSet
{
	Item **at;
	int n;
	int room;
} ItemSet;

typedef struct Planner
{
	const RebalanceRequest *request;
	FmgrInfo shard_cost;
	FmgrInfo node_capacity;
	FmgrInfo shard_allowed;
	MemoryContext calls; /* of the strategy's functions; empty between them */
	List *loads;		 /* Load *, in order of group */
	IntMap *by_group;
	int64 *excluded; /* sorted */
	int nexcluded;
	Load **up; /* targets, the least loaded first, of equal ones the lower group */
	int ntargets;
	double largest; /* capacity */
	List *moves;	/* RebalanceMove * */
	int nmoves;
} Planner;

static double
load_of(const Load *load)
{
	return load->capacity > 0 ? load->cost / load->capacity : 0;
}

/* ------------------------------------------------------------------------------------
 * The strategy's functions.
 */

static Datum
call(Planner *planner, FmgrInfo *function, Datum first, Datum second)
{
	LOCAL_FCINFO(fcinfo, 2);
	MemoryContext old = MemoryContextSwitchTo(planner->calls);
	Datum result;

	InitFunctionCallInfoData(*fcinfo, function, function->fn_nargs, InvalidOid, NULL,
							 NULL);
	fcinfo->args[0] = (NullableDatum){.value = first};
	fcinfo->args[1] = (NullableDatum){.value = second};
	result = FunctionCallInvoke(fcinfo);
	MemoryContextSwitchTo(old);
	MemoryContextReset(planner->calls);
	if (fcinfo->isnull)
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("function %s of the rebalance strategy has returned NULL",
							   format_procedure(function->fn_oid))));
	return result;
}

/* A cost or a capacity. */
static double
weigh(Planner *planner, FmgrInfo *function, Datum what)
{
	double weight = DatumGetFloat4(call(planner, function, what, (Datum) 0));

	if (isnan(weight) || isinf(weight) || weight < 0)
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
						errmsg("function %s of the rebalance strategy has returned %g",
							   format_procedure(function->fn_oid), weight),
						errhint("Costs and capacities are 0 or more.")));
	return weight;
}

/* ------------------------------------------------------------------------------------
 * What there is.
 */

static void
loads_make(Planner *planner)
{
	planner->by_group = int_map_create();
	foreach_ptr (const DistNode, node, node_list(NODES_ALL))
	{
		Load *load = palloc0(sizeof(Load));

		load->node = node;
		load->capacity = weigh(planner, &planner->node_capacity, Int32GetDatum(node->id));
		load->is_target = node->should_have_shards && load->capacity > 0;
		planner->ntargets += load->is_target;
		planner->largest = Max(planner->largest, load->capacity);
		planner->loads = lappend(planner->loads, load);
		*int_map_at(planner->by_group, node->group) = load;
	}
	planner->up = palloc(sizeof(Load *) * (planner->ntargets + 1));
}

static int
compare_ids(const void *a, const void *b)
{
	int64 left = *(const int64 *) a;
	int64 right = *(const int64 *) b;

	return left < right ? -1 : left > right;
}

static void
excluded_make(Planner *planner)
{
	planner->excluded =
		palloc(sizeof(int64) * (list_length(planner->request->excluded) + 1));
	foreach_ptr (int64, id, planner->request->excluded)
		planner->excluded[planner->nexcluded++] = *id;
	qsort(planner->excluded, planner->nexcluded, sizeof(int64), compare_ids);
}

static bool
is_excluded(Planner *planner, List *tables, int index)
{
	ListCell *cell;

	if (planner->nexcluded == 0)
		return false;
	foreach (cell, tables)
	{
		const DistTable *table = dist_table_require(lfirst_oid(cell));

		if (bsearch(&table->shards[index].id, planner->excluded, planner->nexcluded,
					sizeof(int64), compare_ids) != NULL)
			return true;
	}
	return false;
}

static void
add_item(ItemSet *set, Item *item)
{
	if (set->n == set->room)
	{
		set->room = Max(set->room * 2, 64);
		set->at = set->at == NULL ? palloc(sizeof(Item *) * set->room)
								  : repalloc_huge(set->at, sizeof(Item *) * set->room);
	}
	item->number = set->n;
	set->at[set->n++] = item;
}

/* Appends the items of a table's colocation group. */
static void
add_items(Planner *planner, ItemSet *set, const DistTable *table)
{
	List *tables = shard_group_tables(table);

	for (int i = 0; i < table->nshards; i++)
	{
		const Shard *shard = &table->shards[i];
		bool fixed = is_excluded(planner, tables, i);
		double cost = weigh(planner, &planner->shard_cost, Int64GetDatum(shard->id));
		Item *copies = palloc0(sizeof(Item) * Max(shard->nplacements, 1));

		DEBUG_STEPS(1);
		CHECK_FOR_INTERRUPTS();
		for (int j = 0; j < shard->nplacements; j++)
		{
			copies[j].shard_id = shard->id;
			copies[j].cost = cost;
			copies[j].fixed = fixed;
			copies[j].at = *int_map_at(planner->by_group, shard->placements[j].group);
			copies[j].copies = copies;
			copies[j].ncopies = shard->nplacements;
			add_item(set, &copies[j]);
		}
	}
}

/* ------------------------------------------------------------------------------------
 * Orders.
 */

/* Where in an array of pointers something belongs, or is: the first place where what is
 * there does not come before it. */
static int
place_of(void *const *array, int n, const void *what,
		 int (*compare)(const void *, const void *))
{
	int low = 0;

	while (n > low)
	{
		int middle = (low + n) / 2;

		if (compare(&array[middle], &what) < 0)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

static void
pointer_insert(void **array, int n, int at, void *what)
{
	memmove(&array[at + 1], &array[at], sizeof(void *) * (n - at));
	array[at] = what;
}

static void
pointer_remove(void **array, int n, int at)
{
	memmove(&array[at], &array[at + 1], sizeof(void *) * (n - at - 1));
}

/* Lower loads first; of equal ones the lower group. */
static int
compare_loads(const void *a, const void *b)
{
	const Load *left = *(Load *const *) a;
	const Load *right = *(Load *const *) b;

	if (load_of(left) != load_of(right))
		return load_of(left) < load_of(right) ? -1 : 1;
	return left->node->group - right->node->group;
}

static int
compare_items(const void *a, const void *b)
{
	const Item *left = *(Item *const *) a;
	const Item *right = *(Item *const *) b;

	if (left->cost != right->cost)
		return left->cost > right->cost ? -1 : 1;
	return left->number - right->number;
}

static void
load_append(Load *load, Item *item)
{
	if (load->nitems == load->room)
	{
		load->room = Max(load->room * 2, 16);
		load->items = load->items == NULL
						  ? palloc(sizeof(Item *) * load->room)
						  : repalloc_huge(load->items, sizeof(Item *) * load->room);
	}
	load->items[load->nitems++] = item;
}

/* Gives the node the item, or takes it away, and keeps all orders. */
static void
load_change(Planner *planner, Load *load, Item *item, bool gets)
{
	void **up = (void **) planner->up;
	int at;

	if (load->is_target)
		pointer_remove(up, planner->ntargets,
					   place_of(up, planner->ntargets, load, compare_loads));
	load->cost += gets ? item->cost : -item->cost;
	if (load->is_target)
		pointer_insert(up, planner->ntargets - 1,
					   place_of(up, planner->ntargets - 1, load, compare_loads), load);

	at = place_of((void **) load->items, load->nitems, item, compare_items);
	if (gets)
	{
		load_append(load, item);
		pointer_insert((void **) load->items, load->nitems - 1, at, item);
	}
	else
		pointer_remove((void **) load->items, load->nitems--, at);
}

/* ------------------------------------------------------------------------------------
 * Moving.
 */

static bool
may_be_on(Planner *planner, const Item *item, const Load *load)
{
	DEBUG_STEPS(1);
	CHECK_FOR_INTERRUPTS();
	if (!load->is_target)
		return false;
	for (int i = 0; i < item->ncopies; i++)
	{
		if (&item->copies[i] != item && item->copies[i].at == load)
			return false;
	}
	return DatumGetBool(call(planner, &planner->shard_allowed,
							 Int64GetDatum(item->shard_id),
							 Int32GetDatum(load->node->id)));
}

static bool
more_moves_allowed(const Planner *planner)
{
	return planner->nmoves < planner->request->max_moves;
}

static void
move_item(Planner *planner, Item *item, Load *to)
{
	RebalanceMove *move = palloc0(sizeof(RebalanceMove));

	move->shard_id = item->shard_id;
	move->source = item->at->node;
	move->target = to->node;
	planner->moves = lappend(planner->moves, move);
	planner->nmoves++;
	load_change(planner, item->at, item, false);
	load_change(planner, to, item, true);
	item->at = to;
}

/* The node with the least load once it has the item; NULL: none may have it. */
static Load *
best_target(Planner *planner, const Item *item)
{
	Load *best = NULL;
	double least = 0;

	for (int i = 0; i < planner->ntargets; i++)
	{
		Load *load = planner->up[i];
		double after = (load->cost + item->cost) / load->capacity;

		/* What comes later has more load to begin with. */
		if (best != NULL && load_of(load) + item->cost / planner->largest >= least)
			break;
		if (load == item->at || (best != NULL && after >= least) ||
			!may_be_on(planner, item, load))
			continue;
		best = load;
		least = after;
	}
	return best;
}

/* Items leave nodes where they may not be. */
static void
drain(Planner *planner, const ItemSet *set)
{
	for (int i = 0; i < set->n && more_moves_allowed(planner); i++)
	{
		Item *item = set->at[i];
		Load *best;

		if (item->at == NULL || item->fixed || may_be_on(planner, item, item->at))
			continue;
		CHECK_FOR_INTERRUPTS();
		best = best_target(planner, item);
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

/* Of a node's items the first that costs less, or as much and is not before `number`. */
static int
first_item(const Load *load, double cost, int number)
{
	const Item limit = {.cost = cost, .number = number};

	return place_of((void **) load->items, load->nitems, &limit, compare_items);
}

/* The costliest item whose move lowers the higher of both loads enough; NULL: none. */
static Item *
best_item(Planner *planner, const Load *from, const Load *to)
{
	double improvement = planner->request->strategy.improvement;
	/* A costlier one would make the target too much of the new peak. */
	double most = (load_of(from) - load_of(to)) /
				  (1 / to->capacity + Max(improvement, 0) / from->capacity) * (1 + 1e-6);
	int i = first_item(from, most, -1);

	if (improvement > 1)
		return NULL;
	while (i < from->nitems && from->items[i]->cost > 0)
	{
		Item *item = from->items[i];
		double part = item->cost / from->capacity;
		double peak = Max((from->cost - item->cost) / from->capacity,
						  (to->cost + item->cost) / to->capacity);
		double gain = load_of(from) - peak;

		DEBUG_STEPS(1);
		if (gain <= 1e-9 * part || gain < improvement * part)
			i = first_item(from, item->cost, INT_MAX);
		else if (!item->fixed && may_be_on(planner, item, to))
			return item;
		else
			i++;
	}
	return NULL;
}

/* The first of the targets that have the same load as the one at that place. */
static int
first_of_equal(const Planner *planner, int at)
{
	double load = load_of(planner->up[at]);
	int low = 0;

	while (low < at)
	{
		int middle = (low + at) / 2;

		if (load_of(planner->up[middle]) < load)
			low = middle + 1;
		else
			at = middle;
	}
	return low;
}

/* Moves the best item away from the node, to the least loaded one that gains by it. */
static bool
improve_from(Planner *planner, Load *from, double low, double high)
{
	for (int i = 0; i < planner->ntargets; i++)
	{
		Load *to = planner->up[i];
		Item *item;

		DEBUG_STEPS(1);
		if (load_of(to) >= load_of(from) || (load_of(from) <= high && load_of(to) >= low))
			return false;
		item = best_item(planner, from, to);
		if (item != NULL)
		{
			move_item(planner, item, to);
			return true;
		}
	}
	return false;
}

/* One move that helps, for loads from `low` to `high` are even enough; false when there
 * is none. */
static bool
improve(Planner *planner, double low, double high)
{
	/* The most loaded ones first, of equal ones the lower group. */
	for (int end = planner->ntargets, first; end > 0; end = first)
	{
		first = first_of_equal(planner, end - 1);
		for (int i = first; i < end; i++)
		{
			Load *from = planner->up[i];

			DEBUG_STEPS(1);
			if (from->stuck)
				continue;
			if (improve_from(planner, from, low, high))
				return true;
			/* Until the others have come to rest. */
			from->stuck = true;
		}
	}
	return false;
}

static void
even_out(Planner *planner)
{
	double threshold = planner->request->strategy.threshold;
	double cost = 0;
	double capacity = 0;
	bool moved = true;

	for (int i = 0; i < planner->ntargets; i++)
	{
		cost += planner->up[i]->cost;
		capacity += planner->up[i]->capacity;
	}
	while (planner->ntargets > 1 && moved)
	{
		for (int i = 0; i < planner->ntargets; i++)
			planner->up[i]->stuck = false;
		moved = false;
		while (more_moves_allowed(planner) &&
			   improve(planner, cost / capacity * (1 - threshold),
					   cost / capacity * (1 + threshold)))
		{
			CHECK_FOR_INTERRUPTS();
			moved = true;
		}
	}
}

/* Plans for one set of items that are balanced together. */
static void
plan_items(Planner *planner, const ItemSet *set)
{
	int n = 0;

	foreach_ptr (Load, load, planner->loads)
	{
		load->cost = 0;
		load->nitems = 0;
		if (load->is_target)
			planner->up[n++] = load;
	}
	for (int i = 0; i < set->n; i++)
	{
		if (set->at[i]->at == NULL)
			continue;
		set->at[i]->at->cost += set->at[i]->cost;
		load_append(set->at[i]->at, set->at[i]);
	}
	foreach_ptr (Load, load, planner->loads)
	{
		if (load->nitems > 0)
			qsort(load->items, load->nitems, sizeof(Item *), compare_items);
	}
	qsort(planner->up, planner->ntargets, sizeof(Load *), compare_loads);

	drain(planner, set);
	if (!planner->request->drain_only)
		even_out(planner);
}

List *
rebalance_plan(const RebalanceRequest *request)
{
	Planner planner = {.request = request};
	IntMap *groups = int_map_create();
	ItemSet small = {0};
	ListCell *cell;

	planner.calls = AllocSetContextCreate(CurrentMemoryContext, "pando rebalance calls",
										  ALLOCSET_SMALL_SIZES);
	fmgr_info(request->strategy.shard_cost, &planner.shard_cost);
	fmgr_info(request->strategy.node_capacity, &planner.node_capacity);
	fmgr_info(request->strategy.shard_allowed, &planner.shard_allowed);
	loads_make(&planner);
	excluded_make(&planner);
	if (planner.shard_cost.fn_addr == citus_shard_cost_by_disk_size)
		shard_sizes_ask(OidIsValid(request->relid)
							? shard_group_tables(dist_table_require(request->relid))
							: NIL);

	foreach (cell, OidIsValid(request->relid) ? list_make1_oid(request->relid)
											  : dist_table_oids())
	{
		const DistTable *table = dist_table_require(lfirst_oid(cell));

		if (!dist_table_is_sharded(table) ||
			(table->colocation != 0 && !int_map_first(groups, table->colocation)))
			continue;
		if (table->nshards < planner.ntargets && !OidIsValid(request->relid))
			add_items(&planner, &small, table);
		else
		{
			ItemSet set = {0};

			add_items(&planner, &set, table);
			plan_items(&planner, &set);
		}
	}
	plan_items(&planner, &small);
	return planner.moves;
}
