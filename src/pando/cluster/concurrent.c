/*
 * concurrent.c: create_distributed_table_concurrently(): a table of this node becomes a
 * distributed one while it is read and written.
 *
 * A copy of a shard group (group_copy.c) whose source are the tables themselves, a table
 * or the tree of a partitioned one, and whose targets are the shards that are to be. No
 * metadata know of either before the switch, and no other node has the shells: those that
 * make a node's shards last as long as the transaction that makes them (online_move.c).
 * At the switch, under ACCESS EXCLUSIVE, shells and metadata are made on all nodes and
 * the tables give up their own storage, in the caller's transaction. So whatever ends the
 * conversion before its commit leaves the tables as they were; the rest is cleanup.c's.
 *
 * Until changes are noted the tables are locked in ACCESS SHARE mode only, which CREATE
 * TRIGGER lets pass, then in SHARE UPDATE EXCLUSIVE. What was changed before that, and
 * privileges, which change without a lock, are noticed at the switch, where all checks
 * are made again.
 *
 * The colocation group is chosen twice, for whoever chooses one keeps all others from it
 * to the end of his transaction: at first to know the shards, and for good at the switch.
 */
#include "pando/compat/compat.h"

#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pando/base/debug_point.h"
#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/base/subtransaction.h"
#include "pando/catalog/shard.h"
#include "pando/cluster/cleanup.h"
#include "pando/cluster/colocation.h"
#include "pando/cluster/concurrent.h"
#include "pando/cluster/convert.h"
#include "pando/cluster/group_copy.h"
#include "pando/cluster/node_row.h"
#include "pando/cluster/online_move.h"
#include "pando/cluster/partitions.h"
#include "pando/cluster/schema.h"
#include "pando/cluster/shards.h"
#include "pando/ddl/dependency.h"
#include "pando/ddl/lead.h"
#include "pando/ddl/table_def.h"
#include "pando/metadata/node.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(table_dependencies_create);

typedef struct Conversion
{
	TableSpec asked; /* before a group was chosen */
	const char *column;
	const char *with;
	List *specs;	  /* TableSpec *, parents first */
	List *plans;	  /* of each, in that order: List of ShardPlan * */
	char *definition; /* what the shards were made from */
	GroupCopy copy;
} Conversion;

/* ------------------------------------------------------------------------------------
 * What is to be
 */

static void
refuse(Oid relid, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("table %s can't be distributed concurrently", name_qualified(relid)),
			 errdetail("%s", detail), errhint("%s", hint)));
}

typedef struct Choice
{
	TableSpec *spec;
	const char *with;
} Choice;

static void
choose(void *arg)
{
	const Choice *choice = arg;

	lead_catalog("pg_dist_colocation", ShareRowExclusiveLock);
	colocation_choose(choice->spec, choice->with);
}

/* Chooses a colocation group without keeping the locks. */
static void
choose_for_now(TableSpec *spec, const char *with)
{
	Choice choice = {spec, with};
	ErrorData *error = subtransaction_try(choose, &choice, false);

	if (error != NULL)
		ReThrowError(error);
}

static void
check_table(Relation rel, TableSpec *spec, const char *column)
{
	if (dist_table(spec->relid) != NULL &&
		dist_table(spec->relid)->kind == TABLE_MANAGED_LOCAL)
		refuse(spec->relid, "It is in the metadata as a local table.",
			   "Call undistribute_table() first, or use create_distributed_table().");
	table_check_relation(rel);
	if (spec->kind != TABLE_HASH && spec->kind != TABLE_SINGLE)
		refuse(spec->relid,
			   "Shards of tables that are distributed by range or append are made one by "
			   "one.",
			   "Use create_distributed_table().");
	if (column != NULL)
		table_check_key(rel, column, spec);
}

/* What shards are made from. */
static char *
definition_of(List *specs)
{
	List *commands = NIL;

	foreach_ptr (TableSpec, spec, specs)
	{
		for (int stage = SHARD_STAGE_TABLE; stage <= SHARD_STAGE_INDEXES; stage++)
			commands =
				list_concat(commands, table_def_shard_commands(spec->relid, stage));
	}
	return sql_join(commands);
}

