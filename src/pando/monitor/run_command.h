/*
 * run_command.h: statements run on nodes for their text result, one by one, errors and
 * all.
 *
 * Unlike a query's tasks these are no part of the client's transaction: each is its own
 * transaction, on a fresh session to the node with the node's own settings, as the
 * session user. Only where the client's transaction has already written to the node, or
 * (for this node) is a transaction block, does the statement run inside it, in a
 * subtransaction: elsewhere it would not see what was written, or wait for the client's
 * own locks.
 */
#ifndef PANDO_MONITOR_RUN_COMMAND_H
#define PANDO_MONITOR_RUN_COMMAND_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"
#include "pando/remote/session.h"

typedef struct Command
{
	NodeAddress address;
	const char *sql;

	/* Set by run_commands(). */
	bool success;
	bool unreachable; /* the node could not be reached or was lost */
	char *result; /* first column of the first row, or the command's tag; error text */
} Command;

/*
 * Runs a List of Command *; with `parallel`, nodes work at the same time (one node always
 * runs its commands in order). Raises only for reasons of this backend.
 */
extern void run_commands_on_nodes(List *commands, bool parallel);

#endif
