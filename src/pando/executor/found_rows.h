/*
 * found_rows.h: rows that a statement has found and will change where they are.
 *
 * Internal to the executor module.
 */
#ifndef PANDO_EXECUTOR_FOUND_ROWS_H
#define PANDO_EXECUTOR_FOUND_ROWS_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

/*
 * Runs it while no function may change rows of the tables (Oid list, NIL: of none), nor
 * of their partitions: a statement that would raises
 * ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION.
 */
extern void found_rows_keep(List *tables, void (*run)(void *arg), void *arg);

extern void found_rows_init(void);

#endif
