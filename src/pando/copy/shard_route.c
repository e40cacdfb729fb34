/*
 * shard_route.c: each row to all placements of its shard.
 *
 * A row's shard is found by its distribution column, or named by the client
 * (append_to_shard); other tables have a single shard. From there a row goes to the
 * streams of the nodes with a placement and, when this node holds one, into it directly.
 * A row is encoded once for all streams.
 */
#include "pando/compat/compat.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pando/base/int_map.h"
#include "pando/base/name.h"
#include "pando/copy/append.h"
#include "pando/copy/row_format.h"
#include "pando/copy/shard_insert.h"
#include "pando/copy/shard_route.h"
#include "pando/copy/stream_out.h"
#include "pando/executor/lost_copy.h"
#include "pando/metadata/node.h"
#include "pando/transaction/access.h"

/* Where the rows of one shard go. */
typedef struct Way
{
	List *streams; /* StreamOut * */
	bool local;
} Way;

struct ShardRoute
{
	const DistTable *table;
	Relation shell;
	CopyLine *line;
	MemoryContext row_context; /* reset per row */
	Way *ways;				   /* by shard index */
	List *streams;			   /* all of them */
	bool columns_checked;	   /* here, as the client may not insert into each */
	ShardInsert *local;		   /* NULL before the first row for this node */
	RowFormat *format;		   /* rows only */
	StringInfoData bytes;
	uint64 received;
	uint64 local_rows; /* of those, how many went into shards of this node */
	int copies;		   /* placements per shard, to count skipped rows once */
	int chosen;		   /* index of the shard of all rows; -1: their values say */
};

static bool
placement_is_local(const Placement *placement)
{
	return placement->group == node_local_group();
}

List *
shard_route_columns(TupleDesc desc)
{
	List *attnums = NIL;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && !att->attgenerated)
			attnums = lappend_int(attnums, i + 1);
	}
	return attnums;
}

bool
shard_route_has_local(const DistTable *table)
{
	return dist_table_in_group(table, node_local_group()).nshards > 0;
}

static StreamOut *
stream_for_group(ShardRoute *route, IntMap *by_group, int32 group, const char *command)
{
	StreamOut **stream = (StreamOut **) int_map_at(by_group, group);

	if (*stream == NULL)
	{
		*stream = stream_out_make(node_by_group(group), command, route->columns_checked,
								  route->line);
		route->streams = lappend(route->streams, *stream);
	}
	return *stream;
}

/* COPY schema.table (columns) FROM STDIN WITH (options) */
static char *
copy_command(Relation shell, List *attnums, const char *options)
{
	StringInfoData sql;
	ListCell *cell;

	initStringInfo(&sql);
	appendStringInfo(&sql, "COPY %s", name_qualified(RelationGetRelid(shell)));
	foreach (cell, attnums)
	{
		Form_pg_attribute att =
			TupleDescAttr(RelationGetDescr(shell), lfirst_int(cell) - 1);

		appendStringInfo(&sql, "%s%s", cell == list_head(attnums) ? " (" : ", ",
						 quote_identifier(NameStr(att->attname)));
	}
	appendStringInfo(&sql, "%s FROM STDIN WITH (%s)", attnums == NIL ? "" : ")", options);
	return sql.data;
}

