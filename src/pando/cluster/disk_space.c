/*
 * disk_space.c: is there room for a copy of shards on their new nodes?
 *
 * A look before work begins, not a promise: indexes are built on the new nodes, which
 * takes more for a while, and others write. A disk that fills all the same ends the copy
 * with PostgreSQL's error, and nothing is left of it.
 */
#include "pando/compat/compat.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/cluster/disk_space.h"
#include "pando/metadata/shard_relation.h"
#include "pando/transaction/xact.h"

static bool check_space = true;
static double desired_percent = 10;

void
disk_space_init(void)
{
	DefineCustomBoolVariable(
		"citus.check_available_space_before_move",
		"Looks whether the disk of a shard's new node has room for it.", NULL,
		&check_space, true, PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomRealVariable("citus.desired_percent_disk_available_after_move",
							 "Part of a node's disk that is to be free when shards have "
							 "come to it, in percent.",
							 NULL, &desired_percent, 10, 0, 100, PGC_SUSET, 0, NULL, NULL,
							 NULL);
}

static char *
ask(const DistNode *node, const char *sql)
{
	return node->group == node_local_group() ? sql_value("%s", sql)
											 : xact_value_from_node(node, sql);
}

/* Bytes of the group on its source, with indexes and TOAST. */
static int64
group_bytes(const GroupCopy *copy)
{
	StringInfoData sql;
	List *names = NIL;
	char *bytes;

	initStringInfo(&sql);
	foreach_ptr (GroupMember, member, copy->members)
		names = lappend(names, copy->local
								   ? member->name
								   : shard_table_name(dist_table_require(member->relid),
													  member->shard_id));
	appendStringInfoString(&sql,
						   "SELECT pg_catalog.sum(pg_catalog.pg_total_relation_size("
						   "pg_catalog.to_regclass(name))) FROM pg_catalog.unnest(");
	sql_append_text_array(&sql, names);
	appendStringInfoString(&sql, ") name");
	bytes = ask(copy->source, sql.data);
	return bytes != NULL ? pg_strtoint64(bytes) : 0;
}

static double
hash_width(const CopyTarget *target)
{
	return target->range != NULL ? (double) target->range->max - target->range->min + 1
								 : 1;
}

/* The part of the rows that comes to the node. */
static double
share_of(const GroupCopy *copy, const DistNode *node)
{
	double all = 0;
	double its = 0;

	foreach_ptr (CopyTarget, target, copy->targets)
	{
		all += hash_width(target);
		if (target->node == node)
			its += hash_width(target);
	}
	return its / all;
}

static void
require_on(const DistNode *node, double bytes)
{
	char *here = ask(node, "SELECT pg_catalog.concat_ws(' ', available_disk_size, "
						   "total_disk_size) FROM "
						   "pg_catalog.citus_local_disk_space_stats()");
	char *end;
	double available = strtod(here, &end);
	double desired = strtod(end, NULL) * desired_percent / 100;

	if (available - bytes < desired)
		ereport(
			ERROR,
			(errcode(ERRCODE_DISK_FULL),
			 errmsg("not enough room on the disk of node %s:%d", node->host, node->port),
			 errdetail("%.0f bytes of shards would leave %.0f bytes available, "
					   "%.0f are desired.",
					   bytes, available - bytes, desired),
			 errhint("Consider lowering "
					 "citus.desired_percent_disk_available_after_move.")));
}

void
disk_space_require(const GroupCopy *copy)
{
	int64 bytes;

	if (!check_space)
		return;
	bytes = group_bytes(copy);
	foreach_ptr (DistNode, node, group_copy_nodes(copy))
		require_on(node, bytes * share_of(copy, node));
}
