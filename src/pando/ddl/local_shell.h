/*
 * local_shell.h: other nodes' shells of managed local tables, and how they follow changes
 * of the table.
 */
#ifndef PANDO_DDL_LOCAL_SHELL_H
#define PANDO_DDL_LOCAL_SHELL_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "storage/lockdefs.h"

/*
 * Locks the other nodes' shells of a managed local table, EXCLUSIVE or ACCESS EXCLUSIVE,
 * before its definition changes here. Others who would do the same wait, meanwhile the
 * table is read and written. The current user must own the table.
 */
extern void local_shells_lock(Oid relid, LOCKMODE mode);

/* The same for those that a DROP TABLE or DROP FOREIGN TABLE names. */
extern void local_shells_lock_dropped(const DropStmt *stmt);

/*
 * On another node: leaves out of the ALTER TABLE what shells don't have. Maybe nothing
 * remains.
 */
extern void local_shell_keep_commands(AlterTableStmt *stmt);

/* On another node: the shell of a foreign table is an ordinary one, and so named. */
extern void local_shell_kind(ObjectType *type);

/* On another node: has the shell what the statement renames? */
extern bool local_shell_has_renamed(Oid relid, const RenameStmt *stmt);

#endif
