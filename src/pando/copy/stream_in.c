/*
 * stream_in.c: a node's end of rows that another node has routed to it (stream_out.h).
 *
 * The statement is COPY shell (columns) FROM STDIN WITH (pando_rows '...') or
 * (pando_lines, text or CSV options). Rows are decoded, hashed again to find their shard,
 * and inserted. A row whose shard is not here is an error: the sender's metadata would be
 * wrong. Whoever may COPY into the table may use these options; they give no further
 * rights.
 *
 * Each row comes with its line number in the sender's input, for the context of errors.
 * Lines are parsed by PostgreSQL's COPY, which reads ahead: their numbers wait in a
 * queue.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "commands/copyfrom_internal.h"
#include "commands/defrem.h"
#include "executor/executor.h"
#include "libpq/libpq.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pando/copy/append.h"
#include "pando/copy/from.h"
#include "pando/copy/line.h"
#include "pando/copy/row_format.h"
#include "pando/copy/shard_insert.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/transaction/access.h"

/* Blocks as they come in. */
typedef struct Reader
{
	StringInfoData message; /* the CopyData message at hand */
	bool eof;
	StringInfoData bytes; /* the block's rows, from the cursor on */
	uint64 *lines;		  /* line numbers of rows not handed out yet */
	int nlines;
	int next_line;
	int max_lines;
} Reader;

/* What one stream needs to store rows. */
typedef struct Receiver
{
	const DistTable *table;
	Relation shell;
	CopyLine line;
	ShardInsert *insert;
	bool *here; /* by shard index: is there a placement on this node? */
	int chosen; /* index of the shard of all rows; -1: their values say */
} Receiver;

/* Whose bytes PostgreSQL's COPY is parsing: its callback has no argument. */
static Reader *line_reader = NULL;

static DefElem *
find_option(const CopyStmt *stmt, const char *name)
{
	foreach_ptr (DefElem, option, stmt->options)
	{
		if (strcmp(option->defname, name) == 0)
			return option;
	}
	return NULL;
}

bool
stream_in_wanted(const CopyStmt *stmt)
{
	return stmt->is_from && stmt->relation != NULL && stmt->filename == NULL &&
		   (find_option(stmt, "pando_rows") != NULL ||
			find_option(stmt, "pando_lines") != NULL);
}

/* ------------------------------------------------------------------------------------
 * Reading: the COPY protocol, then blocks.
 */

/* Tells the client to send; columns are not described, for they are not COPY's. */
static void
reader_start(Reader *reader)
{
	StringInfoData buf;

	if (whereToSendOutput != DestRemote)
		ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
						errmsg("routed rows can come from a node only")));
	initStringInfo(&reader->message);
	initStringInfo(&reader->bytes);
	pq_beginmessage(&buf, 'G');
	pq_sendbyte(&buf, 1);
	pq_sendint16(&buf, 0);
	pq_endmessage(&buf);
	pq_flush();
}

/* Gets the next CopyData message; false at the end of the data. */
static bool
next_message(Reader *reader)
{
	while (!reader->eof)
	{
		int type;

		HOLD_CANCEL_INTERRUPTS();
		pq_startmsgread();
		type = pq_getbyte();
		if (type != EOF && strchr("dcfHS", type) == NULL)
			ereport(
				ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("unexpected message type 0x%02X during COPY from stdin", type)));
		if (type == EOF ||
			pq_getmessage(&reader->message,
						  type == 'd' ? PQ_LARGE_MESSAGE_LIMIT : PQ_SMALL_MESSAGE_LIMIT))
			ereport(ERROR, (errcode(ERRCODE_CONNECTION_FAILURE),
							errmsg("unexpected EOF on client connection with an open "
								   "transaction")));
		RESUME_CANCEL_INTERRUPTS();

		if (type == 'd' && reader->message.len > 0)
			return true;
		if (type == 'c')
			reader->eof = true;
		if (type == 'f')
			ereport(ERROR, (errcode(ERRCODE_QUERY_CANCELED),
							errmsg("COPY from stdin failed: %s",
								   pq_getmsgstring(&reader->message))));
	}
	return false;
}

