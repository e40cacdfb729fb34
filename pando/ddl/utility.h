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
#include "nodes/parsenodes.h"
#include "tcop/utility.h"

/* Installs the ProcessUtility hook; called from ddl_init only. */
extern void utility_init(void);

/*
 * Between these, statements of this backend are taken as they are: they come from the
 * propagation itself. Calls nest; an error ends them all.
 */
extern void utility_apply_enter(void);
extern void utility_apply_leave(void);
extern bool utility_is_applying(void);

/* Does this backend serve another node of the cluster? */
extern bool utility_is_internal(void);

#endif
