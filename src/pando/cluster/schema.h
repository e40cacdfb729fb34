/*
 * schema.h: distributed schemas.
 *
 * All tables of a distributed schema are single-shard tables of one colocation group,
 * which is the schema's alone: what a tenant has is together on one node, and moves
 * together. Tables that are made in the schema, or come to it, become such tables by
 * themselves; those that leave it become local ones.
 */
#ifndef PANDO_CLUSTER_SCHEMA_H
#define PANDO_CLUSTER_SCHEMA_H

#include "pando/compat/compat.h"

/* Makes a new table one of its schema's. False, and nothing done, if the schema is not
 * distributed, or the table a foreign one. */
extern bool schema_take_table(Oid relid);

/* Raises feature_not_supported for a table of a distributed schema, which can't be
 * distributed in another way: `what` is the verb. */
extern void schema_refuse_table(Oid relid, const char *what);

/* Raises if one of a partition and its parent is in a distributed schema where the other
 * is not. */
extern void schema_check_partition(Oid relid, Oid parent);

extern void schema_init(void);

#endif