/* Reads exactly that many bytes; false if the data end before the first of them. */
static bool
read_bytes(Reader *reader, char *to, int length)
{
	bool first = true;

	while (length > 0)
	{
		int part;

		if (reader->message.cursor >= reader->message.len)
		{
			CHECK_FOR_INTERRUPTS();
			if (!next_message(reader))
			{
				if (first)
					return false;
				ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
								errmsg("routed rows end in the middle of a block")));
			}
		}
		part = Min(length, reader->message.len - reader->message.cursor);
		memcpy(to, reader->message.data + reader->message.cursor, part);
		reader->message.cursor += part;
		to += part;
		length -= part;
		first = false;
	}
	return true;
}

/* Reads the next block behind what is left of this one; false at the end. */
static bool
next_block(Reader *reader)
{
	StringInfo bytes = &reader->bytes;
	struct
	{
		uint32 rows;
		uint32 bytes;
		uint64 first_line;
	} head;
	int nrows;
	int nbytes;

	if (!read_bytes(reader, (char *) &head, 16))
		return false;
	nrows = (int) pg_ntoh32(head.rows);
	nbytes = (int) pg_ntoh32(head.bytes);
	if (nrows <= 0 || nrows > 1000000 || nbytes < 0)
		ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
						errmsg("invalid block of routed rows")));

	if (reader->next_line == reader->nlines)
		reader->next_line = reader->nlines = 0;
	if (reader->nlines + nrows > reader->max_lines)
	{
		reader->max_lines = reader->nlines + nrows;
		reader->lines = reader->lines == NULL
							? palloc(sizeof(uint64) * reader->max_lines)
							: repalloc(reader->lines, sizeof(uint64) * reader->max_lines);
	}
	for (int i = 0; i < nrows; i++)
	{
		uint32 after;

		if (!read_bytes(reader, (char *) &after, 4))
			ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
							errmsg("routed rows end in the middle of a block")));
		reader->lines[reader->nlines++] = pg_ntoh64(head.first_line) + pg_ntoh32(after);
	}

	if (bytes->cursor == bytes->len)
		resetStringInfo(bytes);
	enlargeStringInfo(bytes, nbytes);
	if (nbytes > 0 && !read_bytes(reader, bytes->data + bytes->len, nbytes))
		ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
						errmsg("routed rows end in the middle of a block")));
	bytes->len += nbytes;
	bytes->data[bytes->len] = '\0';
	return true;
}

/* The line number of the row that is read next, reading its block if need be; false: no
 * more. */
static bool
next_line(Reader *reader, uint64 *line)
{
	if (reader->next_line == reader->nlines && !next_block(reader))
		return false;
	*line = reader->lines[reader->next_line++];
	return true;
}

/* Bytes of lines for PostgreSQL's COPY, as many as are at hand; 0 at the end. */
static int
lines_source(void *to, int min_bytes, int max_bytes)
{
	StringInfo bytes = &line_reader->bytes;
	int length;

	if (bytes->cursor == bytes->len && !next_block(line_reader))
		return 0;
	length = Min(max_bytes, bytes->len - bytes->cursor);
	memcpy(to, bytes->data + bytes->cursor, length);
	bytes->cursor += length;
	return length;
}

/* ------------------------------------------------------------------------------------
 * Storing.
 */

static void
receiver_start(Receiver *receiver, Relation shell, const CopyStmt *stmt)
{
	const DistTable *table = dist_table_require(RelationGetRelid(shell));
	GroupShards own = dist_table_in_group(table, node_local_group());

	receiver->table = table;
	receiver->shell = shell;
	receiver->chosen = append_shard_index(table, stmt->options);
	receiver->line.relation = RelationGetRelationName(shell);
	receiver->insert = shard_insert_begin(table, shell, &receiver->line);
	receiver->here = palloc0(sizeof(bool) * table->nshards);
	for (int i = 0; i < own.nshards; i++)
		receiver->here[own.shards[i]] = true;
}

static void
store_row(Receiver *receiver, TupleTableSlot *row)
{
	const DistTable *table = receiver->table;
	int index = Max(receiver->chosen, 0);

	if (receiver->chosen < 0 && dist_table_is_split(table))
	{
		bool isnull;
		Datum key = slot_getattr(row, table->key, &isnull);

		index = shard_index_for_row(table, key, isnull);
	}
	if (!receiver->here[index])
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("shard %lld of table \"%s\" has no placement on this node",
							   (long long) table->shards[index].id,
							   RelationGetRelationName(receiver->shell)),
						errdetail("The node that sent the row knows other placements.")));
	shard_insert_row(receiver->insert, index, row);
}

