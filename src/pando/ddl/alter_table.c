/*
 * alter_table.c: ALTER TABLE and ALTER INDEX, RENAME and SET SCHEMA of tables and what
 * belongs to them.
 *
 * Whatever PostgreSQL can do to one relation is done to the shell and to each shard. The
 * exceptions are rows of a table, sub-commands that tie the table to another one, and
 * what would move rows (key_type.c).
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "access/table.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/catalog/partition.h"
#include "pando/ddl/column_default.h"
#include "pando/ddl/constraint.h"
#include "pando/ddl/dependency.h"
#include "pando/ddl/detach.h"
#include "pando/ddl/key_type.h"
#include "pando/ddl/kind.h"
#include "pando/ddl/local_key.h"
#include "pando/ddl/local_shell.h"
#include "pando/ddl/sequence.h"
#include "pando/ddl/partition.h"
#include "pando/ddl/shard_ddl.h"
#include "pando/ddl/statements.h"
#include "pando/ddl/typed_table.h"
#include "pando/ddl/view.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"

/* The distributed table that a relation is or, if it is an index, belongs to. */
static Oid
table_of_relation(RangeVar *relation)
{
	Oid relid = RangeVarGetRelid(relation, NoLock, true);

	if (OidIsValid(relid) && partition_relkind_is_index(get_rel_relkind(relid)))
		relid = IndexGetRelation(relid, true);
	return job_table_has_shards(relid) ? relid : InvalidOid;
}

/* ------------------------------------------------------------------------------------
 * ALTER TABLE
 */

/* What a shard can't follow, and why. */
static const struct
{
	AlterTableType subtype;
	const char *refused;
} limits[] = {
	{AT_AddInherit, "INHERIT"},
	{AT_DropInherit, "NO INHERIT"},
};

static void
refuse_command(const char *what)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("%s is not supported on distributed tables", what),
					errdetail("A query of the parent table would have to look into the "
							  "shards of its children, which may be on other nodes."),
					errhint("Use a partitioned table.")));
}

static void
identity_before_type(Oid relid, const char *column, const TypeName *type)
{
	foreach_ptr (
		char, seqid,
		sql_column("SELECT seq FROM pando.table_sequences(%u) s JOIN pg_attribute a ON "
				   "a.attrelid = %u AND a.attnum = s.attnum WHERE s.kind = 'i' AND "
				   "a.attname = %s",
				   relid, relid, quote_literal_cstr(column)))
		sequence_before_type(atooid(seqid), type);
}

static void
alter_prepare_command(DdlJob *job, Oid relid, AlterTableCmd *command)
{
	for (int i = 0; i < lengthof(limits); i++)
	{
		if (limits[i].subtype == command->subtype)
			refuse_command(limits[i].refused);
	}
	key_type_check(relid, command);

	if (command->subtype == AT_AlterColumnType && !node_is_coordinator())
		identity_before_type(relid, command->name,
							 ((ColumnDef *) command->def)->typeName);
	if (command->subtype == AT_AddConstraint && command->def != NULL)
		constraint_prepare(job, relid, (Constraint *) command->def, NULL);
	else if (command->subtype == AT_AddColumn)
	{
		ColumnDef *column = (ColumnDef *) command->def;

		foreach_ptr (Constraint, constraint, column->constraints)
			constraint_prepare(job, relid, constraint, column->colname);
	}
}

/* What moves an identity's sequence is for the coordinator's; maybe nothing remains. */
static void
alter_keep_own_positions(DdlJob *job, AlterTableStmt *stmt)
{
	List *kept = NIL;

	foreach_ptr (AlterTableCmd, command, stmt->cmds)
	{
		if (command->subtype == AT_SetIdentity)
		{
			command->def = (Node *) sequence_options_of_node((List *) command->def);
			if (command->def == NULL)
				continue;
		}
		kept = lappend(kept, command);
	}
	stmt->cmds = kept;
	job->concerned = kept != NIL || !job->applying;
}

