/*
 * colocation.h: which colocation group a table joins.
 */
#ifndef PANDO_CLUSTER_COLOCATION_H
#define PANDO_CLUSTER_COLOCATION_H

#include "pando/compat/compat.h"

#include "pando/cluster/table_check.h"
#include "pando/metadata/table.h"

/* What colocate_with says. */
#define COLOCATE_DEFAULT "default"
#define COLOCATE_NONE "none"

/*
 * Fills in the group of a spec (kind and key are set, shard_count is 0 where the caller
 * leaves it open) after colocate_with: a table's name, or one of the words above. Locks
 * pg_dist_colocation, so that of two who create the first table of a kind the second
 * joins the first; and the model against shard moves. Raises if the named table does not
 * fit.
 */
extern void colocation_choose(TableSpec *spec, const char *colocate_with);

/* Joins the group of that number; the same lock. */
extern void colocation_join(TableSpec *spec, int32 colocation);

/* The one group of all reference tables. */
extern void colocation_choose_reference(TableSpec *spec);

/* Registers a new group of the spec on all nodes and numbers it; nothing if it is there.
 */
extern void colocation_register_new(TableSpec *spec);

/* Unregisters the group on all nodes if it has no table any more, and is no schema's. */
extern void colocation_drop_if_empty(int32 colocation);

/* Do the shards of two tables have the same hash ranges and the same nodes? */
extern bool colocation_lines_up(const DistTable *a, const DistTable *b);

/* Does no table join the group by default? */
extern bool colocation_is_private(int32 colocation);

#endif
