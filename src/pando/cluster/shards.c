/*
 * shards.c: the shards of a table: ranges, placements, their relations on the nodes.
 *
 * The range of int4 is cut into shard_count equal pieces, the last one takes the rest. A
 * table that joins a group takes ranges and placements from a table of that group, so
 * that shards with the same index stay together.
 */
#include "pando/compat/compat.h"

#include "lib/stringinfo.h"
#include "access/xact.h"
#include "utils/builtins.h"

#include "pando/base/debug_point.h"
#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/catalog/partition.h"
#include "pando/catalog/placement.h"
#include "pando/catalog/shard.h"
#include "pando/cluster/group_lock.h"
#include "pando/cluster/node_row.h"
#include "pando/cluster/shards.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

/* ------------------------------------------------------------------------------------
 * Planning
 */

void
shards_check_replication(const TableSpec *spec)
{
	int nodes = list_length(node_list(NODES_WITH_SHARDS));

	if (OidIsValid(spec->model) || spec->kind == TABLE_REFERENCE ||
		spec->replication <= nodes)
		return;
	ereport(
		ERROR,
		(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		 errmsg("replication factor %d exceeds the number of nodes that take shards, %d",
				spec->replication, nodes),
		 errhint("Add more worker nodes, or lower citus.shard_replication_factor.")));
}

static List *
groups_of_nodes(NodeFilter filter)
{
	List *groups = NIL;

	foreach_ptr (const DistNode, node, node_list(filter))
	{
		groups = lappend_int(groups, node->group);
	}
	return groups;
}

/* Groups for the shard with that index: `copies` consecutive ones of all. */
static List *
round_robin(List *all, int index, int copies)
{
	List *groups = NIL;

	for (int i = 0; i < copies; i++)
		groups = lappend_int(groups, list_nth_int(all, (index + i) % list_length(all)));
	return groups;
}

static List *
plan_like_model(const TableSpec *spec)
{
	const DistTable *model = dist_table_require(spec->model);
	List *plans = NIL;

	for (int i = 0; i < model->nshards; i++)
	{
		const Shard *shard = &model->shards[i];
		ShardPlan *plan = palloc0(sizeof(ShardPlan));

		plan->ranged = spec->kind == TABLE_HASH;
		plan->min = shard->min_hash;
		plan->max = shard->max_hash;
		for (int j = 0; j < shard->nplacements; j++)
			plan->groups = lappend_int(plan->groups, shard->placements[j].group);
		plans = lappend(plans, plan);
	}
	return plans;
}

static List *
plan_anew(const TableSpec *spec)
{
	uint32 step = (uint32) ((UINT64CONST(1) << 32) / spec->shard_count);
	List *all = groups_of_nodes(NODES_WITH_SHARDS);
	List *plans = NIL;

	if (spec->shard_count == 1)
		step = PG_UINT32_MAX;
	for (int i = 0; i < spec->shard_count; i++)
	{
		ShardPlan *plan = palloc0(sizeof(ShardPlan));

		plan->ranged = spec->kind == TABLE_HASH;
		plan->min = (int32) (PG_INT32_MIN + (int64) i * step);
		plan->max = i == spec->shard_count - 1 ? PG_INT32_MAX
											   : (int32) (plan->min + (int64) step - 1);
		plan->groups = round_robin(all, i, spec->replication);
		plans = lappend(plans, plan);
	}
	return plans;
}

/* One shard, on these groups. */
static List *
plan_one(List *groups)
{
	ShardPlan *plan = palloc0(sizeof(ShardPlan));

	plan->groups = groups;
	return list_make1(plan);
}

List *
shards_plan(const TableSpec *spec)
{
	List *plans;

	if (spec->kind == TABLE_RANGE || spec->kind == TABLE_APPEND)
		return NIL; /* each is made by itself: shard_functions.c */
	if (spec->kind == TABLE_REFERENCE)
		plans = plan_one(groups_of_nodes(NODES_LISTED));
	else if (spec->kind == TABLE_MANAGED_LOCAL)
		plans = plan_one(list_make1_int(COORDINATOR_GROUP));
	else if (OidIsValid(spec->model))
		plans = plan_like_model(spec);
	else if (spec->kind == TABLE_SINGLE)
	{
		/* Single-shard tables that are not colocated spread over the nodes. */
		plans = plan_one(
			round_robin(groups_of_nodes(NODES_WITH_SHARDS), spec->colocation, 1));
	}
	else
		plans = plan_anew(spec);
	foreach_ptr (ShardPlan, plan, plans)
	{
		plan->id = catalog_shard_next_id();
	}
	return plans;
}

