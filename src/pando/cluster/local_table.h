/*
 * local_table.h: managed local tables: the coordinator's own tables, usable on all nodes.
 *
 * Nothing about the table itself changes, ever: not its rows, indexes, triggers or rules.
 * What is made or dropped is what other nodes know of it.
 */
#ifndef PANDO_CLUSTER_LOCAL_TABLE_H
#define PANDO_CLUSTER_LOCAL_TABLE_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

/* Is it one, and are we on the coordinator? */
extern bool is_managed_local(Oid relid);

/* The same of one that is the coordinator's, on another node. */
extern bool is_managed_elsewhere(Oid relid);

/*
 * Makes local tables, which the caller has checked and locked, managed ones: shells on
 * the other nodes, and metadata on all. Sorts the list, parents first.
 */
extern void local_tables_manage(List *relids);

/* The reverse, of a table and its partitions. The shells go, with what users have built
 * on them on their nodes. */
extern void local_table_release(Oid relid);

#endif
