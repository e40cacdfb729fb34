/*
 * row_stream.c: rows of a relation of this server, sent to a relation of another.
 *
 * COPY in text format over the transaction's session: unlike the binary format it names
 * types, relations and roles instead of their OIDs, which differ between nodes. Values
 * are printed under settings that lose nothing (literal_text).
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "access/tableam.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "pando/base/literal.h"
#include "pando/cluster/row_stream.h"
#include "pando/transaction/xact.h"

/* Appends a value as the text format of COPY has it. */
static void
append_escaped(StringInfo line, const char *text)
{
	for (const char *p = text; *p != '\0'; p++)
	{
		switch (*p)
		{
			case '\\':
				appendStringInfoString(line, "\\\\");
				break;
			case '\n':
				appendStringInfoString(line, "\\n");
				break;
			case '\r':
				appendStringInfoString(line, "\\r");
				break;
			case '\t':
				appendStringInfoString(line, "\\t");
				break;
			default:
				appendStringInfoChar(line, *p);
		}
	}
}

static bool
column_is_sent(TupleDesc desc, int i)
{
	Form_pg_attribute column = TupleDescAttr(desc, i);

	return !column->attisdropped && column->attgenerated == '\0';
}

/* COPY target (columns) FROM STDIN */
static char *
copy_command(TupleDesc desc, const char *target)
{
	StringInfoData sql;
	const char *separator = "";

	initStringInfo(&sql);
	appendStringInfo(&sql, "COPY %s (", target);
	for (int i = 0; i < desc->natts; i++)
	{
		if (!column_is_sent(desc, i))
			continue;
		appendStringInfo(&sql, "%s%s", separator,
						 quote_identifier(NameStr(TupleDescAttr(desc, i)->attname)));
		separator = ", ";
	}
	appendStringInfoString(&sql, ") FROM STDIN");
	return sql.data;
}

static void
append_row(StringInfo line, TupleTableSlot *slot)
{
	TupleDesc desc = slot->tts_tupleDescriptor;
	const char *separator = "";

	slot_getallattrs(slot);
	for (int i = 0; i < desc->natts; i++)
	{
		if (!column_is_sent(desc, i))
			continue;
		appendStringInfoString(line, separator);
		separator = "\t";
		if (slot->tts_isnull[i])
			appendStringInfoString(line, "\\N");
		else
			append_escaped(line, literal_text(slot->tts_values[i], false,
											  TupleDescAttr(desc, i)->atttypid));
	}
	appendStringInfoChar(line, '\n');
}

/* Waits until the node is ready for the data of the COPY that was sent. */
static void
wait_for_copy_in(Session *session)
{
	List *sessions = list_make1(session);

	while (session->state != SESSION_COPY_IN)
	{
		PGresult *result;

		session_wait_any(sessions, -1);
		if (session->state == SESSION_DEAD)
			session_raise_lost(session, ERROR);
		while (session->state != SESSION_COPY_IN &&
			   (result = session_result(session)) != NULL)
		{
			if (PQresultStatus(result) == PGRES_FATAL_ERROR)
				session_raise(session, result, ERROR);
			session_result_free(result);
		}
		if (session->state == SESSION_IDLE)
			elog(ERROR, "the node did not start the COPY");
	}
}

uint64
row_stream_to_node(Oid source, const DistNode *node, const char *target)
{
	Relation rel = table_open(source, AccessShareLock);
	TupleDesc desc = RelationGetDescr(rel);
	Session *session = xact_session(node, XACT_WRITE);
	Snapshot snapshot;
	TableScanDesc scan;
	TupleTableSlot *slot;
	MemoryContext row_context =
		AllocSetContextCreate(CurrentMemoryContext, "row stream", ALLOCSET_DEFAULT_SIZES);
	uint64 rows = 0;

	session_send_simple(session, copy_command(desc, target));
	wait_for_copy_in(session);

	snapshot = RegisterSnapshot(GetLatestSnapshot());
	scan = table_beginscan(rel, snapshot, 0, NULL);
	slot = table_slot_create(rel, NULL);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		MemoryContext old = MemoryContextSwitchTo(row_context);
		StringInfoData line;

		CHECK_FOR_INTERRUPTS();
		initStringInfo(&line);
		append_row(&line, slot);
		session_copy_put(session, line.data, line.len);
		MemoryContextSwitchTo(old);
		MemoryContextReset(row_context);
		rows++;
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	UnregisterSnapshot(snapshot);
	MemoryContextDelete(row_context);

	session_copy_end(session, NULL);
	session_finish(session);
	table_close(rel, NoLock);
	return rows;
}
