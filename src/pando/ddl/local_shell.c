/*
 * local_shell.c: other nodes' shells of managed local tables (see local_shell.h).
 *
 * A shell has what it takes to plan a statement and send it to the table: columns with
 * their defaults, owner, privileges, indexes, unique and check constraints. All else is
 * the table's alone, on the coordinator, for there every statement ends up. So the shell
 * of a foreign table is an ordinary table, and the foreign server is reached from the
 * coordinator alone, by the role that asks.
 */
#include "pando/compat/compat.h"

#include "catalog/namespace.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "pando/base/name.h"
#include "pando/ddl/local_shell.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

/*
 * A statement on another node locks its shell first and the table afterwards, from its
 * session here. So does this, or the two would deadlock.
 */
void
local_shells_lock(Oid relid, LOCKMODE mode)
{
	List *nodes = node_list(NODES_OTHER);
	StringInfoData sql;

	LockRelationOid(relid, ShareUpdateExclusiveLock);
	if (nodes == NIL)
		return;
	initStringInfo(&sql);
	foreach_oid(each, find_all_inheritors(relid, NoLock, NULL))
	{
		if (dist_table(each) != NULL)
			appendStringInfo(&sql,
							 "SELECT pando.table_lock(%s::pg_catalog.regclass, '%s');",
							 quote_literal_cstr(name_qualified(each)),
							 mode == ExclusiveLock ? "EXCLUSIVE" : "ACCESS EXCLUSIVE");
	}
	xact_settle_past();
	xact_run_on_nodes(nodes, sql.data);
}

void
local_shells_lock_dropped(const DropStmt *stmt)
{
	if (stmt->removeType != OBJECT_TABLE && stmt->removeType != OBJECT_FOREIGN_TABLE)
		return;
	foreach_ptr (List, names, stmt->objects)
	{
		Oid relid = RangeVarGetRelid(makeRangeVarFromNameList(names), NoLock, true);
		const DistTable *table = OidIsValid(relid) ? dist_table(relid) : NULL;

		if (table != NULL && table->kind == TABLE_MANAGED_LOCAL &&
			compat_owns_relation(relid, GetUserId()))
			local_shells_lock(relid, AccessExclusiveLock);
	}
}

/* ------------------------------------------------------------------------------------
 * ALTER TABLE, RENAME
 */

static const AlterTableType kept[] = {
	AT_AddColumn,	AT_DropColumn,	 AT_AlterColumnType, AT_ColumnDefault,
	AT_SetNotNull,	AT_DropNotNull,	 AT_DropExpression,	 AT_AddIdentity,
	AT_SetIdentity, AT_DropIdentity, AT_AddConstraint,	 AT_DropConstraint,
	AT_ChangeOwner, AT_AddOf,		 AT_DropOf,
};

static bool
is_foreign_key(Node *constraint)
{
	return constraint != NULL && IsA(constraint, Constraint) &&
		   ((Constraint *) constraint)->contype == CONSTR_FOREIGN;
}

/* A column's constraints without foreign keys, and the attributes that belong to them. */
static List *
without_foreign_keys(List *constraints)
{
	List *rest = NIL;
	bool skipping = false;

	foreach_ptr (Node, constraint, constraints)
	{
		ConstrType type = ((Constraint *) constraint)->contype;
		bool attribute = type == CONSTR_ATTR_DEFERRABLE ||
						 type == CONSTR_ATTR_NOT_DEFERRABLE ||
						 type == CONSTR_ATTR_DEFERRED || type == CONSTR_ATTR_IMMEDIATE;

		skipping = is_foreign_key(constraint) || (skipping && attribute);
		if (!skipping)
			rest = lappend(rest, constraint);
	}
	return rest;
}

void
local_shell_keep_commands(AlterTableStmt *stmt)
{
	List *rest = NIL;

	foreach_ptr (AlterTableCmd, command, stmt->cmds)
	{
		bool keep = false;

		for (int i = 0; i < lengthof(kept); i++)
			keep = keep || command->subtype == kept[i];
		if (!keep ||
			(command->subtype == AT_AddConstraint && is_foreign_key(command->def)))
			continue;
		if (command->subtype == AT_AddColumn)
		{
			ColumnDef *column = (ColumnDef *) command->def;

			column->constraints = without_foreign_keys(column->constraints);
			column->fdwoptions = NIL;
		}
		else if (command->subtype == AT_DropConstraint)
			command->missing_ok = true;
		rest = lappend(rest, command);
	}
	stmt->cmds = rest;
	local_shell_kind(&stmt->objtype);
}

void
local_shell_kind(ObjectType *type)
{
	if (*type == OBJECT_FOREIGN_TABLE)
		*type = OBJECT_TABLE;
}

bool
local_shell_has_renamed(Oid relid, const RenameStmt *stmt)
{
	switch (stmt->renameType)
	{
		case OBJECT_TABCONSTRAINT:
			return OidIsValid(get_relation_constraint_oid(relid, stmt->subname, true));
		case OBJECT_POLICY:
		case OBJECT_TRIGGER:
		case OBJECT_RULE:
			return false;
		default:
			return true;
	}
}
