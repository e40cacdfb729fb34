/*
 * partitions.h: partitioned tables and their partitions are distributed together.
 */
#ifndef PANDO_CLUSTER_PARTITIONS_H
#define PANDO_CLUSTER_PARTITIONS_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"

#include "pando/cluster/table_check.h"

/* The table and its partitions of all levels, locked, parents first (Oid list). */
extern List *partition_tree(Oid relid, LOCKMODE mode);

/*
 * The specs (TableSpec *) of a table that is to be distributed and of all its partitions,
 * parents first, all checks done. Locks the partitions. `together`: other tables that are
 * distributed along with them (Oid list, may have these as well).
 */
extern List *partition_specs(TableSpec *root, List *together, LOCKMODE mode);

/* Distributes those tables; `colocated` is one of the group, InvalidOid: the first is. */
extern void partitions_distribute(List *specs, Oid colocated);

/* Adds to tables those that can't be distributed otherwise: the rest of their trees. */
extern List *partitions_complete(List *relids);

/* Raises feature_not_supported for a partition: only its whole tree can `what`. */
extern void partitions_refuse(Oid relid, const char *what);

extern void partitions_init(void);

#endif
