/*
 * shell_size.c: how large a distributed table is, all shards together.
 *
 * A shell's file is empty, so PostgreSQL would take the table for an empty one. What
 * ANALYZE found is in the shell's pg_class row, and the planner is given that. Of a
 * table that was never analysed PostgreSQL looks at the size of the file; we ask the
 * nodes, seldom, for the sizes of the shards.
 */
#include "pando/compat/compat.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "optimizer/optimizer.h"
#include "optimizer/plancat.h"
#include "storage/bufpage.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "pando/base/debug_point.h"
#include "pando/base/name.h"
#include "pando/catalog/partition.h"
#include "pando/metadata/node.h"
#include "pando/metadata/shard_relation.h"
#include "pando/metadata/table.h"
#include "pando/planner/fragment/estimate.h"
#include "pando/statistics/shell_size.h"
#include "pando/transaction/xact.h"

/* For so long what the nodes said of a table without statistics is used again. */
#define SIZE_LIFETIME_MS 10000

/* So many nodes say enough for an estimate. */
#define ASKED_FOR_PLAN 32

/* Bytes of an index entry beside its values, and of a page those in use. */
#define INDEX_ENTRY_OVERHEAD 16
#define INDEX_PAGE_BYTES (BLCKSZ * 0.9)

/* ------------------------------------------------------------------------------------
 * Asking the nodes.
 */

/* The names of the table's shards on the group's node, as elements of an array. */
static void
append_shard_names(StringInfo sql, const DistTable *table, int32 group)
{
	GroupShards own = dist_table_in_group(table, group);

	if (table->kind == TABLE_MANAGED_LOCAL)
		return; /* it is its own shard */
	for (int i = 0; i < own.nshards; i++)
	{
		const Shard *shard = &table->shards[own.shards[i]];

		DEBUG_STEPS(1);
		appendStringInfo(sql, "%s%s", i > 0 ? ", " : "",
						 quote_literal_cstr(shard_table_name(table, shard->id)));
	}
}

static char *
sizes_command(List *relids, int32 group)
{
	StringInfoData sql;
	const char *separator = "";
	ListCell *cell;

	initStringInfo(&sql);
	appendStringInfoString(&sql,
						   "SELECT coalesce(pg_catalog.string_agg(pg_catalog.format('%s "
						   "%s %s', now, pages, tuples), ',' "
						   "ORDER BY n), '') FROM (VALUES ");
	foreach (cell, relids)
	{
		appendStringInfo(&sql, "%s(%d, ARRAY[", separator, foreach_current_index(cell));
		append_shard_names(&sql, dist_table_require(lfirst_oid(cell)), group);
		appendStringInfoString(&sql, "]::text[])");
		separator = ", ";
	}
	appendStringInfo(
		&sql,
		") AS t(n, names), LATERAL (SELECT coalesce(pg_catalog.sum(relpages), 0) AS "
		"pages, "
		"coalesce(pg_catalog.sum(greatest(reltuples, 0)), 0)::numeric AS tuples, "
		"coalesce(pg_catalog.sum(pg_catalog.pg_relation_size(oid)) / %d, 0)::bigint AS "
		"now FROM "
		"pg_catalog.pg_class "
		"WHERE oid IN (SELECT pg_catalog.to_regclass(name) FROM pg_catalog.unnest(names) "
		"AS "
		"name)) AS s",
		BLCKSZ);
	return sql.data;
}

/* Nodes that have shards of one of the tables. */
static List *
nodes_with_shards(List *relids)
{
	List *nodes = NIL;

	foreach_ptr (DistNode, node, node_list(NODES_ALL))
	{
		foreach_oid(relid, relids)
		{
			if (dist_table_in_group(dist_table_require(relid), node->group).nshards == 0)
				continue;
			nodes = lappend(nodes, node);
			break;
		}
	}
	return nodes;
}

/* `most` of them, evenly. */
static List *
some_nodes(List *nodes, int most)
{
	int count = list_length(nodes);
	List *some = NIL;

	if (count <= most)
		return nodes;
	for (int i = 0; i < most; i++)
		some = lappend(some, list_nth(nodes, (int64) i * count / most));
	return some;
}

/* Adds what a node says of each table, and how many shards that is about. */
static void
add_answer(List *relids, int32 group, char *answer, ShellSize *sizes, double *shards)
{
	ListCell *cell;

	if (answer == NULL)
		return;
	foreach (cell, relids)
	{
		int i = foreach_current_index(cell);

		if (*answer == '\0')
			return;
		sizes[i].pages += strtod(answer, &answer);
		sizes[i].pages_known += strtod(answer, &answer);
		sizes[i].tuples += strtod(answer, &answer);
		shards[i] +=
			dist_table_in_group(dist_table_require(lfirst_oid(cell)), group).nshards;
		if (*answer == ',')
			answer++;
	}
}

