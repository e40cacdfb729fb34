/*
 * partition.c: schema changes of partitioned tables, as far as they differ from others.
 *
 * What PostgreSQL does to a partitioned table it does to the partitions. On a shard of a
 * partitioned table the same happens: its partitions are the partitions' shards. So a
 * statement goes to the shards of the table that it names and to no others. Names are
 * what is left to do here:
 *
 * - Indexes that PostgreSQL makes on partitions get names of its choice. Those of the
 *   coordinator's shells are given to the other nodes' (DdlJob.names), and each
 *   partition's shards get the index under its right name before the parent's statement
 *   runs, which then attaches what it finds.
 * - Check constraints and foreign keys that a partition has from its parent bear the
 *   parent's name, on shards the name of the parent's shard (shard_name.c). They are
 *   renamed when a partition comes or goes.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "pando/base/debug_point.h"
#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/ddl/lock_list.h"
#include "pando/ddl/partition.h"
#include "pando/ddl/shard_ddl.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"

bool
partition_relkind_is_index(char relkind)
{
	return relkind == RELKIND_INDEX || relkind == RELKIND_PARTITIONED_INDEX;
}

/* ------------------------------------------------------------------------------------
 * Indexes of partitions
 */

/*
 * Indexes of the table's partitions that follow a parent's, the lowest partitions first.
 * Takes no locks (pg_partition_tree() does): the coordinator's come before this node's.
 */
static List *
partition_indexes(Oid relid)
{
	List *indexes = NIL;

	foreach_ptr (
		char, id,
		sql_column(
			"WITH RECURSIVE t(relid, level) AS (SELECT %u::pg_catalog.oid, 0 UNION ALL "
			"SELECT h.inhrelid, t.level + 1 FROM t JOIN pg_catalog.pg_inherits h "
			"ON h.inhparent = t.relid) "
			"SELECT i.indexrelid FROM t JOIN pg_catalog.pg_index i ON i.indrelid = "
			"t.relid "
			"JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid "
			"WHERE t.level > 0 AND c.relispartition "
			"ORDER BY t.level DESC, t.relid::pg_catalog.regclass::pg_catalog.text, "
			"c.relname COLLATE \"C\"",
			relid))
		indexes = lappend_oid(indexes, atooid(id));
	return indexes;
}

void
partition_indexes_note(DdlJob *job, Oid relid)
{
	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
		job->indexes_before = partition_indexes(relid);
}

/* The statement that makes such an index by itself. */
static Node *
index_statement(Oid indexid)
{
	Oid constraint = get_index_constraint(indexid);
	Node *stmt = linitial(shard_parse(OidIsValid(constraint)
										  ? pg_get_constraintdef_command(constraint)
										  : pg_get_indexdef_string(indexid)));

	/* Of a partitioned one the partitions' are there already, to be attached. */
	if (IsA(stmt, IndexStmt))
		((IndexStmt *) stmt)->relation->inh = true;
	else
		castNode(AlterTableStmt, stmt)->relation->inh = true;
	return stmt;
}

static bool
index_is_on_shard(Oid indexid, const ShardMap *map)
{
	return OidIsValid(get_relname_relid(name_shard(get_rel_name(indexid), map->shard_id),
										get_rel_namespace(indexid)));
}

/* Which of the new indexes this is among the partition's, the same on all nodes. */
static void
fix_index_name(DdlJob *job, Oid indexid)
{
	char *name = get_rel_name(indexid);
	char *fixed = job_fix_name(job, name);

	if (strcmp(name, fixed) == 0)
		return;
	RenameRelationInternal(indexid, fixed, false, true);
	CommandCounterIncrement();
}

void
partition_indexes_changed(DdlJob *job)
{
	Oid relid = job->tables != NIL ? linitial_oid(job->tables) : InvalidOid;
	List *statements = NIL;
	List *added;

	if (get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE)
		return;
	added = list_difference_oid(partition_indexes(relid), job->indexes_before);
	foreach_oid(indexid, added) fix_index_name(job, indexid);
	foreach_oid(indexid, added)
	{
		Node *stmt = NULL;

		foreach_ptr (ShardMap, map,
					 job_shard_maps(IndexGetRelation(indexid, false), node_local_group()))
		{
			Node *copy;

			CHECK_FOR_INTERRUPTS();
			if (index_is_on_shard(indexid, map))
				continue;
			if (stmt == NULL)
				stmt = index_statement(indexid);
			copy = copyObject(stmt);
			if (shard_rename_statement(copy, map))
				statements = lappend(statements, copy);
		}
	}
	job->shard_statements = list_concat(statements, job->shard_statements);
}

/* ------------------------------------------------------------------------------------
 * ATTACH and DETACH
 */