/* The relation is no distributed table: a sequence of one, or a type all nodes have? */
static void
prepare_other_relation(DdlJob *job, RangeVar *relation)
{
	Oid relid = RangeVarGetRelid(relation, NoLock, true);

	if (!OidIsValid(relid))
		return;
	if (get_rel_relkind(relid) == RELKIND_SEQUENCE)
		job->concerned |= OidIsValid(sequence_distributed_table(relid));
	else if (kind_is_view(relid))
		view_prepare(job, relation);
	else if (partition_relkind_is_index(get_rel_relkind(relid)))
		job->concerned |= view_is_everywhere(IndexGetRelation(relid, true));
	else if (get_rel_relkind(relid) == RELKIND_COMPOSITE_TYPE)
	{
		object_prepare(job);
		typed_tables_prepare(job, relid);
	}
}

/* ATTACH and DETACH PARTITION, which come alone. */
static bool
is_partition_command(const AlterTableStmt *stmt)
{
	AlterTableType subtype = linitial_node(AlterTableCmd, stmt->cmds)->subtype;

	return subtype == AT_DetachPartition ||
		   (subtype == AT_AttachPartition && stmt->objtype == OBJECT_TABLE);
}

void
alter_table_prepare(DdlJob *job)
{
	AlterTableStmt *stmt = (AlterTableStmt *) job->stmt;
	Oid relid = table_of_relation(stmt->relation);
	AlterTableStmt *afterwards;
	Node *for_shards;

	if (OidIsValid(relid) && detach_is_in_steps(job->stmt))
	{
		detach_prepare(job, relid);
		return;
	}
	if (OidIsValid(relid) && is_partition_command(stmt))
	{
		(void) partition_command_prepare(job, relid, linitial(stmt->cmds));
		return;
	}
	if (OidIsValid(relid))
	{
		job_add_table(job, relid);
		partition_indexes_note(job, relid);
		foreach_ptr (AlterTableCmd, command, stmt->cmds)
			alter_prepare_command(job, relid, command);
		if (job->applying && dist_table_require(relid)->managed_local)
			local_shell_keep_commands(stmt);
		if (!node_is_coordinator())
			alter_keep_own_positions(job, stmt);
		for_shards = column_default_fix(job, relid, stmt, &afterwards);
		if (attached_commands_for_shards(relid, (AlterTableStmt *) for_shards))
			job_add_shards(job, relid, for_shards);
		if (afterwards != NULL)
			job_add_shards(job, relid, (Node *) afterwards);
		return;
	}
	prepare_other_relation(job, stmt->relation);
	foreach_ptr (AlterTableCmd, command, stmt->cmds)
	{
		RangeVar *other = NULL;

		if (command->subtype == AT_AttachPartition)
			other = ((PartitionCmd *) command->def)->name;
		else if (command->subtype == AT_AddInherit)
			other = (RangeVar *) command->def;
		else if (command->subtype == AT_AddConstraint)
			constraint_check_local(stmt->relation, (Constraint *) command->def);
		else if (command->subtype == AT_AddColumn)
			column_check_local(stmt->relation, (ColumnDef *) command->def);
		if (!OidIsValid(job_distributed_table(other)))
			continue;
		if (command->subtype == AT_AddInherit)
			refuse_command("INHERIT");
		job_refuse(job, "ATTACH PARTITION", NULL);
	}
}

void
alter_table_changed(DdlJob *job)
{
	AlterTableStmt *stmt = (AlterTableStmt *) job->stmt;
	ObjectAddress address;

	if (stmt->objtype == OBJECT_TYPE)
		key_type_changed(typed_tables_of(RangeVarGetRelid(stmt->relation, NoLock, true)));
	if (job->tables == NIL)
		return;
	key_type_changed(job->tables);
	partition_indexes_changed(job);
	trigger_follow_keys(linitial_oid(job->tables));
	trigger_tell_parents(linitial_oid(job->tables));
	if (job->applying)
		return;
	foreach_ptr (AlterTableCmd, command, stmt->cmds)
	{
		if (command->subtype != AT_ColumnDefault && command->subtype != AT_AddColumn)
			continue;
		ObjectAddressSet(address, RelationRelationId, linitial_oid(job->tables));
		dependency_ensure(&address);
		/* a new serial column makes its sequence by itself */
		sequence_send_used(address.objectId, command->subtype == AT_ColumnDefault);
		return;
	}
}