void
shell_sizes(List *relids, int most, ShellSize *sizes)
{
	List *nodes = some_nodes(nodes_with_shards(relids), most);
	double *shards = palloc0(sizeof(double) * list_length(relids));
	List *commands = NIL;
	ListCell *cell;
	ListCell *answer;

	foreach_ptr (const DistNode, node, nodes)
		commands = lappend(commands, sizes_command(relids, node->group));
	forboth(answer, xact_values_for_plan(nodes, commands), cell, nodes) add_answer(
		relids, ((DistNode *) lfirst(cell))->group, lfirst(answer), sizes, shards);
	foreach (cell, relids)
	{
		int i = foreach_current_index(cell);
		double share = dist_table_require(lfirst_oid(cell))->nshards / Max(shards[i], 1);

		sizes[i].pages *= share;
		sizes[i].pages_known *= share;
		sizes[i].tuples *= share;
	}
}

/* ------------------------------------------------------------------------------------
 * Tables without statistics.
 */

typedef struct SizeEntry
{
	Oid relid;
	TimestampTz taken;
	ShellSize size;
} SizeEntry;

static HTAB *size_cache = NULL;

static SizeEntry *
size_entry(Oid relid)
{
	bool found;
	SizeEntry *entry;

	if (size_cache == NULL)
	{
		HASHCTL control = {.keysize = sizeof(Oid), .entrysize = sizeof(SizeEntry)};

		size_cache = hash_create("sizes of shells", 16, &control, HASH_ELEM | HASH_BLOBS);
	}
	entry = hash_search(size_cache, &relid, HASH_ENTER, &found);
	if (!found)
		entry->taken = 0;
	return entry;
}

/* Only where estimates decide something is a look at the nodes worth its time. */
static bool
can_ask(Oid relid)
{
	return estimate_under_way() && dist_table(relid) != NULL && IsTransactionState();
}

static ShellSize
size_now(Oid relid)
{
	SizeEntry *entry = size_entry(relid);
	TimestampTz now = GetCurrentTimestamp();
	ShellSize size = {0};

	if (TimestampDifferenceExceeds(entry->taken, now, SIZE_LIFETIME_MS))
	{
		shell_sizes(list_make1_oid(relid), ASKED_FOR_PLAN, &size);
		entry = size_entry(relid);
		entry->size = size;
		entry->taken = now;
	}
	return entry->size;
}

/* Rows on that many pages, as PostgreSQL guesses it from the types of the columns. */
static double
tuples_by_width(Oid relid, double pages)
{
	int width = get_relation_data_width(relid, NULL);

	width += MAXALIGN(SizeofHeapTupleHeader) + sizeof(ItemIdData);
	return pages * ((BLCKSZ - SizeOfPageHeaderData) / width);
}

static void
take_size_now(Oid relid, RelOptInfo *rel)
{
	ShellSize size = size_now(relid);

	/* A table that was filled just now: PostgreSQL, too, counts on ten at least. */
	rel->pages = (BlockNumber) Min(Max(size.pages, 10), (double) MaxBlockNumber);
	if (size.pages_known > 0)
		rel->tuples = rint(rel->pages * (size.tuples / size.pages_known));
	else
		rel->tuples = rint(tuples_by_width(relid, rel->pages));
}

/* ------------------------------------------------------------------------------------
 * What the planner sees.
 */

static double
index_entry_width(const RelOptInfo *rel, const IndexOptInfo *index)
{
	double width = INDEX_ENTRY_OVERHEAD;

	for (int i = 0; i < index->ncolumns; i++)
	{
		int column = index->indexkeys[i];

		width += column > 0 && rel->attr_widths[column - rel->min_attr] > 0
					 ? rel->attr_widths[column - rel->min_attr]
					 : 8;
	}
	return width;
}

/* As if the shell's indexes had all the shards' entries. */
static void
take_index_sizes(RelOptInfo *rel)
{
	foreach_ptr (IndexOptInfo, index, rel->indexlist)
	{
		double pages;

		if (index->indpred != NIL)
			continue;
		pages = ceil(rel->tuples * index_entry_width(rel, index) / INDEX_PAGE_BYTES);
		index->tuples = rel->tuples;
		index->pages = (BlockNumber) Max(pages, 1);
	}
}

static get_relation_info_hook_type next_relation_info_hook = NULL;

static void
shell_relation_info(PlannerInfo *root, Oid relid, bool inhparent, RelOptInfo *rel)
{
	HeapTuple tuple;
	Form_pg_class form;
	bool known;

	if (next_relation_info_hook != NULL)
		next_relation_info_hook(root, relid, inhparent, rel);
	if (inhparent || dist_table(relid) == NULL ||
		dist_table(relid)->kind == TABLE_MANAGED_LOCAL)
		return;
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	if (!HeapTupleIsValid(tuple))
		return;
	form = (Form_pg_class) GETSTRUCT(tuple);
	known = form->reltuples >= 0;
	if (known)
	{
		rel->pages = form->relpages;
		rel->tuples = form->reltuples;
	}
	ReleaseSysCache(tuple);
	if (!known && can_ask(relid))
		take_size_now(relid, rel);
	take_index_sizes(rel);
}

void
shell_size_init(void)
{
	next_relation_info_hook = get_relation_info_hook;
	get_relation_info_hook = shell_relation_info;
}