static ShardRoute *
route_make(const DistTable *table, Relation shell, List *attnums, const char *options,
		   int chosen, CopyLine *line)
{
	const char *command;
	ShardRoute *route = palloc0(sizeof(ShardRoute));
	IntMap *by_group = int_map_create();
	List *lost = NIL;

	route->table = table;
	route->shell = shell;
	route->columns_checked = access_is_by_columns(table->relid, ACL_INSERT);
	route->line = line;
	route->row_context = AllocSetContextCreate(CurrentMemoryContext, "row to a shard",
											   ALLOCSET_DEFAULT_SIZES);
	route->ways = palloc0(sizeof(Way) * table->nshards);
	route->copies = 1;
	route->chosen = chosen;
	initStringInfo(&route->bytes);
	if (chosen >= 0)
		options = psprintf("%s, " APPEND_OPTION " " INT64_FORMAT, options,
						   table->shards[chosen].id);
	command = copy_command(shell, attnums, options);
	lost_copies_known(table);
	lost = lost_copies_mark(table, bms_add_range(NULL, 0, table->nshards - 1));

	for (int i = 0; i < table->nshards; i++)
	{
		const Shard *shard = &table->shards[i];
		int copies = 0;

		if (shard->nplacements == 0)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("shard %lld of table \"%s\" has no active placement",
							(long long) shard->id, RelationGetRelationName(shell))));
		for (int j = 0; j < shard->nplacements; j++)
		{
			const Placement *placement = &shard->placements[j];

			if (shard->nplacements > 1 && list_member_int(lost, placement->group))
				continue;
			copies++;
			if (placement_is_local(placement))
				route->ways[i].local = true;
			else
				route->ways[i].streams =
					lappend(route->ways[i].streams,
							stream_for_group(route, by_group, placement->group, command));
		}
		route->copies = Max(route->copies, copies);
	}
	return route;
}

ShardRoute *
shard_route_rows(const DistTable *table, Relation shell, List *attnums, int shard,
				 CopyLine *line)
{
	RowFormat *format = row_format_for_writing(RelationGetDescr(shell), attnums);
	char *options = psprintf("pando_rows '%s'", row_format_letters(format));
	ShardRoute *route = route_make(table, shell, attnums, options, shard, line);

	route->format = format;
	return route;
}

ShardRoute *
shard_route_lines(const DistTable *table, Relation shell, List *attnums,
				  const char *options, int shard, CopyLine *line)
{
	options = psprintf("pando_lines, %s", options);
	return route_make(table, shell, attnums, options, shard, line);
}

static int
route_shard_index(ShardRoute *route, Datum key, bool isnull)
{
	const DistTable *table = route->table;

	if (route->chosen >= 0)
		return route->chosen;
	if (!dist_table_is_split(table))
		return 0;
	return shard_index_for_row(table, key, isnull);
}

static void
route_send(ShardRoute *route, int index, const char *bytes, int length)
{
	foreach_ptr (StreamOut, stream, route->ways[index].streams)
		stream_out_row(stream, bytes, length, route->line->number);
}

void
shard_route_row(ShardRoute *route, TupleTableSlot *row)
{
	MemoryContext old = MemoryContextSwitchTo(route->row_context);
	Datum key = (Datum) 0;
	bool isnull = false;
	int index;

	MemoryContextReset(route->row_context);
	slot_getallattrs(row);
	if (AttributeNumberIsValid(route->table->key))
		key = slot_getattr(row, route->table->key, &isnull);
	index = route_shard_index(route, key, isnull);
	route->received++;

	if (route->ways[index].streams != NIL)
	{
		resetStringInfo(&route->bytes);
		row_format_write(route->format, &route->bytes, row->tts_values, row->tts_isnull);
		route_send(route, index, route->bytes.data, route->bytes.len);
	}
	MemoryContextSwitchTo(old);

	if (route->ways[index].local)
	{
		if (route->local == NULL)
		{
			old = MemoryContextSwitchTo(GetMemoryChunkContext(route));
			route->local = shard_insert_begin(route->table, route->shell, route->line);
			MemoryContextSwitchTo(old);
		}
		route->local_rows++;
		shard_insert_row(route->local, index, row);
	}
}

void
shard_route_line(ShardRoute *route, Datum key, bool isnull, const char *bytes, int length)
{
	int index = route_shard_index(route, key, isnull);

	Assert(!route->ways[index].local);
	resetStringInfo(&route->bytes);
	appendBinaryStringInfo(&route->bytes, bytes, length);
	appendStringInfoChar(&route->bytes, '\n');
	route->received++;
	route_send(route, index, route->bytes.data, route->bytes.len);
}

uint64
shard_route_finish(ShardRoute *route)
{
	uint64 skipped = 0;

	route->line->source = NULL;
	if (route->local != NULL)
		skipped += route->local_rows - shard_insert_end(route->local);
	skipped += stream_out_finish(route->streams);
	return route->received - skipped / route->copies;
}
