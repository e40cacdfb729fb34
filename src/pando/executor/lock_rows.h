/*
 * lock_rows.h: the plan node "Citus Lock Rows".
 *
 * Internal to the executor module.
 */
#ifndef PANDO_EXECUTOR_LOCK_ROWS_H
#define PANDO_EXECUTOR_LOCK_ROWS_H

#include "pando/compat/compat.h"

extern void lock_rows_register(void);

#endif
