/*
 * table_functions.h: what the SQL functions for tables share with others that distribute.
 */
#ifndef PANDO_CLUSTER_TABLE_FUNCTIONS_H
#define PANDO_CLUSTER_TABLE_FUNCTIONS_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

/*
 * Before a change of how a table is distributed: the user owns it, this node leads the
 * change, and no node joins or leaves until the transaction ends. InvalidOid: a change of
 * several tables, whose owner was asked for, or of none yet.
 */
extern void table_change_begin(Oid relid);

/*
 * Makes the tables (Oid list, in the order of locks; partitions follow the tables that
 * they are of) single-shard tables of a colocation group that is there. They may refer to
 * each other.
 */
extern void tables_join_group(List *relids, int32 colocation);

#endif
