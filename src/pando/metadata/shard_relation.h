/*
 * shard_relation.h: from a plain table on this node to the shard it holds, and the other
 * way.
 */
#ifndef PANDO_METADATA_SHARD_RELATION_H
#define PANDO_METADATA_SHARD_RELATION_H

#include "pando/compat/compat.h"
#include "pando/metadata/table.h"
#include "storage/lockdefs.h"

/*
 * Is the relation a shard's table (whatever the placements say)? Then *shard_id and
 * *shell are set, each when given. Cheap for names that do not end in _<digits>.
 */
extern bool relation_is_shard(Oid relid, int64 *shard_id, Oid *shell);

/*
 * Qualified, quoted name of the table that holds the shard, on whichever node. (For a
 * managed local table, whose shard is the coordinator's table itself, its own name.)
 */
extern char *shard_table_name(const DistTable *table, int64 shard_id);

/* OID of the table that holds a shard on this node; InvalidOid when it has none, or when
 * another role than the shell's owner owns that table. */
extern Oid shard_relation(const DistTable *table, int64 shard_id);

/* The same; raises undefined_table when there is none. */
extern Oid shard_relation_require(const DistTable *table, int64 shard_id);

/* The role that owns it; InvalidOid when there is no such relation. */
extern Oid relation_owner(Oid relid);

/* Do its policies bind its owner, too? */
extern bool relation_forces_policies(Oid relid);

/* A role that its policies don't bind: its owner or, where they do, the extension's. */
extern Oid relation_role_past_policies(Oid relid);

/*
 * Does the shell's permission check hold for the relation? True for shards that the
 * shell's owner owns. A managed local table is asked itself: it may be a foreign one,
 * which is reached as the role that the plan asks.
 */
extern bool relation_has_shell_rights(Oid relid);

/* Has this node an active placement of the shard group? */
extern bool shard_is_local(const DistTable *table, int index);

/*
 * OID of this node's table of the shard group, locked in that mode, if its columns have
 * the same numbers, names and types as the shell table's, so that it can stand in for
 * that one in a Query; else InvalidOid. The shell table must be locked.
 */
extern Oid shard_local_table(const DistTable *table, int index, LOCKMODE mode);

/* The number after the last underscore of a name; 0 when there is none. */
extern int64 shard_id_of_name(const char *name);

#endif