void
alter_table_shell(DdlJob *job)
{
	if (detach_is_in_steps(job->stmt))
		detach_shell(job);
	else
		job_run_shell(job);
}

void
alter_table_finish(DdlJob *job)
{
	Oid relid = job->tables != NIL ? linitial_oid(job->tables) : InvalidOid;

	if (!OidIsValid(relid))
		return;
	if (detach_is_in_steps(job->stmt))
	{
		detach_finish(job);
		return;
	}
	if (!node_is_coordinator())
		sequence_fit_table(relid);
	if (!job->applying)
	{
		if (dist_table_require(relid)->managed_local)
			local_keys_follow(relid);
		columns_fill(job, relid);
	}
}

/* ------------------------------------------------------------------------------------
 * RENAME, SET SCHEMA
 */

void
rename_prepare(DdlJob *job)
{
	RenameStmt *stmt = (RenameStmt *) job->stmt;
	Oid relid = table_of_relation(stmt->relation);

	if (OidIsValid(relid))
	{
		if (dist_table_require(relid)->managed_local &&
			(job->applying || node_is_coordinator()) &&
			!local_shell_has_renamed(relid, stmt))
			return;
		job_add_table(job, relid);
		if (job->applying && dist_table_require(relid)->managed_local)
		{
			local_shell_kind(&stmt->renameType);
			local_shell_kind(&stmt->relationType);
		}
		if (stmt->renameType == OBJECT_RULE ||
			(stmt->renameType == OBJECT_TRIGGER &&
			 !trigger_is_on_shards(relid, stmt->subname)))
			return;
		job_add_shards(job, relid, job->stmt);
		return;
	}
	prepare_other_relation(job, stmt->relation);
}

/* Was it the tables' distribution column? Its name is in the metadata. */
static void
rename_key(const RenameStmt *stmt, List *relids)
{
	foreach_oid(relid, relids)
	{
		PartitionRow *row = catalog_partition_by_relid(relid);

		if (row == NULL || row->partkey == NULL ||
			strcmp(row->partkey, stmt->subname) != 0)
			continue;
		row->partkey = stmt->newname;
		catalog_partition_update(row);
	}
	CommandCounterIncrement();
}

void
rename_changed(DdlJob *job)
{
	RenameStmt *stmt = (RenameStmt *) job->stmt;

	if (stmt->renameType == OBJECT_COLUMN && job->tables != NIL)
		rename_key(stmt, find_all_inheritors(linitial_oid(job->tables), NoLock, NULL));
}

/* An attribute of a composite type, and with it a column of the tables of that type. */
void
rename_attribute_prepare(DdlJob *job)
{
	object_prepare(job);
	typed_tables_prepare(
		job, RangeVarGetRelid(((RenameStmt *) job->stmt)->relation, NoLock, true));
}

void
rename_attribute_changed(DdlJob *job)
{
	RenameStmt *stmt = (RenameStmt *) job->stmt;

	rename_key(stmt, typed_tables_of(RangeVarGetRelid(stmt->relation, NoLock, true)));
}

/* A constraint's twin (local_key.c) has its name. */
void
rename_finish(DdlJob *job)
{
	Oid relid = job->tables != NIL ? linitial_oid(job->tables) : InvalidOid;

	if (!job->applying && OidIsValid(relid) && dist_table_require(relid)->managed_local)
		local_keys_follow(relid);
}

void
set_schema_prepare(DdlJob *job)
{
	AlterObjectSchemaStmt *stmt = (AlterObjectSchemaStmt *) job->stmt;
	Oid relid = RangeVarGetRelid(stmt->relation, NoLock, true);

	if (OidIsValid(relid) && get_rel_relkind(relid) == RELKIND_SEQUENCE)
		job->concerned = OidIsValid(sequence_distributed_table(relid));
	else if (OidIsValid(relid) && get_rel_relkind(relid) == RELKIND_COMPOSITE_TYPE)
		object_prepare(job);
	else if (OidIsValid(relid) && kind_is_view(relid))
		view_prepare(job, stmt->relation);
	else
	{
		job_one_table(job, stmt->relation);
		if (job->applying)
			local_shell_kind(&stmt->objectType);
	}
}