List *
shards_plan_like(List *plans)
{
	List *copies = NIL;

	foreach_ptr (ShardPlan, plan, plans)
	{
		ShardPlan *copy = palloc(sizeof(ShardPlan));

		*copy = *plan;
		copy->id = catalog_shard_next_id();
		copies = lappend(copies, copy);
	}
	return copies;
}

bool
shards_plan_fits(List *plans, const DistTable *table)
{
	if (list_length(plans) != table->nshards)
		return false;
	for (int i = 0; i < table->nshards; i++)
	{
		const ShardPlan *plan = list_nth(plans, i);
		const Shard *shard = &table->shards[i];

		if ((plan->ranged &&
			 (plan->min != shard->min_hash || plan->max != shard->max_hash)) ||
			list_length(plan->groups) != shard->nplacements)
			return false;
		for (int j = 0; j < shard->nplacements; j++)
		{
			if (!list_member_int(plan->groups, shard->placements[j].group))
				return false;
		}
	}
	return true;
}

/* ------------------------------------------------------------------------------------
 * Registering
 */

static char
spec_partmethod(const TableSpec *spec)
{
	switch (spec->kind)
	{
		case TABLE_HASH:
			return PARTMETHOD_HASH;
		case TABLE_RANGE:
			return PARTMETHOD_RANGE;
		case TABLE_APPEND:
			return PARTMETHOD_APPEND;
		default:
			return PARTMETHOD_NONE;
	}
}

static char
spec_repmodel(const TableSpec *spec)
{
	if (spec->kind == TABLE_REFERENCE)
		return 't';
	return spec->replication > 1 ? 'c' : 's';
}

static void
append_element(StringInfo array, const char *value)
{
	appendStringInfo(array, "%s%s", array->len > 0 ? "," : "", value);
}

/* Calls of shards_register() and placements_register() for the plans. */
static void
append_shard_calls(StringInfo sql, const char *table, List *plans)
{
	StringInfoData ids, mins, maxs, placements, placed_shards, groups;

	initStringInfo(&ids);
	initStringInfo(&mins);
	initStringInfo(&maxs);
	initStringInfo(&placements);
	initStringInfo(&placed_shards);
	initStringInfo(&groups);
	foreach_ptr (ShardPlan, plan, plans)
	{
		ListCell *cell;

		append_element(&ids, psprintf(INT64_FORMAT, plan->id));
		append_element(&mins, plan->ranged ? psprintf("%d", plan->min) : "NULL");
		append_element(&maxs, plan->ranged ? psprintf("%d", plan->max) : "NULL");
		foreach (cell, plan->groups)
		{
			append_element(&placements,
						   psprintf(INT64_FORMAT, catalog_placement_next_id()));
			append_element(&placed_shards, psprintf(INT64_FORMAT, plan->id));
			append_element(&groups, psprintf("%d", lfirst_int(cell)));
		}
	}
	appendStringInfo(
		sql,
		"SELECT pando.shards_register(%s::pg_catalog.regclass, '{%s}', '{%s}', '{%s}'); "
		"SELECT pando.placements_register('{%s}', '{%s}', '{%s}')",
		table, ids.data, mins.data, maxs.data, placements.data, placed_shards.data,
		groups.data);
}

void
shards_register_table(const TableSpec *spec)
{
	shards_register_planned(spec, shards_plan(spec));
}

void
shards_register_planned(const TableSpec *spec, List *plans)
{
	StringInfoData sql;
	char *table = quote_literal_cstr(name_qualified(spec->relid));

	initStringInfo(&sql);
	appendStringInfo(
		&sql,
		"SELECT pando.table_register(%s::pg_catalog.regclass, '%c', %s, %d, '%c'); ",
		table, spec_partmethod(spec),
		spec->key_name != NULL ? quote_literal_cstr(spec->key_name) : "NULL",
		spec->colocation, spec_repmodel(spec));
	append_shard_calls(&sql, table, plans);
	node_run_everywhere(sql.data);
}

