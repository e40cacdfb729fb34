/*
 * utility.h: the way of a utility statement through this module.
 *
 * Each kind of statement that can concern distributed objects is a row of a table
 * (handlers.c). The hook in utility.c finds the row, asks it which distributed tables the
 * statement is about, runs the statement on this node's shell tables through PostgreSQL,
 * sends it to the other nodes, and changes this node's shards.
 */
#ifndef PANDO_DDL_UTILITY_H
#define PANDO_DDL_UTILITY_H

#include "pando/compat/compat.h"
#include "fmgr.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"

/* Installs the ProcessUtility hook; called from ddl_init only. */
extern void utility_init(void);

/*
 * Run a raw statement, or SQL text, as it is: not to be propagated, for it comes from the
 * propagation itself. `source` is the text that the statement was parsed from.
 */
extern void utility_apply_statement(Node *stmt, const char *source,
									ProcessUtilityContext context);
extern void utility_apply_sql(const char *sql);

/* The statement as ProcessUtility() takes it. */
extern PlannedStmt *utility_wrap(Node *stmt);

/* The same of what the function runs in this backend. */
extern void utility_apply_call(void (*function)(void *arg), void *arg);

/* Is such a statement under way? */
extern bool utility_is_applying(void);

/* Does this backend serve another node of the cluster? */
extern bool utility_is_internal(void);

/*
 * Is what runs here no statement of this node's client, but a node's command or the
 * propagation's own? Nobody can pretend it. The first says cheaply when it can't be.
 */
extern bool utility_maybe_nodes_own(void);
extern bool utility_is_nodes_own(void);

/*
 * Does PostgreSQL change a shell, so that event triggers must be called as follows? The
 * function sees rows; with ddl_command_end all nodes have the statement before it runs.
 */
extern bool utility_is_in_shell(void);
extern Datum utility_call_event_trigger(PGFunction function, FunctionCallInfo fcinfo);

/* Is a statement a client's own, which is to have its effect on all nodes? */
extern bool utility_is_clients(void);

#endif
