/*
 * partitions.c: partitioned tables and their partitions are distributed together.
 *
 * Each partition is a distributed table of its parent's colocation group. On a node the
 * shard of the parent is a partitioned table, to which the shards of the partitions with
 * the same hash range are attached: the definition of a partition ends with ATTACH
 * PARTITION (sql/functions/definition.sql), for shells and for shards. So parents come
 * before their partitions, whatever is made.
 *
 * A table that becomes a partition of a distributed one by CREATE TABLE ... PARTITION OF
 * or ATTACH PARTITION is one of the coordinator first, for PostgreSQL to check what it
 * checks, and follows its parent in the same statement.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pando/base/hook.h"
#include "pando/base/name.h"
#include "pando/catalog/partition.h"
#include "pando/cluster/colocation.h"
#include "pando/cluster/convert.h"
#include "pando/cluster/local_table.h"
#include "pando/cluster/node_row.h"
#include "pando/cluster/partitions.h"
#include "pando/cluster/schema.h"
#include "pando/cluster/shards.h"
#include "pando/ddl/lead.h"
#include "pando/ddl/local_shell.h"
#include "pando/ddl/utility.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"

List *
partition_tree(Oid relid, LOCKMODE mode)
{
	return get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE
			   ? find_all_inheritors(relid, mode, NULL)
			   : list_make1_oid(relid);
}

void
partitions_refuse(Oid relid, const char *what)
{
	Oid root;

	if (!get_rel_relispartition(relid))
		return;
	root = table_root(relid);
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("cannot %s %s alone", what, name_qualified(relid)),
					errdetail("It is a partition of %s.", name_qualified(root)),
					errhint("Detach it first, or name %s, which its partitions follow.",
							name_qualified(root))));
}

List *
partitions_complete(List *relids)
{
	List *complete = NIL;

	foreach_oid(relid, relids) complete =
		list_concat_unique_oid(complete, partition_tree(table_root(relid), NoLock));
	return complete;
}

/* ------------------------------------------------------------------------------------
 * Distributing a tree
 */

/* A member of the tree is distributed as the root is. */
static TableSpec *
member_spec(const TableSpec *root, Relation rel)
{
	TableSpec *spec = palloc(sizeof(TableSpec));

	*spec = *root;
	spec->relid = RelationGetRelid(rel);
	/* Partitions may have their columns in another order. */
	if (root->kind == TABLE_HASH)
		table_check_key(rel, root->key_name, spec);
	return spec;
}

List *
partition_specs(TableSpec *root, List *together, LOCKMODE mode)
{
	List *relids = partition_tree(root->relid, mode);
	List *specs = NIL;

	together = list_concat_copy(together, relids);
	foreach_oid(relid, relids)
	{
		Relation rel = table_open(relid, NoLock);
		TableSpec *spec = root;

		if (relid != root->relid)
		{
			table_check_owner(relid);
			table_check_partition(rel);
			spec = member_spec(root, rel);
		}
		table_check_unique(rel, spec);
		table_check_foreign_keys(rel, spec, together);
		table_close(rel, NoLock);
		specs = lappend(specs, spec);
	}
	return specs;
}

void
partitions_distribute(List *specs, Oid colocated)
{
	TableSpec *first = linitial(specs);

	if (!OidIsValid(colocated))
		colocated = first->relid;
	foreach_ptr (TableSpec, spec, specs)
	{
		spec->colocation = first->colocation;
		if (spec->relid != colocated && spec->kind != TABLE_REFERENCE &&
			!OidIsValid(spec->model))
			spec->model = colocated;
		convert_distribute(spec, true);
	}
	foreach_ptr (TableSpec, spec, specs)
		convert_foreign_keys(spec, true);
}

/* ------------------------------------------------------------------------------------
 * New partitions
 */

/* How a table is distributed: the spec of another one that is to be like it. */
static TableSpec *
spec_like(const DistTable *table, Oid relid)
{
	TableSpec *spec = palloc0(sizeof(TableSpec));
	Relation rel = table_open(relid, NoLock);

	spec->relid = relid;
	spec->kind = table->kind;
	spec->colocation = table->colocation;
	spec->shard_count = table->nshards;
	spec->replication =
		table->repmodel == REPMODEL_COPIES ? table->shards[0].nplacements : 1;
	spec->model = table->kind == TABLE_REFERENCE ? InvalidOid : table->relid;
	table_check_partition(rel);
	if (table->kind == TABLE_HASH)
		table_check_key(rel, get_attname(table->relid, table->key, false), spec);
	table_close(rel, NoLock);
	return spec;
}

