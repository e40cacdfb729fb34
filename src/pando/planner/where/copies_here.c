/*
 * copies_here.c: this node's own shards and copies of reference tables as plain tables.
 *
 * A query whose distributed tables are all here, those of one shard group and reference
 * tables, is PostgreSQL's: the relation OIDs are swapped for those of the tables here and
 * standard_planner does the rest. Their columns must have the shell table's numbers;
 * after a column was dropped on one before the other existed they don't, and then the
 * statement goes the way of text.
 *
 * The shell tables stay in the plan for permission checks and locks. The parser took
 * locks on them; the copies are locked here.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "nodes/makefuncs.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "pando/compat/rights.h"
#include "pando/metadata/node.h"
#include "pando/metadata/shard_relation.h"
#include "pando/planner/query/each_level.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/where/copies_here.h"

bool
first_copy_is_here(const DistTable *table)
{
	const Shard *shard = &table->shards[0];

	return shard->nplacements > 0 && shard->placements[0].group == node_local_group() &&
		   OidIsValid(shard_local_table(table, 0, AccessShareLock));
}

/* Which shard group sharded tables are read in; anchor NULL: none may be there. */
typedef struct LocalShards
{
	const DistTable *anchor;
	int index;
} LocalShards;

static bool
use_local_table(RangeTblEntry *rte, const LocalShards *shards)
{
	const DistTable *table;
	int index = 0;
	Oid relid;

	if (rte->rtekind != RTE_RELATION || rte->relid < FirstNormalObjectId)
		return true;
	table = dist_table(rte->relid);
	if (table == NULL || table->kind == TABLE_MANAGED_LOCAL)
		return true;
	if (table->kind != TABLE_REFERENCE)
	{
		if (shards->anchor == NULL || !dist_table_colocated(table, shards->anchor))
			return false;
		index = shards->index;
	}
	if (index >= table->nshards || !shard_is_local(table, index))
		return false;
	relid = shard_local_table(table, index, rte->rellockmode);
	if (!OidIsValid(relid))
		return false;

	if (rte->alias == NULL)
		rte->alias = makeAlias(rte->eref->aliasname, NIL);
	rte->relid = relid;
	/* Checked on the shell table, which is in the plan as well. */
	entry_rights_to_set(rte)->requiredPerms = 0;
	return true;
}

/*
 * To PostgreSQL a partition's whole row is one of the partitioned table's that is read,
 * which is another type than the shell's: it becomes a row of columns.
 */
static void
write_out_partitioned_rows(Query *level)
{
	for (Index varno = 1; varno <= list_length(level->rtable); varno++)
	{
		const RangeTblEntry *rte = rt_fetch(varno, level->rtable);

		if (rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_PARTITIONED_TABLE)
			level_fix_whole_rows(level, varno);
	}
}

static bool
lacks_local_tables(Query *level, void *shards)
{
	write_out_partitioned_rows(level);
	foreach_ptr (RangeTblEntry, rte, level->rtable)
	{
		if (!use_local_table(rte, shards))
			return true;
	}
	return false;
}

bool
query_use_local_copies(Query *query)
{
	LocalShards none = {0};

	query_give_shell_oids(query);
	return !query_each_level(query, lacks_local_tables, &none);
}

bool
query_use_local_shards(Query *query, const DistTable *anchor, int index)
{
	LocalShards shards = {.anchor = anchor, .index = index};

	return !query_each_level(query, lacks_local_tables, &shards);
}