/* ALTER TABLE shard RENAME CONSTRAINT, if it has one of that name. */
static void
rename_on_shard(DdlJob *job, Oid child, int64 shard_id, const char *from, const char *to)
{
	char *schema = get_namespace_name(get_rel_namespace(child));
	char *shard = name_shard(get_rel_name(child), shard_id);
	Oid shard_oid = get_relname_relid(shard, get_rel_namespace(child));
	RenameStmt *stmt;

	if (!OidIsValid(shard_oid) ||
		!OidIsValid(get_relation_constraint_oid(shard_oid, from, true)))
		return;
	stmt = makeNode(RenameStmt);
	stmt->renameType = OBJECT_TABCONSTRAINT;
	stmt->relationType = OBJECT_TABLE;
	stmt->relation = makeRangeVar(schema, shard, -1);
	stmt->subname = pstrdup(from);
	stmt->newname = pstrdup(to);
	job->shard_statements = lappend(job->shard_statements, stmt);
}

List *
partition_shared_constraints(Oid parent, Oid child, const char *types)
{
	return sql_column(
		"SELECT c.conname FROM pg_catalog.pg_constraint c "
		"JOIN pg_catalog.pg_constraint p ON p.conname = c.conname AND p.contype = "
		"c.contype WHERE c.conrelid = %u AND p.conrelid = %u AND c.contype IN (%s)",
		child, parent, types);
}

/*
 * The child's constraints of these types come to be, or no longer are, the parent's on
 * the shards of `relid`, which is the child or a partition of it.
 */
static void
rename_shared_of(DdlJob *job, Oid parent, Oid child, Oid relid, const char *types,
				 bool to_parent)
{
	const DistTable *table = dist_table_require(child);
	const DistTable *renamed = dist_table_require(relid);
	GroupShards own = dist_table_in_group(renamed, node_local_group());

	foreach_ptr (char, name, partition_shared_constraints(parent, child, types))
	{
		DEBUG_STEPS(own.nshards);
		for (int i = 0; i < own.nshards; i++)
		{
			ShardMap map = {.relid = child, .shard_id = table->shards[own.shards[i]].id};
			char *of_child = name_shard(name, map.shard_id);
			char *of_parent =
				name_shard(name, shard_constraint_shard(parent, child, name, &map));

			rename_on_shard(job, relid, renamed->shards[own.shards[i]].id,
							to_parent ? of_child : of_parent,
							to_parent ? of_parent : of_child);
		}
	}
}

/* Renaming a check goes on to partitions by itself. */
static void
rename_shared(DdlJob *job, Oid parent, Oid child, bool to_parent)
{
	if (dist_table_require(child)->managed_local)
		return;
	foreach_oid(relid, find_all_inheritors(child, NoLock, NULL)) rename_shared_of(
		job, parent, child, relid,
		relid == child ? PARTITION_CHECKS_AND_KEYS : PARTITION_KEYS, to_parent);
}

/* Raises unless the table is distributed as the parent is. */
static void
check_colocated(Oid relid, Oid child)
{
	const DistTable *parent = dist_table_require(relid);
	const DistTable *table = dist_table_require(child);

	if (table->managed_local && parent->managed_local)
		return;
	if (table->kind == parent->kind && !table->managed_local && !parent->managed_local &&
		(table->kind == TABLE_REFERENCE ||
		 (dist_table_colocated(parent, table) &&
		  (table->kind != TABLE_HASH ||
		   strcmp(get_attname(relid, parent->key, false),
				  get_attname(child, table->key, false)) == 0))))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot attach table \"%s\" as a partition of \"%s\"",
					get_rel_name(child), get_rel_name(relid)),
			 errdetail("The two are distributed in different ways."),
			 errhint("Run undistribute_table() on \"%s\" first: it is distributed as its "
					 "parent is when it is attached.",
					 get_rel_name(child))));
}

/*
 * In PostgreSQL's order. One that isn't distributed yet follows its parent
 * (cluster/partitions.c), which nobody else has then. A default partition's shards keep
 * everybody out then, also who comes by the parent and has that shell alone.
 */
static void
lock_partition(DdlJob *job, Oid relid, Oid child, bool attach)
{
	Oid by_default = get_default_partition_oid(relid);
	bool shared = attach && dist_table(child) != NULL && !OidIsValid(by_default);

	if (!compat_owns_relation(relid, GetUserId()))
		return;
	lock_list_add(job, relid, shared ? ShareUpdateExclusiveLock : AccessExclusiveLock);
	lock_list_add(job, by_default, AccessExclusiveLock);
	if (dist_table(child) != NULL)
		lock_list_add(job, child, AccessExclusiveLock);
}

bool
partition_command_prepare(DdlJob *job, Oid relid, AlterTableCmd *command)
{
	PartitionCmd *partition = (PartitionCmd *) command->def;
	bool attach = command->subtype == AT_AttachPartition;
	Oid child;

	child = RangeVarGetRelid(partition->name, NoLock, true);
	if (!OidIsValid(child))
		return false;
	lock_partition(job, relid, child, attach);
	if (dist_table(child) == NULL)
		return false;
	job_add_table(job, relid);
	partition_indexes_note(job, relid);
	if (attach)
	{
		check_colocated(relid, child);
		rename_shared(job, relid, child, true);
	}
	job_add_shards(job, relid, job->stmt);
	if (!attach)
		rename_shared(job, relid, child, false);
	return true;
}
