/*
 * lock_rows.h: the plan node "Citus Lock Rows".
 *
 * Internal to the executor module.
 */
#ifndef PANDO_EXECUTOR_LOCK_ROWS_H
#define PANDO_EXECUTOR_LOCK_ROWS_H

#include "pando/compat/compat.h"

#include "pando/metadata/node.h"

extern void lock_rows_register(void);

/* The value of a query that locks rows on a node, as text; NULL: there is none. With the
 * rights of these roles too (transaction/access.h). */
extern char *value_with_locks(const DistNode *node, const char *sql, List *roles);

#endif
