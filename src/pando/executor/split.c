/*
 * split.c: rows that go to other nodes by the hash of a column, or to several nodes.
 *
 * Each part has a buffer of rows. A full one goes, as a piece with its part's number,
 * into the message for each node that reads it (pieces.h). A message is sent when it is
 * long enough, while the node may still be busy with the one before: only a second full
 * one waits. So does whatever else wants to go over its session, for the query whose rows
 * are split may read from other nodes. What is read on this node is kept without having
 * been sent.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "tcop/tcopprot.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "pando/base/int_map.h"
#include "pando/executor/decode.h"
#include "pando/executor/intermediate.h"
#include "pando/executor/pieces.h"
#include "pando/executor/split.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(exchange_send);
PG_FUNCTION_INFO_V1(exchange_append);

/* Of all parts' rows, or of all receivers' messages, together; and of one. */
#define BUFFERS_SIZE (2 * 1024 * 1024)
#define BUFFER_START 64
#define BUFFER_MIN 4096
#define BUFFERED_MAX (16 * 1024 * 1024)
#define MESSAGES_SIZE (64 * 1024 * 1024)
#define MESSAGE_SIZE (512 * 1024)
#define MAX_PARTS 1000000

typedef struct Receiver
{
	SessionHolder holder; /* first; has a session while a message is under way */
	int32 group;
	StringInfoData message;
} Receiver;

typedef struct Part
{
	StringInfoData rows; /* data is NULL while there are none */
	int nreceivers;
	Receiver **receivers; /* one array has those of all parts */
} Part;

typedef struct Splitter
{
	DestReceiver pub;
	SplitSpec spec;
	Part *parts;
	List *receivers;	/* Receiver * */
	Receiver **readers; /* room for those of the next part */
	int buffer_size;
	int message_size;
	int64 buffered; /* bytes in all parts' buffers */
	RowEncoder *encoder;
	FmgrInfo *hash;
	Oid collation;
	MemoryContext context;
	MemoryContext row_context;
	MemoryContextCallback let_go;
	int64 *rows;
	int64 bytes;
} Splitter;

