/*
 * write_rules.h: what holds for all writes.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_WRITE_RULES_H
#define PANDO_PLANNER_WRITE_RULES_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "pando/metadata/table.h"
#include "pando/planner/where/distribution.h"

/* Does each shard, or each copy of the table, find all that the statement needs? */
extern bool can_stand_on_shards(Query *query, const DistTable *target,
								const Distribution *distribution);

/* Does each row of the table exist more than once? */
extern bool table_has_copies(const DistTable *table);

/*
 * Does no assignment of the UPDATE, or of ON CONFLICT DO UPDATE, change the distribution
 * column? keys: the values that its rows are known to have, or NIL.
 */
extern bool keeps_key(const Query *query, const DistTable *target, List *keys);

/* Raises an error unless that is so. */
extern void refuse_key_change(const Query *query, const DistTable *target, List *keys);

/* Raises an error if the text of a write to copies could give them different rows. */
extern void refuse_varying_copies(const DistTable *target, Query *query);

#endif
