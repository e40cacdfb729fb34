/*
 * transfer.c: the rows of a shard from one node to another.
 *
 * COPY TO on one node and COPY FROM on the other (move_row.c puts the rows into the
 * shard), both over the transaction's own sessions, so that what the transaction itself
 * has written comes along. This node passes the bytes on as they are; no row is taken
 * apart here. The format is binary, or text under settings that lose nothing where a
 * column's binary form would hold numbers of the source node.
 *
 * An online move has sessions of its own, and rows travel with their places
 * (shard_transfer_placed).
 *
 * Where a shard is split, the source sends what the range of hashes has. On one and the
 * same node that is a plain INSERT ... SELECT.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "catalog/namespace.h"
#include "commands/copy.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_relation.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pando/base/type.h"
#include "pando/base/name.h"
#include "pando/cluster/move_part.h"
#include "pando/cluster/move_progress.h"
#include "pando/cluster/row_stream.h"
#include "pando/cluster/transfer.h"
#include "pando/copy/row_format.h"
#include "pando/metadata/shard_relation.h"
#include "pando/transaction/access.h"
#include "pando/transaction/xact.h"

/* What is copied, as text for COPY. */
typedef struct Transfer
{
	char *from;	   /* the shard on the source, qualified and quoted */
	char *to;	   /* that on the target */
	char *columns; /* "(a, b)"; "" for a table without columns */
	char *where;   /* "" or a condition that begins with WHERE */
	List *names;   /* String */
	bool binary;
} Transfer;

/* Where PostgreSQL's COPY gets its bytes: its callback has no argument. */
typedef struct ByteSource
{
	Session *session;
	const char *data;
	int length;
	bool ended;
} ByteSource;

static ByteSource *byte_source = NULL;

/* WHERE the row's hash is in the range; dist_table_hash() is the model. */
static char *
range_condition(const TransferPart *part)
{
	Oid relid = part->relid;
	const HashRange *range = part->range;
	const DistTable *table;

	if (part->local)
		return psprintf(
			" WHERE coalesce(pg_catalog.worker_hash(%s), 0) BETWEEN %d AND %d",
			quote_identifier(get_attname(relid, part->key, false)), range->min,
			range->max);
	table = dist_table_require(relid);
	return psprintf(
		" WHERE pando.key_hash(%s::pg_catalog.regclass, %s) BETWEEN %d AND %d",
		quote_literal_cstr(name_qualified(relid)),
		quote_identifier(get_attname(relid, table->key, false)), range->min, range->max);
}

static Transfer
transfer_describe(const TransferPart *part)
{
	Relation shell = table_open(part->relid, AccessShareLock);
	TupleDesc desc = RelationGetDescr(shell);
	Transfer transfer = {.binary = true};
	StringInfoData columns;

	initStringInfo(&columns);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped || att->attgenerated)
			continue;
		appendStringInfo(&columns, "%s%s", columns.len == 0 ? "(" : ", ",
						 quote_identifier(NameStr(att->attname)));
		transfer.names =
			lappend(transfer.names, makeString(pstrdup(NameStr(att->attname))));
		if (!type_travels_binary(att->atttypid))
			transfer.binary = false;
	}
	if (columns.len > 0)
		appendStringInfoChar(&columns, ')');
	table_close(shell, NoLock);

	transfer.from = part->local ? name_qualified(part->relid)
								: name_shard_qualified(part->relid, part->from_shard);
	transfer.to = name_shard_qualified(part->relid, part->to_shard);
	transfer.columns = columns.data;
	transfer.where = part->range == NULL ? "" : range_condition(part);
	return transfer;
}

/* COPY what TO STDOUT. Settings apply to the one statement: a savepoint takes them back.
 */
static char *
copy_out_command(const Transfer *transfer, const char *what)
{
	if (transfer->binary)
		return psprintf("COPY %s TO STDOUT (FORMAT binary)", what);
	return psprintf(
		"SAVEPOINT pando_transfer; SET LOCAL extra_float_digits = 3; "
		"SET LOCAL datestyle = 'ISO, MDY'; SET LOCAL intervalstyle = 'postgres'; "
		"SET LOCAL bytea_output = 'hex'; SET LOCAL search_path = pg_catalog; "
		"COPY %s TO STDOUT; "
		"ROLLBACK TO SAVEPOINT pando_transfer; RELEASE SAVEPOINT pando_transfer",
		what);
}