/* A table, with its partitions, that has become a partition of a managed local one. */
static void
local_partition_follow(Oid relid)
{
	List *relids = partition_tree(relid, AccessExclusiveLock);

	node_require_coordinator(); /* whose the managed tables are */
	node_rows_lock(RowShareLock);
	foreach_oid(each, relids)
	{
		Relation rel = table_open(each, NoLock);

		table_check_owner(each);
		table_check_ordinary(rel);
		table_close(rel, NoLock);
	}
	local_tables_manage(relids);
}

/* A table that may have become a partition of a distributed one follows it. */
static void
follow_parent(const RangeVar *relation)
{
	Oid relid;
	const DistTable *parent;

	CommandCounterIncrement();
	relid = RangeVarGetRelid(relation, NoLock, true);
	if (!OidIsValid(relid) || !get_rel_relispartition(relid))
		return;
	schema_check_partition(relid, get_partition_parent(relid, false));
	if (dist_table(relid) != NULL)
		return;
	parent = dist_table(get_partition_parent(relid, false));
	if (parent == NULL)
		return;
	if (parent->managed_local)
	{
		local_partition_follow(relid);
		return;
	}
	table_check_owner(relid);
	lead_change(parent->relid);
	node_rows_lock(RowShareLock);
	partitions_distribute(
		partition_specs(spec_like(parent, relid), NIL, AccessExclusiveLock),
		parent->relid);
}

/* The relation that a statement makes a partition; NULL for other statements. */
static const RangeVar *
partition_to_be(const Node *stmt)
{
	if (IsA(stmt, CreateStmt) && ((const CreateStmt *) stmt)->partbound != NULL)
		return ((const CreateStmt *) stmt)->relation;
	if (IsA(stmt, CreateForeignTableStmt) &&
		((const CreateForeignTableStmt *) stmt)->base.partbound != NULL)
		return ((const CreateForeignTableStmt *) stmt)->base.relation;
	if (IsA(stmt, AlterTableStmt))
	{
		foreach_ptr (AlterTableCmd, command, ((const AlterTableStmt *) stmt)->cmds)
		{
			if (command->subtype == AT_AttachPartition)
				return ((PartitionCmd *) command->def)->name;
		}
	}
	return NULL;
}

/* Other nodes' shells of a managed local parent come before itself (local_table.c). */
static void
lock_parent(const Node *stmt)
{
	const RangeVar *parent =
		IsA(stmt, AlterTableStmt) ? ((const AlterTableStmt *) stmt)->relation
		: IsA(stmt, CreateStmt)
			? linitial(((const CreateStmt *) stmt)->inhRelations)
			: linitial(((const CreateForeignTableStmt *) stmt)->base.inhRelations);
	Oid relid = RangeVarGetRelid(parent, NoLock, true);

	if (OidIsValid(relid) && is_managed_local(relid) &&
		compat_owns_relation(relid, GetUserId()))
		local_shells_lock(relid, AccessExclusiveLock);
}

static void
partitions_utility(PlannedStmt *pstmt, const char *query_string, bool read_only_tree,
				   ProcessUtilityContext context, ParamListInfo params,
				   QueryEnvironment *env, DestReceiver *dest, QueryCompletion *qc)
{
	/* The tree may be changed while the statement runs. */
	const RangeVar *relation = copyObject(partition_to_be(pstmt->utilityStmt));

	if (relation != NULL && utility_is_clients())
		lock_parent(pstmt->utilityStmt);
	hook_utility_next(UTILITY_PARTITIONS, pstmt, query_string, read_only_tree, context,
					  params, env, dest, qc);
	if (relation != NULL && utility_is_clients())
		follow_parent(relation);
}

void
partitions_init(void)
{
	hook_utility(UTILITY_PARTITIONS, partitions_utility);
}
