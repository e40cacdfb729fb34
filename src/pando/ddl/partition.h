/*
 * partition.h: schema changes of partitioned tables, as far as they differ from others.
 */
#ifndef PANDO_DDL_PARTITION_H
#define PANDO_DDL_PARTITION_H

#include "pando/ddl/handler.h"

/*
 * ALTER TABLE parent ATTACH or DETACH PARTITION, the parent being distributed. Returns
 * false where PostgreSQL's own work is all there is: a table that is not distributed is
 * attached, and follows its parent afterwards (cluster/partitions.c).
 */
extern bool partition_command_prepare(DdlJob *job, Oid relid, AlterTableCmd *command);

/* Constraints of such types that parent and child both have, by name (List of char *). */
#define PARTITION_CHECKS_AND_KEYS "'c', 'f'"
#define PARTITION_KEYS "'f'"
extern List *partition_shared_constraints(Oid parent, Oid child, const char *types);

/* For job->changed(), of statements that may make indexes on partitions by themselves. */
extern void partition_indexes_changed(DdlJob *job);

/* For prepare() of such a statement: notes the indexes that are there. */
extern void partition_indexes_note(DdlJob *job, Oid relid);

/* An index of whichever kind. */
extern bool partition_relkind_is_index(char relkind);

#endif