static void
receive_rows(Receiver *receiver, Reader *reader, const CopyStmt *stmt)
{
	TupleDesc desc = RelationGetDescr(receiver->shell);
	RowFormat *format =
		row_format_for_reading(desc, CopyGetAttnums(desc, receiver->shell, stmt->attlist),
							   defGetString(find_option(stmt, "pando_rows")));
	TupleTableSlot *row = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	MemoryContext row_context =
		AllocSetContextCreate(CurrentMemoryContext, "routed row", ALLOCSET_DEFAULT_SIZES);

	reader_start(reader);
	while (next_line(reader, &receiver->line.number))
	{
		MemoryContext old;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(row_context);
		old = MemoryContextSwitchTo(row_context);
		ExecClearTuple(row);
		row_format_read(format, &reader->bytes, row->tts_values, row->tts_isnull);
		ExecStoreVirtualTuple(row);
		row->tts_tableOid = RelationGetRelid(receiver->shell);
		MemoryContextSwitchTo(old);
		store_row(receiver, row);
	}
	ExecDropSingleTupleTableSlot(row);
}

static void
receive_lines(Receiver *receiver, Reader *reader, const CopyStmt *stmt,
			  ParseState *pstate)
{
	TupleDesc desc = RelationGetDescr(receiver->shell);
	TupleTableSlot *row = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	EState *estate = CreateExecutorState();
	Reader *outer = line_reader;
	List *options = NIL;
	CopyFromState source;

	foreach_ptr (DefElem, option, append_options_left(stmt->options))
	{
		if (strcmp(option->defname, "pando_lines") != 0)
			options = lappend(options, option);
	}

	reader_start(reader);
	source = BeginCopyFrom(pstate, receiver->shell, NULL, NULL, false, lines_source,
						   stmt->attlist, options);
	line_reader = reader;
	receiver->line.source = source;

	for (;;)
	{
		MemoryContext old;
		bool more;

		CHECK_FOR_INTERRUPTS();
		if (!next_line(reader, &receiver->line.number))
			break;

		/* The next line that COPY parses counts one up from here. */
		source->cur_lineno = receiver->line.number - 1;
		ResetPerTupleExprContext(estate);
		ExecClearTuple(row);
		old = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
		more = NextCopyFrom(source, GetPerTupleExprContext(estate), row->tts_values,
							row->tts_isnull);
		MemoryContextSwitchTo(old);
		if (!more)
			ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
							errmsg("a forwarded line was not read as one")));
		ExecStoreVirtualTuple(row);
		row->tts_tableOid = RelationGetRelid(receiver->shell);
		store_row(receiver, row);
	}

	receiver->line.source = NULL;
	line_reader = outer;
	EndCopyFrom(source);
	ExecDropSingleTupleTableSlot(row);
	FreeExecutorState(estate);
}

uint64
stream_in(const CopyStmt *stmt, const char *query_string)
{
	ParseState *pstate = make_parsestate(NULL);
	ErrorContextCallback context = {.callback = copy_line_callback};
	Reader reader = {0};
	Receiver receiver = {0};
	List *conditions;
	Relation shell;
	uint64 stored;

	pstate->p_sourcetext = query_string;

	/*
	 * The sender holds ROW EXCLUSIVE on its own shell, which keeps shards where they are;
	 * one more here could wait for a mover that waits for the sender.
	 */
	shell =
		copy_target_open(stmt, pstate, AccessShareLock, access_is_ordered(), &conditions);
	if (conditions != NIL)
		ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
						errmsg("routed rows can't have a WHERE clause")));
	receiver_start(&receiver, shell, stmt);

	context.arg = &receiver.line;
	context.previous = error_context_stack;
	error_context_stack = &context;
	if (find_option(stmt, "pando_rows") != NULL)
		receive_rows(&receiver, &reader, stmt);
	else
		receive_lines(&receiver, &reader, stmt, pstate);
	stored = shard_insert_end(receiver.insert);
	error_context_stack = context.previous;

	table_close(shell, NoLock);
	free_parsestate(pstate);
	return stored;
}