static int
compare_targets(const void *a, const void *b)
{
	const SplitTarget *x = a;
	const SplitTarget *y = b;

	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

void
split_order_targets(SplitSpec *spec)
{
	int count = 0;

	qsort(spec->targets, spec->ntargets, sizeof(SplitTarget), compare_targets);
	for (int i = 0; i < spec->ntargets; i++)
	{
		if (count == 0 ||
			compare_targets(&spec->targets[i], &spec->targets[count - 1]) != 0)
			spec->targets[count++] = spec->targets[i];
	}
	spec->ntargets = count;
}

/* ------------------------------------------------------------------------------------
 * Messages.
 */

static void
receiver_wait(SessionHolder *holder)
{
	Session *session = holder->session;

	if (session == NULL)
		return;
	session_unhold(holder);
	session_result_free(session_finish(session));
}

/* The memory of the receivers goes: after an error perhaps before their messages are
 * over. */
static void
receivers_let_go(void *arg)
{
	Splitter *splitter = arg;

	foreach_ptr (Receiver, receiver, splitter->receivers)
		session_unhold(&receiver->holder);
}

static void
receiver_send(Splitter *splitter, Receiver *receiver)
{
	Session *session;

	if (receiver->message.len == 0)
		return;
	if (receiver->group == node_local_group())
	{
		pieces_keep(splitter->spec.name, receiver->message.data, receiver->message.len);
		resetStringInfo(&receiver->message);
		return;
	}
	receiver_wait(&receiver->holder);
	session = xact_session(node_by_group(receiver->group), XACT_SNAPSHOT);
	session_send_bytes(session, "SELECT pando.exchange_append($1, $2)",
					   splitter->spec.name, receiver->message.data,
					   receiver->message.len);
	session_hold(session, &receiver->holder);
	/* What a session that is being opened has to send was copied, too. */
	resetStringInfo(&receiver->message);
}

static void
flush_part(Splitter *splitter, int number)
{
	Part *part = &splitter->parts[number];

	if (part->rows.len == 0)
		return;
	for (int i = 0; i < part->nreceivers; i++)
	{
		Receiver *receiver = part->receivers[i];

		pieces_add(&receiver->message, number, node_local_group(), &part->rows);
		if (receiver->message.len >= splitter->message_size)
			receiver_send(splitter, receiver);
	}
	splitter->buffered -= part->rows.len;
	resetStringInfo(&part->rows);
}

/* Many parts have few rows each: together they might still be too much. */
static void
flush_all(Splitter *splitter)
{
	for (int i = 0; i < splitter->spec.nparts; i++)
	{
		Part *part = &splitter->parts[i];

		if (part->rows.data == NULL)
			continue;
		flush_part(splitter, i);
		pfree(part->rows.data);
		part->rows = (StringInfoData){0};
	}
}

/* A small one at first: there may be as many as parts. */
static void
begin_buffer(Splitter *splitter, StringInfo buffer)
{
	buffer->maxlen = BUFFER_START;
	buffer->data = MemoryContextAlloc(splitter->context, buffer->maxlen);
	resetStringInfo(buffer);
}

/* ------------------------------------------------------------------------------------
 * The receiver of rows.
 */

static Receiver *
receiver_of_group(Splitter *splitter, IntMap *by_group, int32 group)
{
	Receiver **receiver = (Receiver **) int_map_at(by_group, group);

	if (*receiver == NULL)
	{
		*receiver = palloc0(sizeof(Receiver));
		(*receiver)->holder.drain = receiver_wait;
		(*receiver)->group = group;
		initStringInfo(&(*receiver)->message);
		splitter->receivers = lappend(splitter->receivers, *receiver);
	}
	return *receiver;
}

static void
prepare_parts(Splitter *splitter)
{
	const SplitSpec *spec = &splitter->spec;
	IntMap *by_group = int_map_create();

	splitter->parts = palloc0(sizeof(Part) * spec->nparts);
	splitter->rows = palloc0(sizeof(int64) * spec->nparts);
	splitter->readers = palloc(sizeof(Receiver *) * (spec->ntargets + 1));
	for (int i = 0; i < spec->ntargets; i++)
	{
		const SplitTarget *target = &spec->targets[i];
		Part *part = &splitter->parts[target->part];

		if (part->nreceivers++ == 0)
			part->receivers = splitter->readers;
		*splitter->readers++ = receiver_of_group(splitter, by_group, target->group);
	}
	splitter->buffer_size = Max(BUFFERS_SIZE / spec->nparts, BUFFER_MIN);
	splitter->message_size =
		Min(MESSAGE_SIZE, MESSAGES_SIZE / Max(list_length(splitter->receivers), 1));
}

static void
splitter_startup(DestReceiver *self, int operation, TupleDesc desc)
{
	Splitter *splitter = (Splitter *) self;
	MemoryContext old = MemoryContextSwitchTo(splitter->context);

	prepare_parts(splitter);
	splitter->encoder = encoder_create(desc, splitter->spec.binary);
	if (splitter->spec.column > 0)
	{
		Form_pg_attribute column = TupleDescAttr(desc, splitter->spec.column - 1);

		splitter->hash = &hashable_type(column->atttypid)->hash_proc_finfo;
		splitter->collation = column->attcollation;
	}
	MemoryContextSwitchTo(old);
}

static int
part_of_hash(const SplitSpec *spec, int32 hash)
{
	int low = 0;
	int high = spec->nparts - 1;

	while (low < high)
	{
		int middle = (low + high + 1) / 2;

		if (hash < spec->min_hash[middle])
			high = middle - 1;
		else
			low = middle;
	}
	return low;
}

/* -1: nobody wants the row. */
static int
part_of_row(Splitter *splitter, TupleTableSlot *slot)
{
	int column = splitter->spec.column - 1;

	if (column < 0)
		return 0;
	if (slot->tts_isnull[column])
		return splitter->spec.keep_nulls ? part_of_hash(&splitter->spec, 0) : -1;
	return part_of_hash(&splitter->spec, DatumGetInt32(FunctionCall1Coll(
											 splitter->hash, splitter->collation,
											 slot->tts_values[column])));
}

static bool
splitter_receive(TupleTableSlot *slot, DestReceiver *self)
{
	Splitter *splitter = (Splitter *) self;
	MemoryContext old = MemoryContextSwitchTo(splitter->row_context);
	Part *part;
	int number;

	slot_getallattrs(slot);
	number = part_of_row(splitter, slot);
	part = number >= 0 ? &splitter->parts[number] : NULL;
	if (part != NULL && part->nreceivers > 0)
	{
		int before;

		if (part->rows.data == NULL)
			begin_buffer(splitter, &part->rows);
		before = part->rows.len;

		encode_row(splitter->encoder, &part->rows, slot->tts_values, slot->tts_isnull);
		splitter->rows[number]++;
		splitter->bytes += part->rows.len - before;
		splitter->buffered += part->rows.len - before;
		result_check_size(splitter->bytes, splitter->spec.limit);
		if (part->rows.len >= splitter->buffer_size)
			flush_part(splitter, number);
		if (splitter->buffered >= BUFFERED_MAX)
			flush_all(splitter);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(splitter->row_context);
	return true;
}

static void
splitter_shutdown(DestReceiver *self)
{
	Splitter *splitter = (Splitter *) self;

	flush_all(splitter);
	foreach_ptr (Receiver, receiver, splitter->receivers)
		receiver_send(splitter, receiver);
	foreach_ptr (Receiver, receiver, splitter->receivers)
		receiver_wait(&receiver->holder);
}

DestReceiver *
splitter_create(const SplitSpec *spec)
{
	Splitter *splitter = palloc0(sizeof(Splitter));

	splitter->pub = (DestReceiver){splitter_receive, splitter_startup, splitter_shutdown,
								   None_Receiver->rDestroy, DestNone};
	splitter->spec = *spec;
	splitter->context = CurrentMemoryContext;
	splitter->let_go = (MemoryContextCallback){receivers_let_go, splitter, NULL};
	MemoryContextRegisterResetCallback(splitter->context, &splitter->let_go);
	splitter->row_context = AllocSetContextCreate(CurrentMemoryContext, "pando split row",
												  ALLOCSET_DEFAULT_SIZES);
	return &splitter->pub;
}

const int64 *
splitter_rows(DestReceiver *splitter)
{
	return ((Splitter *) splitter)->rows;
}

int64
splitter_bytes(DestReceiver *splitter)
{
	return ((Splitter *) splitter)->bytes;
}

/* ------------------------------------------------------------------------------------
 * On the node that has the rows.
 */

char *
split_text(const SplitSpec *spec)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "%s, %s, %d, %s, %d, '{", quote_literal_cstr(spec->name),
					 spec->binary ? "true" : "false", spec->column,
					 spec->keep_nulls ? "true" : "false", spec->limit);
	for (int i = 0; i < spec->nparts; i++)
		appendStringInfo(&sql, "%s%d", i > 0 ? "," : "", spec->min_hash[i]);
	appendStringInfoString(&sql, "}', '{");
	for (int i = 0; i < spec->ntargets; i++)
		appendStringInfo(&sql, "%s%d", i > 0 ? "," : "", spec->targets[i].part);
	appendStringInfoString(&sql, "}', '{");
	for (int i = 0; i < spec->ntargets; i++)
		appendStringInfo(&sql, "%s%d", i > 0 ? "," : "", spec->targets[i].group);
	appendStringInfoString(&sql, "}'");
	return sql.data;
}

