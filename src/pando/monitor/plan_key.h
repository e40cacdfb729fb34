/*
 * plan_key.h: the value of the distribution column that a statement is about.
 */
#ifndef PANDO_MONITOR_PLAN_KEY_H
#define PANDO_MONITOR_PLAN_KEY_H

#include "pando/compat/compat.h"
#include "executor/execdesc.h"

#define PLAN_KEY_LENGTH 100

typedef struct PlanKey
{
	bool distributed;			/* it uses distributed tables */
	bool here;					/* of shards on this node, as PostgreSQL's own plan */
	int32 colocation;			/* if there is a key or schema */
	bool known;					/* `text` is the value */
	bool schema;				/* it is the name of a distributed schema instead */
	char text[PLAN_KEY_LENGTH]; /* padded with zeros */
} PlanKey;

/* Looks at a statement that has started. */
extern void plan_key(const QueryDesc *query, PlanKey *key);

#endif