/* "a, b" after `prefix`; "" without columns. */
static char *
column_list(const Transfer *transfer, const char *prefix)
{
	StringInfoData list;

	initStringInfo(&list);
	foreach_ptr (String, name, transfer->names)
	{
		appendStringInfo(&list, "%s%s", prefix, quote_identifier(strVal(name)));
		prefix = ", ";
	}
	return list.data;
}

/* The rows, as they are named in COPY TO. */
static char *
rows_to_send(const Transfer *transfer)
{
	if (transfer->where[0] == '\0')
		return psprintf("%s %s", transfer->from, transfer->columns);
	return psprintf("(SELECT%s FROM ONLY %s%s)", column_list(transfer, " "),
					transfer->from, transfer->where);
}

/* The next bytes of a COPY TO; false at its end. */
static bool
next_bytes(Session *session, const char **data, int *length)
{
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		*length = session_copy_get(session, data);
		if (*length > 0)
		{
			move_progress_row(*length);
			return true;
		}
		if (*length < 0)
			return false;
		if (session->state == SESSION_DEAD)
			session_raise_lost(session, ERROR);
		session_wait_any(list_make1(session), -1);
	}
}

static void
finish(Session *session)
{
	PGresult *result = session_finish(session);

	if (result != NULL)
		session_result_free(result);
}

/* The session can receive rows of the shard, with their places or without. */
static void
prepare_to_receive(const TransferPart *part, const Transfer *transfer, Session *to,
				   bool placed)
{
	char *sql = psprintf(
		"SELECT pando.move_receive(%s::pg_catalog.regclass, " INT64_FORMAT ", %s)",
		quote_literal_cstr(part->local ? transfer->to : name_qualified(part->relid)),
		part->to_shard, placed ? "true" : "false");

	session_result_free(session_run(to, access_sign_order(to, sql)));
}

/* Bytes of COPY from one session to another, until the end. */
static void
pump(const Transfer *transfer, Session *from, const char *what, Session *to,
	 const char *into)
{
	const char *data;
	int length;

	session_send_simple(from, copy_out_command(transfer, what));
	session_send_simple(to, psprintf("COPY %s FROM STDIN (FORMAT %s)", into,
									 transfer->binary ? "binary" : "text"));
	(void) session_await_copy(to, SESSION_COPY_IN);
	if (session_await_copy(from, SESSION_COPY_OUT))
	{
		while (next_bytes(from, &data, &length))
			session_copy_put(to, data, length);
	}
	finish(from);
	session_copy_end(to, NULL);
	finish(to);
}

/* The target is in a transaction block that is going to be prepared. */
static void
transfer_between(const Transfer *transfer, const TransferPart *part,
				 const DistNode *source, const DistNode *target)
{
	Session *to = xact_session(target, XACT_WRITE);

	prepare_to_receive(part, transfer, to, false);
	pump(transfer, xact_session(source, XACT_READ), rows_to_send(transfer), to,
		 move_all_rows_name(MOVE_SCHEMA_SHARED, part->to_shard));
}

static void
transfer_within(const Transfer *transfer, const DistNode *node)
{
	xact_run_on_nodes(list_make1((void *) node),
					  psprintf("INSERT INTO %s %s SELECT%s FROM ONLY %s%s", transfer->to,
							   transfer->columns, column_list(transfer, " "),
							   transfer->from, transfer->where));
}

/* A copy_data_source_cb. */
static int
read_bytes(void *to, int min_bytes, int max_bytes)
{
	ByteSource *source = byte_source;
	int length;

	if (source->length == 0 && !source->ended &&
		!next_bytes(source->session, &source->data, &source->length))
	{
		source->ended = true;
		source->length = 0;
	}
	length = Min(max_bytes, source->length);
	if (length > 0)
		memcpy(to, source->data, length);
	source->data += length;
	source->length -= length;
	return length;
}

/* From another node into this one. */
static void
transfer_here(const Transfer *transfer, const TransferPart *part, const DistNode *source)
{
	ByteSource bytes = {.session = xact_session(source, XACT_READ)};
	ByteSource *outer = byte_source;
	Relation rel = table_open(
		shard_relation_require(dist_table_require(part->relid), part->to_shard),
		RowExclusiveLock);
	ParseState *pstate = make_parsestate(NULL);
	Node *format = (Node *) makeString(transfer->binary ? "binary" : "text");
	CopyFromState copy;

	addRangeTableEntryForRelation(pstate, rel, RowExclusiveLock, NULL, false, false);
	session_send_simple(bytes.session,
						copy_out_command(transfer, rows_to_send(transfer)));
	bytes.ended = !session_await_copy(bytes.session, SESSION_COPY_OUT);

	byte_source = &bytes;
	copy = BeginCopyFrom(pstate, rel, NULL, NULL, false, read_bytes, transfer->names,
						 list_make1(makeDefElem("format", format, -1)));
	CopyFrom(copy);
	EndCopyFrom(copy);
	byte_source = outer;

	/* In binary format COPY stops reading at the trailer. */
	while (!bytes.ended && next_bytes(bytes.session, &bytes.data, &bytes.length))
		;
	finish(bytes.session);
	table_close(rel, NoLock);
	free_parsestate(pstate);
	xact_wrote_locally();
}