char *
split_command(const SplitSpec *spec, const char *query)
{
	return psprintf("SELECT pando.exchange_send(%s, %s)", quote_literal_cstr(query),
					spec->text);
}

static int32 *
int_array(ArrayType *array, int *count)
{
	if (ARR_NDIM(array) > 1 || ARR_ELEMTYPE(array) != INT4OID || ARR_HASNULL(array))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("expected a list of integers")));
	*count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	return (int32 *) ARR_DATA_PTR(array);
}

static void
check_spec(const SplitSpec *spec)
{
	bool good = spec->nparts > 0 && spec->nparts <= MAX_PARTS;

	for (int i = 0; i < spec->ntargets; i++)
		good &= spec->targets[i].part >= 0 && spec->targets[i].part < spec->nparts;
	if (!good)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("the parts of an exchange are not valid")));
}

/* Runs a query with the rights of the role that runs, like COPY (query) TO. */
static void
run_query(const char *sql, int column, DestReceiver *dest)
{
	List *parsed = pg_parse_query(sql);
	List *queries;
	PlannedStmt *plan;
	QueryDesc *query;

	if (list_length(parsed) != 1)
		ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR), errmsg("expected one statement")));
	queries = pg_analyze_and_rewrite_fixedparams(linitial_node(RawStmt, parsed), sql,
												 NULL, 0, NULL);
	if (list_length(queries) != 1 ||
		linitial_node(Query, queries)->commandType != CMD_SELECT)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("only rows of a SELECT can be exchanged")));
	plan = pg_plan_query(linitial(queries), sql, CURSOR_OPT_PARALLEL_OK, NULL);
	PushCopiedSnapshot(GetActiveSnapshot());
	UpdateActiveSnapshotCommandId();
	query = CreateQueryDesc(plan, sql, GetActiveSnapshot(), InvalidSnapshot, dest, NULL,
							NULL, 0);
	ExecutorStart(query, 0);
	if (column < 0 || column > query->tupDesc->natts)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("the rows have no column %d", column)));
	ExecutorRun(query, ForwardScanDirection, 0, true);
	ExecutorFinish(query);
	ExecutorEnd(query);
	FreeQueryDesc(query);
	PopActiveSnapshot();
}

