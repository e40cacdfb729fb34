/*
 * counter.h: counts of what a server does per database, in shared memory.
 */
#ifndef PANDO_BASE_COUNTER_H
#define PANDO_BASE_COUNTER_H

#include "pando/compat/compat.h"

typedef enum Counter
{
	COUNTER_CONNECTION_SUCCEEDED, /* sessions to nodes that were opened */
	COUNTER_CONNECTION_FAILED,
	COUNTER_CONNECTION_REUSED, /* taken from the backend's pool instead */
	COUNTER_QUERY_SINGLE,	   /* statements that ran as one task */
	COUNTER_QUERY_MULTI,	   /* as several */
	NCOUNTERS
} Counter;

/* citus.enable_stat_counters */
extern bool counter_enabled;

/* Asks for shared memory and defines the setting; called from base_init only. */
extern void counter_init(void);

/* Counts one for the present database. Raises nothing, waits for nothing after the first
 * call. */
extern void counter_add_slow(Counter counter);

static inline void
counter_add(Counter counter)
{
	if (counter_enabled)
		counter_add_slow(counter);
}

#endif