int64
shards_register_empty(const DistTable *table, int copies)
{
	List *all = groups_of_nodes(NODES_WITH_SHARDS);
	List *plans;
	StringInfoData sql;

	if (copies > list_length(all))
		ereport(
			ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("%d copies of a shard need as many nodes that take shards, of which "
					"there are %d",
					copies, list_length(all))));
	plans = plan_one(round_robin(all, table->nshards, copies));
	((ShardPlan *) linitial(plans))->id = catalog_shard_next_id();
	initStringInfo(&sql);
	append_shard_calls(&sql, quote_literal_cstr(name_qualified(table->relid)), plans);
	node_run_everywhere(sql.data);
	return ((ShardPlan *) linitial(plans))->id;
}

/* ------------------------------------------------------------------------------------
 * Relations on the nodes
 */

/*
 * Ids of the table's shards that have a placement in the group, as array elements;
 * with_lost: and those that may have one that is marked as lost.
 */
static char *
shard_ids_in_group(const DistTable *table, int32 group, bool with_lost)
{
	bool all = with_lost && table->repmodel == REPMODEL_COPIES;
	GroupShards own = dist_table_in_group(table, group);
	StringInfoData ids;

	initStringInfo(&ids);
	DEBUG_STEPS(all ? table->nshards : own.nshards);
	for (int i = 0; i < (all ? table->nshards : own.nshards); i++)
		append_element(&ids,
					   psprintf(INT64_FORMAT, table->shards[all ? i : own.shards[i]].id));
	return ids.data;
}

void
shards_create_one_on_nodes(Oid relid, int64 shard_id)
{
	const DistTable *table = dist_table_require(relid);
	const Shard *shard = shard_of_table(table, shard_id);
	List *nodes = NIL;

	for (int i = 0; i < shard->nplacements; i++)
		nodes = lappend(nodes, (void *) node_by_group(shard->placements[i].group));
	xact_run_on_nodes(
		nodes,
		psprintf("SELECT pando.shards_create(%s::pg_catalog.regclass, '{" INT64_FORMAT
				 "}', 'all')",
				 quote_literal_cstr(name_qualified(relid)), shard_id));
	CommandCounterIncrement();
}

/* Runs function(table, ids ...) on every node that has placements of the table. */
static void
call_for_placements(Oid relid, const char *function, const char *more, bool with_lost)
{
	const DistTable *table = dist_table_require(relid);
	List *nodes = NIL;
	List *commands = NIL;

	foreach_ptr (const DistNode, node, node_list(NODES_ALL))
	{
		char *ids = shard_ids_in_group(table, node->group, with_lost);

		if (ids[0] == '\0')
			continue;
		nodes = lappend(nodes, (void *) node);
		commands = lappend(commands,
						   psprintf("SELECT pando.%s(%s::pg_catalog.regclass, '{%s}'%s)",
									function, quote_literal_cstr(name_qualified(relid)),
									ids, more));
	}
	if (nodes != NIL)
		xact_run_each(nodes, commands);
	CommandCounterIncrement();
}

void
shards_create_on_nodes(Oid relid, const char *stage)
{
	call_for_placements(relid, "shards_create", psprintf(", '%s'", stage), false);
}

void
shards_drop_on_nodes(Oid relid)
{
	call_for_placements(relid, "shards_drop", "", true);
}

void
shards_lock_on_nodes(Oid relid)
{
	const DistTable *table = dist_table_require(relid);

	foreach_ptr (const DistNode, node, node_list(NODES_ALL))
	{
		GroupShards own = dist_table_in_group(table, node->group);
		List *names = NIL;

		DEBUG_STEPS(own.nshards);
		for (int i = 0; i < own.nshards; i++)
			names = lappend(names,
							name_shard_qualified(relid, table->shards[own.shards[i]].id));
		group_lock_on_node(node, names, "SHARE");
	}
}
