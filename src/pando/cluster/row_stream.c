/*
 * row_stream.c: rows of a shard of this server, sent to a relation of another.
 *
 * COPY over the transaction's session, in binary format, or in text format where the
 * binary one would hold OIDs, which differ between nodes, or the client has another
 * encoding, which send functions would convert to. Values are printed under settings
 * that lose nothing (literal_text).
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "access/tableam.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "pando/base/literal.h"
#include "pando/cluster/move_progress.h"
#include "pando/cluster/row_stream.h"
#include "pando/executor/decode.h"
#include "pando/metadata/shard_relation.h"
#include "pando/transaction/xact.h"

/* Appends a value as the text format of COPY has it. */
static void
append_escaped(StringInfo line, const char *text)
{
	for (;;)
	{
		size_t plain = strcspn(text, "\\\n\r\t");
		const char *escape;

		appendBinaryStringInfo(line, text, plain);
		text += plain;
		if (*text == '\0')
			return;
		escape = *text == '\\'	 ? "\\\\"
				 : *text == '\n' ? "\\n"
				 : *text == '\r' ? "\\r"
								 : "\\t";
		appendStringInfoString(line, escape);
		text++;
	}
}

static bool
column_is_sent(TupleDesc desc, int i)
{
	Form_pg_attribute column = TupleDescAttr(desc, i);

	return !column->attisdropped && column->attgenerated == '\0';
}

/* The columns that are sent, numbered anew. */
static TupleDesc
sent_columns(TupleDesc desc)
{
	TupleDesc sent = CreateTemplateTupleDesc(desc->natts);
	int count = 0;

	for (int i = 0; i < desc->natts; i++)
	{
		if (column_is_sent(desc, i))
			TupleDescCopyEntry(sent, ++count, desc, i + 1);
	}
	sent->natts = count;
	return sent;
}

static void
sent_values(TupleTableSlot *slot, Datum *values, bool *nulls)
{
	TupleDesc desc = slot->tts_tupleDescriptor;
	int count = 0;

	slot_getallattrs(slot);
	for (int i = 0; i < desc->natts; i++)
	{
		if (!column_is_sent(desc, i))
			continue;
		values[count] = slot->tts_values[i];
		nulls[count++] = slot->tts_isnull[i];
	}
}

/* COPY target (columns) FROM STDIN */
static char *
copy_command(TupleDesc sent, const char *target, bool binary)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "COPY %s", target);
	for (int i = 0; i < sent->natts; i++)
		appendStringInfo(&sql, "%s%s", i > 0 ? ", " : " (",
						 quote_identifier(NameStr(TupleDescAttr(sent, i)->attname)));
	appendStringInfo(&sql, "%s FROM STDIN%s", sent->natts > 0 ? ")" : "",
					 binary ? " (FORMAT binary)" : "");
	return sql.data;
}

static void
append_as_text(StringInfo line, TupleDesc sent, const Datum *values, const bool *nulls)
{
	for (int i = 0; i < sent->natts; i++)
	{
		if (i > 0)
			appendStringInfoChar(line, '\t');
		if (nulls[i])
			appendStringInfoString(line, "\\N");
		else
			append_escaped(
				line, literal_text(values[i], false, TupleDescAttr(sent, i)->atttypid));
	}
	appendStringInfoChar(line, '\n');
}

/* Is the row's hash in the range? */
static bool
in_range(const DistTable *table, AttrNumber key, const HashRange *range,
		 TupleTableSlot *slot)
{
	bool isnull;
	Datum value = slot_getattr(slot, key, &isnull);
	int32 hash = dist_table_hash(table, value, isnull);

	return hash >= range->min && hash <= range->max;
}

void
row_stream_to_node(Oid relid, int64 shard_id, const HashRange *range,
				   const DistNode *node, const char *target)
{
	const DistTable *table = dist_table_require(relid);
	Relation rel = table_open(shard_relation_require(table, shard_id), AccessShareLock);
	AttrNumber key = range == NULL ? InvalidAttrNumber
								   : get_attnum(RelationGetRelid(rel),
												get_attname(relid, table->key, false));
	TupleDesc sent = sent_columns(RelationGetDescr(rel));
	bool binary =
		columns_travel_binary(sent) && pg_get_client_encoding() == GetDatabaseEncoding();
	RowEncoder *encoder = encoder_create(sent, binary);
	Datum *values = palloc(sizeof(Datum) * (sent->natts + 1));
	bool *nulls = palloc(sizeof(bool) * (sent->natts + 1));
	StringInfoData head;
	Session *session = xact_session(node, XACT_WRITE);
	Snapshot snapshot;
	TableScanDesc scan;
	TupleTableSlot *slot;
	MemoryContext row_context =
		AllocSetContextCreate(CurrentMemoryContext, "row stream", ALLOCSET_DEFAULT_SIZES);

	session_send_simple(session, copy_command(sent, target, binary));
	(void) session_await_copy(session, SESSION_COPY_IN);
	initStringInfo(&head);
	if (binary)
		encode_header(encoder, &head);
	session_copy_put(session, head.data, head.len);

	snapshot = RegisterSnapshot(GetLatestSnapshot());
	scan = table_beginscan(rel, snapshot, 0, NULL);
	slot = table_slot_create(rel, NULL);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		MemoryContext old = MemoryContextSwitchTo(row_context);
		StringInfoData line;

		CHECK_FOR_INTERRUPTS();
		if (range != NULL && !in_range(table, key, range, slot))
		{
			MemoryContextSwitchTo(old);
			MemoryContextReset(row_context);
			continue;
		}
		initStringInfo(&line);
		sent_values(slot, values, nulls);
		if (binary)
			encode_row(encoder, &line, values, nulls);
		else
			append_as_text(&line, sent, values, nulls);
		session_copy_put(session, line.data, line.len);
		move_progress_row(line.len);
		MemoryContextSwitchTo(old);
		MemoryContextReset(row_context);
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	UnregisterSnapshot(snapshot);
	MemoryContextDelete(row_context);

	session_copy_end(session, NULL);
	session_finish(session);
	table_close(rel, NoLock);
}