/*
 * pando.exchange_send(query, name, binary, key, keep_nulls, limit, parts' first hashes,
 * targets' parts, targets' groups): splits the query's rows; returns their bytes and, for
 * each part that has any, its number and that of its rows.
 */
Datum
exchange_send(PG_FUNCTION_ARGS)
{
	SplitSpec spec = {.name = text_to_cstring(PG_GETARG_TEXT_PP(1)),
					  .binary = PG_GETARG_BOOL(2),
					  .column = PG_GETARG_INT32(3),
					  .keep_nulls = PG_GETARG_BOOL(4),
					  .limit = PG_GETARG_INT32(5)};
	int ngroups;
	int32 *parts;
	int32 *groups;
	DestReceiver *splitter;
	Datum *numbers;
	int n = 0;

	spec.min_hash = int_array(PG_GETARG_ARRAYTYPE_P(6), &spec.nparts);
	parts = int_array(PG_GETARG_ARRAYTYPE_P(7), &spec.ntargets);
	groups = int_array(PG_GETARG_ARRAYTYPE_P(8), &ngroups);
	if (ngroups != spec.ntargets)
		ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
						errmsg("the parts and groups of an exchange differ in number")));
	spec.targets = palloc(sizeof(SplitTarget) * (spec.ntargets + 1));
	for (int i = 0; i < spec.ntargets; i++)
	{
		spec.targets[i].part = parts[i];
		spec.targets[i].group = groups[i];
	}
	check_spec(&spec);
	split_order_targets(&spec);
	splitter = splitter_create(&spec);
	run_query(text_to_cstring(PG_GETARG_TEXT_PP(0)), spec.column, splitter);

	numbers = palloc(sizeof(Datum) * (2 * (Size) spec.nparts + 1));
	numbers[n++] = Int64GetDatum(splitter_bytes(splitter));
	for (int i = 0; i < spec.nparts; i++)
	{
		if (splitter_rows(splitter)[i] == 0)
			continue;
		numbers[n++] = Int64GetDatum(i);
		numbers[n++] = Int64GetDatum(splitter_rows(splitter)[i]);
	}
	PG_RETURN_ARRAYTYPE_P(construct_array(numbers, n, INT8OID, sizeof(int64),
										  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

/* ------------------------------------------------------------------------------------
 * On the node that will read them.
 */

/* pando.exchange_append(name text, pieces bytea): what another node has sent. */
Datum
exchange_append(PG_FUNCTION_ARGS)
{
	bytea *pieces = PG_GETARG_BYTEA_PP(1);

	pieces_keep(text_to_cstring(PG_GETARG_TEXT_PP(0)), VARDATA_ANY(pieces),
				VARSIZE_ANY_EXHDR(pieces));
	PG_RETURN_VOID();
}