/* The specs, all checks done. `choose` is colocation_choose(), or the like. */
static List *
look_up(const Conversion *conversion, LOCKMODE mode,
		void (*choose)(TableSpec *spec, const char *with))
{
	Oid relid = conversion->asked.relid;
	TableSpec *root = palloc(sizeof(TableSpec));
	Relation rel = try_relation_open(relid, mode);

	if (rel == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("relation with OID %u does not exist", relid)));
	table_check_owner(relid);
	*root = conversion->asked;
	check_table(rel, root, conversion->column);
	table_close(rel, NoLock);
	choose(root, conversion->with);
	shards_check_replication(root);
	return partition_specs(root, NIL, mode);
}

static GroupMember *
member_of(const TableSpec *spec)
{
	GroupMember *member = palloc0(sizeof(GroupMember));

	member->relid = spec->relid;
	member->name = name_qualified(spec->relid);
	member->has_rows = get_rel_relkind(spec->relid) != RELKIND_PARTITIONED_TABLE;
	member->key = spec->key;
	return member;
}

/* The shard with that index of each table, on one node. */
static CopyTarget *
target_of(const Conversion *conversion, int index, int32 group)
{
	CopyTarget *target = palloc0(sizeof(CopyTarget));
	HashRange *range = palloc(sizeof(HashRange));
	const ShardPlan *plan = NULL;

	foreach_ptr (List, plans, conversion->plans)
	{
		plan = list_nth(plans, index);
		target->shards = lappend(target->shards, (void *) &plan->id);
	}
	range->min = plan->min;
	range->max = plan->max;
	target->range = plan->ranged ? range : NULL;
	target->node = node_by_group(group);
	return target;
}

/* Takes ids of shards, which is a write of this transaction. */
static void
plan(Conversion *conversion)
{
	GroupCopy *copy = &conversion->copy;
	const TableSpec *root = linitial(conversion->specs);
	List *first = shards_plan(root);
	int index = 0;

	foreach_ptr (GroupMember, member, copy->members)
	{
		/* It stands for the table itself. */
		member->shard_id = catalog_shard_next_id();
		conversion->plans =
			lappend(conversion->plans,
					conversion->plans == NIL ? first : shards_plan_like(first));
	}
	copy->shard_id = ((ShardPlan *) linitial(first))->id;
	foreach_ptr (ShardPlan, shard, first)
	{
		ListCell *cell;

		foreach (cell, shard->groups)
			copy->targets =
				lappend(copy->targets, target_of(conversion, index, lfirst_int(cell)));
		index++;
	}
}

/* ------------------------------------------------------------------------------------
 * Before the copy
 */

/* pando.table_dependencies_create(table): on all nodes. */
Datum
table_dependencies_create(PG_FUNCTION_ARGS)
{
	ObjectAddress address;

	table_check_owner(PG_GETARG_OID(0));
	node_rows_lead(RowShareLock);
	if (node_list(NODES_OTHER) == NIL)
		PG_RETURN_VOID();
	xact_settle_past();
	ObjectAddressSet(address, RelationRelationId, PG_GETARG_OID(0));
	dependency_ensure(&address);
	PG_RETURN_VOID();
}

/* Types, functions, roles and so on have to be there, for others to see, before shards
 * are; they stay. */
static void
create_dependencies(const Conversion *conversion)
{
	Session *session = online_move_session(conversion->copy.source);

	PG_TRY();
	{
		foreach_ptr (GroupMember, member, conversion->copy.members)
			session_result_free(session_run(
				session,
				psprintf(
					"SELECT pando.table_dependencies_create(%s::pg_catalog.regclass)",
					quote_literal_cstr(member->name))));
	}
	PG_FINALLY();
	{
		session_close(session);
	}
	PG_END_TRY();
}

/* Waits until nothing is left of an earlier attempt: to take that away, somebody else
 * locks the tables. */