/* What has the shard's name on another node may be a table of somebody else's. */
static void
require_shard_of(const Transfer *transfer, int64 shard_id, const DistNode *source)
{
	char *found = xact_value_from_node(
		source, psprintf("SELECT pando.relation_shard_id(%s::pg_catalog.regclass)",
						 quote_literal_cstr(transfer->from)));

	if (found == NULL || strcmp(found, psprintf(INT64_FORMAT, shard_id)) != 0)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("%s on node %s:%d is not shard " INT64_FORMAT,
							   transfer->from, source->host, source->port, shard_id),
						errdetail("Its table's owner doesn't own it, or it is gone.")));
}

void
shard_transfer(const TransferPart *part, const DistNode *source, const DistNode *target)
{
	Transfer transfer = transfer_describe(part);
	int32 here = node_local_group();

	if (source->group != here)
		require_shard_of(&transfer, part->from_shard, source);
	if (source->group == target->group)
		transfer_within(&transfer, source);
	else if (target->group == here)
		transfer_here(&transfer, part, source);
	else if (source->group == here)
		row_stream_to_node(part->relid, part->from_shard, part->range, target,
						   transfer.to);
	else
		transfer_between(&transfer, part, source, target);
}

void
shard_transfer_prepare(const TransferPart *part, Session *to)
{
	Transfer transfer = transfer_describe(part);

	prepare_to_receive(part, &transfer, to, true);
}

/*
 * What was received from these places (a tid[]) is deleted. A place that is not among the
 * newer ones is looked up by its block.
 */
static void
delete_received(const Transfer *transfer, const TransferPart *part, const char *changed,
				Session *to)
{
	session_result_free(session_run(
		to,
		psprintf(
			"WITH newer AS (DELETE FROM %s WHERE place = ANY (%s) RETURNING place, here),"
			" older AS (SELECT pando.move_place(b.rows, s.place) AS here "
			"FROM pg_catalog.unnest(%s) AS s (place) JOIN %s b ON "
			"b.block = pando.move_block(s.place) "
			"WHERE NOT EXISTS (SELECT FROM newer n WHERE n.place = s.place)) "
			"DELETE FROM ONLY %s WHERE ctid = ANY (ARRAY("
			"SELECT here FROM newer UNION ALL SELECT here FROM older))",
			move_places_name(part->receivers, part->to_shard), changed, changed,
			move_blocks_name(part->receivers, part->to_shard), transfer->to)));
}

/* What is not there any more must not be found by its block. */
static void
note_gone(const TransferPart *part, const char *changed, Session *to)
{
	session_result_free(session_run(
		to,
		psprintf("INSERT INTO %s SELECT s.place FROM pg_catalog.unnest(%s) AS s (place) "
				 "JOIN %s b ON b.block = pando.move_block(s.place) "
				 "WHERE pando.move_place(b.rows, s.place) IS NOT NULL "
				 "ON CONFLICT DO NOTHING",
				 move_places_name(part->receivers, part->to_shard), changed,
				 move_blocks_name(part->receivers, part->to_shard))));
}

void
shard_transfer_placed(const TransferPart *part, Session *from, Session *to,
					  const char *places)
{
	Transfer transfer = transfer_describe(part);
	const char *where = transfer.where;
	char *changed = NULL;
	char *rows;

	if (places != NULL)
	{
		changed = psprintf("%s::tid[]", quote_literal_cstr(places));
		delete_received(&transfer, part, changed, to);
		where =
			psprintf("%s ctid = ANY (%s)",
					 where[0] == '\0' ? " WHERE" : psprintf("%s AND", where), changed);
	}
	rows = psprintf("(SELECT ctid%s FROM ONLY %s%s)", column_list(&transfer, ", "),
					transfer.from, where);
	pump(&transfer, from, rows, to,
		 places == NULL ? move_all_rows_name(part->receivers, part->to_shard)
						: move_rows_name(part->receivers, part->to_shard));
	if (places != NULL)
		note_gone(part, changed, to);
}
