/*
 * system_columns.h: system columns in UPDATE and DELETE.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_SYSTEM_COLUMNS_H
#define PANDO_PLANNER_SYSTEM_COLUMNS_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/* System columns in WHERE and SET of an UPDATE or DELETE, and in ON CONFLICT. */
typedef struct SystemColumns
{
	bool tableoid;
	bool others;
} SystemColumns;

extern SystemColumns write_system_columns(Query *write);

/* The statement with the shell tables' Oids for tableoid, where a table has no children.
 */
extern Query *write_with_shell_oids(Query *write);

#endif
