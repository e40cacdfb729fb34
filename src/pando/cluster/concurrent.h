/*
 * concurrent.h: a table of this node becomes a distributed one while it is in use.
 */
#ifndef PANDO_CLUSTER_CONCURRENT_H
#define PANDO_CLUSTER_CONCURRENT_H

#include "pando/compat/compat.h"

#include "pando/cluster/table_check.h"

/*
 * Distributes the table, with its partitions, by `column` (NULL: one shard) as
 * create_distributed_table() does; `asked` says which table, of what kind and with how
 * many shards (0: the default), `with` is colocate_with. Reads go on, and writes, but for
 * the switch. Raises where that can't be, also in a transaction that has written.
 */
extern void concurrent_distribute(const TableSpec *asked, const char *column,
								  const char *with);

#endif
