/*
 * row_lookup.h: finds rows of its child by values of an outer query.
 *
 * Internal to the executor module.
 */
#ifndef PANDO_EXECUTOR_ROW_LOOKUP_H
#define PANDO_EXECUTOR_ROW_LOOKUP_H

#include "pando/compat/compat.h"

/* Once, when the library is loaded. */
extern void row_lookup_register(void);

#endif
