/*
 * convert.h: an ordinary table becomes a distributed one, and back.
 *
 * All of it happens in the caller's transaction, on all nodes. The shell table is the
 * same relation before and after: views, indexes, grants, sequences and comments stay
 * with it.
 */
#ifndef PANDO_CLUSTER_CONVERT_H
#define PANDO_CLUSTER_CONVERT_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

#include "pando/cluster/table_check.h"

/*
 * Turns the table, whose shell is locked in ACCESS EXCLUSIVE mode and was checked, into
 * what the spec says: shell tables on the other nodes (unless they are there), metadata,
 * shards. Rows move to the shards. Foreign keys of the shards are left to
 * convert_foreign_keys(), which must be called when all tables that are converted
 * together are there.
 */
extern void convert_distribute(const TableSpec *spec, bool make_shells);

/* The same where shards with all rows are there already, as planned (shards.h). */
extern void convert_adopt(const TableSpec *spec, List *plans);

/* Their last step. */
extern void convert_foreign_keys(const TableSpec *spec, bool make_shells);

/*
 * The way back for tables that are converted together (Oid list): locks them on all
 * nodes, moves the rows into the shell tables here, drops the shards and the metadata.
 * Unless `keep_shells`, the other nodes' shell tables go, too, and colocation groups that
 * have got empty.
 */
extern void convert_undistribute(List *relids, bool keep_shells);

/* Steps of these, for tables without shards of their own. */

/* Makes the table's shell on all other nodes, after all that the table needs. */
extern void convert_make_shells(Oid relid, bool managed_local);

/* Drops the other nodes' shells; the tables must have left the metadata. */
extern void convert_drop_shells(List *relids);

/* Takes the table out of the metadata of all nodes. */
extern void convert_unregister(Oid relid);

#endif
