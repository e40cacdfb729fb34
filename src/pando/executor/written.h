/*
 * written.h: tables that have been changed since a statement began to watch them.
 *
 * Internal to the executor module.
 */
#ifndef PANDO_EXECUTOR_WRITTEN_H
#define PANDO_EXECUTOR_WRITTEN_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"
#include "nodes/plannodes.h"

typedef struct Written Written;

/* Watches the tables (Oid list, roots of partitions) until the current memory context
 * goes. */
extern Written *written_watch(List *tables);

/* A plan whose start says nothing: written_note() tells what it did. */
extern void written_start_own(Written *written, const PlannedStmt *plan);

/* The table's rows have been changed; a partition stands for its root. */
extern void written_note(Written *written, Oid relid);

/* One of the tables that has been changed, or InvalidOid. */
extern Oid written_table(const Written *written);

extern void written_init(void);

#endif
