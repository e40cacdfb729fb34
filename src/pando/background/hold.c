/*
 * hold.c: maintenance workers step aside for commands that need a database for
 * themselves.
 *
 * DROP DATABASE, CREATE DATABASE with it as template, ALTER DATABASE ... RENAME and SET
 * TABLESPACE fail while another process is connected to the database. Its worker is ended
 * first and comes back when the command is over, if the database is still there.
 */
#include "pando/compat/compat.h"

#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"

#include "pando/background/worker_state.h"
#include "pando/base/hook.h"

static const char *
template_of(CreatedbStmt *statement)
{
	ListCell *cell;

	foreach (cell, statement->options)
	{
		DefElem *option = lfirst(cell);

		if (strcmp(option->defname, "template") == 0 && option->arg != NULL)
			return defGetString(option);
	}
	return "template1";
}

static bool
sets_tablespace(AlterDatabaseStmt *statement)
{
	ListCell *cell;

	foreach (cell, statement->options)
	{
		DefElem *option = lfirst(cell);

		if (strcmp(option->defname, "tablespace") == 0)
			return true;
	}
	return false;
}

/* The database that the statement needs for itself; NULL: none. */
static const char *
database_needed(Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_DropdbStmt:
			return ((DropdbStmt *) statement)->dbname;
		case T_CreatedbStmt:
			return template_of((CreatedbStmt *) statement);
		case T_AlterDatabaseStmt:
			return sets_tablespace((AlterDatabaseStmt *) statement)
					   ? ((AlterDatabaseStmt *) statement)->dbname
					   : NULL;
		case T_RenameStmt:
			return ((RenameStmt *) statement)->renameType == OBJECT_DATABASE
					   ? ((RenameStmt *) statement)->subname
					   : NULL;
		default:
			return NULL;
	}
}

static void
hold_utility(PlannedStmt *pstmt, const char *text, bool read_only_tree,
			 ProcessUtilityContext context, ParamListInfo params,
			 QueryEnvironment *environment, DestReceiver *dest, QueryCompletion *qc)
{
	const char *name = database_needed(pstmt->utilityStmt);
	Oid database = name ? get_database_oid(name, true) : InvalidOid;

	if (!OidIsValid(database))
	{
		hook_utility_next(UTILITY_HOLD, pstmt, text, read_only_tree, context, params,
						  environment, dest, qc);
		return;
	}
	PG_TRY();
	{
		worker_hold(database);
		hook_utility_next(UTILITY_HOLD, pstmt, text, read_only_tree, context, params,
						  environment, dest, qc);
	}
	PG_FINALLY();
	{
		worker_release(database);
	}
	PG_END_TRY();
}

void
hold_init(void)
{
	hook_utility(UTILITY_HOLD, hold_utility);
}