static void
await_earlier(Oid relid)
{
	List *shards = NIL;

	foreach_oid(part, partition_tree(relid, NoLock))
	{
		foreach_ptr (
			char, text,
			sql_column("SELECT shardid FROM pando.move_part WHERE relation = %u", part))
		{
			int64 *id = palloc(sizeof(int64));

			*id = pg_strtoint64(text);
			shards = lappend(shards, id);
		}
	}
	cleanup_await(shards);
}

/* ------------------------------------------------------------------------------------
 * The switch
 */

static void
raise_changed(Oid relid, const char *detail)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
					errmsg("table %s could not be distributed", name_qualified(relid)),
					errdetail("%s", detail), errhint("Try again.")));
}

/* Are the tables and the group still what shards were made for? Returns the specs as of
 * now. */
static List *
look_up_again(const Conversion *conversion)
{
	const TableSpec *before = linitial(conversion->specs);
	List *specs = look_up(conversion, AccessExclusiveLock, colocation_choose);
	TableSpec *root = linitial(specs);
	List *tables = NIL;

	foreach_ptr (TableSpec, spec, specs)
		tables = lappend_oid(tables, spec->relid);
	if (!equal(tables, conversion->copy.tables) ||
		strcmp(definition_of(specs), conversion->definition) != 0)
		raise_changed(root->relid, "Its definition was changed meanwhile.");
	if (root->model != before->model || root->new_colocation != before->new_colocation ||
		root->shard_count != before->shard_count ||
		root->replication != before->replication ||
		root->colocation != before->colocation ||
		(OidIsValid(root->model) &&
		 !shards_plan_fits(linitial(conversion->plans), dist_table_require(root->model))))
		raise_changed(
			root->relid,
			"The colocation group that it joins was made or changed meanwhile.");
	colocation_register_new(root);
	foreach_ptr (TableSpec, spec, specs)
		spec->colocation = root->colocation;
	return specs;
}

static void
switch_to_shards(const Conversion *conversion, OnlineMove *move)
{
	List *specs;
	ListCell *spec_cell;
	ListCell *plan_cell;

	/* With it go the triggers, which are not the tables' own. */
	group_copy_settle(move);
	specs = look_up_again(conversion);
	forboth(spec_cell, specs, plan_cell, conversion->plans)
		convert_adopt(lfirst(spec_cell), lfirst(plan_cell));
	foreach_ptr (TableSpec, spec, specs)
		convert_foreign_keys(spec, true);
}

void
concurrent_distribute(const TableSpec *asked, const char *column, const char *with)
{
	Conversion conversion = {.asked = *asked, .column = column, .with = with};
	GroupCopy *copy = &conversion.copy;
	const char *obstacle = group_copy_hidden();
	OnlineMove *move;
	Oid model;

	table_check_owner(asked->relid);
	if (node_list(NODES_WITH_SHARDS) == NIL)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("there is no node that takes shards"),
						errhint("Add one with SELECT citus_add_node(host, port).")));
	await_earlier(asked->relid);
	node_rows_lead(RowShareLock);
	schema_refuse_table(asked->relid, "distribute");
	conversion.specs = look_up(&conversion, AccessShareLock, choose_for_now);
	model = ((TableSpec *) linitial(conversion.specs))->model;
	if (OidIsValid(model))
		LockRelationOid(model, ShareUpdateExclusiveLock);
	copy->local = true;
	copy->source = node_local();
	foreach_ptr (TableSpec, spec, conversion.specs)
	{
		copy->tables = lappend_oid(copy->tables, spec->relid);
		copy->members = lappend(copy->members, member_of(spec));
	}
	group_check_owner(copy->tables);
	if (obstacle == NULL)
		obstacle = group_copy_obstacle(copy->members);
	if (obstacle != NULL)
		refuse(asked->relid, obstacle, "Use create_distributed_table().");
	create_dependencies(&conversion);
	conversion.definition = definition_of(conversion.specs);
	plan(&conversion);

	move = group_copy_fill(copy, true);
	DEBUG_POINT("move-before-switch");
	switch_to_shards(&conversion, move);
}
