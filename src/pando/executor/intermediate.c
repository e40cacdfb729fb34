/*
 * intermediate.c: the files that hold intermediate results on a node.
 *
 * Files stand in base/pgsql_tmp, named pgsql_tmp_pando.<role>.<name>: the server's start
 * removes them. The role that runs is part of the name, so that nobody reads another's
 * rows. Each backend remembers the files it made and removes them when its transaction
 * ends.
 *
 * What is in a file is whatever that role wrote: any role may call
 * pando.result_append(). Its lengths are checked before anything is allocated for them.
 *
 * Between nodes a file travels in chunks as arguments of pando.result_append(), one chunk
 * at a time and to all nodes at once, over the transaction's owner sessions: it needs no
 * write transaction and bounded memory.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "catalog/pg_tablespace_d.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "pgstat.h"
#include "port/pg_bswap.h"
#include "common/file_utils.h"
#include "storage/fd.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

#include "pando/executor/decode.h"
#include "pando/executor/intermediate.h"
#include "pando/executor/settings.h"
#include "pando/plan/template.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(result_append);
PG_FUNCTION_INFO_V1(read_intermediate_result);
PG_FUNCTION_INFO_V1(read_intermediate_results);
PG_FUNCTION_INFO_V1(read_intermediate_result_support);

#define BUFFER_SIZE (64 * 1024)
#define CHUNK_SIZE (512 * 1024)
#define MAX_NAME_LENGTH 100

static List *files = NIL; /* char *, paths made in this transaction; TopMemoryContext */

/* ------------------------------------------------------------------------------------
 * Paths.
 */

static void
check_name(const char *name)
{
	size_t length = strlen(name);

	if (length == 0 || length > MAX_NAME_LENGTH ||
		strspn(name,
			   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") !=
			length)
		ereport(ERROR, (errcode(ERRCODE_INVALID_NAME),
						errmsg("result name \"%s\" is not valid", name),
						errdetail("Names have letters, digits, \"_\" and \"-\".")));
}

static char *
result_directory(void)
{
	char path[MAXPGPATH];

	TempTablespacePath(path, DEFAULTTABLESPACE_OID);
	return pstrdup(path);
}

static char *
result_path(const char *name)
{
	check_name(name);
	return psprintf("%s/%s_pando.%u.%s", result_directory(), PG_TEMP_FILE_PREFIX,
					GetUserId(), name);
}

static void
remember_file(const char *path)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

	files = lappend(files, pstrdup(path));
	MemoryContextSwitchTo(old);
}

/* A file that is closed at the end of the transaction at the latest. */
static File
create_file(const char *path)
{
	if (MakePGDirectory(result_directory()) < 0 && errno != EEXIST)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not create directory \"%s\": %m", result_directory())));
	remember_file(path);
	return PathNameCreateTemporaryFile(path, true);
}

static void
write_bytes(File file, const char *path, off_t *offset, const char *data, int length)
{
	while (length > 0)
	{
		int written;

		errno = 0;
		written = FileWrite(file, unconstify(char *, data), length, *offset,
							WAIT_EVENT_BUFFILE_WRITE);
		if (written <= 0)
		{
			if (errno == 0)
				errno = ENOSPC;
			ereport(ERROR, (errcode_for_file_access(),
							errmsg("could not write to file \"%s\": %m", path)));
		}
		data += written;
		length -= written;
		*offset += written;
	}
}

File
result_file_open(const char *name, bool create, off_t *size)
{
	char *path = result_path(name);
	File file = PathNameOpenTemporaryFile(path, O_RDWR);

	if (file <= 0 && create && errno == ENOENT)
		file = create_file(path);
	if (file <= 0)
		ereport(ERROR, (errcode_for_file_access(),
						errmsg("could not open file \"%s\": %m", path)));
	*size = FileSize(file);
	pfree(path);
	return file;
}

void
result_file_write(File file, off_t *offset, const char *data, int length)
{
	write_bytes(file, FilePathName(file), offset, data, length);
}

static void
forget_files(XactMoment moment, bool committed)
{
	if (moment != XACT_MOMENT_END || files == NIL)
		return;
	foreach_ptr (char, path, files)
	{
		if (unlink(path) < 0 && errno != ENOENT)
			ereport(LOG, (errcode_for_file_access(),
						  errmsg("could not remove file \"%s\": %m", path)));
	}
	list_free_deep(files);
	files = NIL;
}

void
result_init(void)
{
	xact_register(forget_files);
}

void
result_remove(const char *name)
{
	char *path = result_path(name);

	if (unlink(path) < 0 && errno != ENOENT)
		ereport(LOG, (errcode_for_file_access(),
					  errmsg("could not remove file \"%s\": %m", path)));
}

/* ------------------------------------------------------------------------------------
 * Writing.
 */

typedef struct ResultWriter
{
	DestReceiver pub;
	char *path;
	File file;
	ResourceOwner owner;
	off_t offset;
	RowEncoder *encoder;
	StringInfoData buffer;
	MemoryContext row_context;
	uint64 rows;
} ResultWriter;

void
result_check_size(uint64 bytes, int kilobytes)
{
	if (kilobytes < 0 || bytes <= (uint64) kilobytes * 1024)
		return;
	ereport(
		ERROR,
		(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
		 errmsg("the intermediate result size exceeds "
				"citus.max_intermediate_result_size (currently %d kB)",
				kilobytes),
		 errdetail("Citus restricts the size of intermediate results of complex "
				   "subqueries and CTEs to avoid accidentally pulling large result "
				   "sets into once place."),
		 errhint("To run the current query, set citus.max_intermediate_result_size to "
				 "a higher value or -1 to disable.")));
}

static void
flush_writer(ResultWriter *writer)
{
	write_bytes(writer->file, writer->path, &writer->offset, writer->buffer.data,
				writer->buffer.len);
	resetStringInfo(&writer->buffer);
}

static void
writer_startup(DestReceiver *self, int operation, TupleDesc desc)
{
	ResultWriter *writer = (ResultWriter *) self;
	ResourceOwner owner = CurrentResourceOwner;

	/* The subplan may end in another resource owner than it began. */
	CurrentResourceOwner = writer->owner;
	writer->file = create_file(writer->path);
	CurrentResourceOwner = owner;
	writer->encoder = encoder_create(desc, columns_travel_binary(desc));
	encode_header(writer->encoder, &writer->buffer);
}

static bool
writer_receive(TupleTableSlot *slot, DestReceiver *self)
{
	ResultWriter *writer = (ResultWriter *) self;
	MemoryContext old = MemoryContextSwitchTo(writer->row_context);

	slot_getallattrs(slot);
	encode_row(writer->encoder, &writer->buffer, slot->tts_values, slot->tts_isnull);
	writer->rows++;
	result_check_size(writer->offset + writer->buffer.len, executor_max_result_size);
	if (writer->buffer.len >= BUFFER_SIZE)
		flush_writer(writer);
	MemoryContextSwitchTo(old);
	MemoryContextReset(writer->row_context);
	return true;
}

static void
writer_shutdown(DestReceiver *self)
{
	ResultWriter *writer = (ResultWriter *) self;

	encode_trailer(&writer->buffer);
	flush_writer(writer);
	FileClose(writer->file);
}

DestReceiver *
result_writer_create(const char *name)
{
	ResultWriter *writer = palloc0(sizeof(ResultWriter));

	writer->pub = (DestReceiver){writer_receive, writer_startup, writer_shutdown,
								 None_Receiver->rDestroy, DestNone};
	writer->path = result_path(name);
	writer->owner = CurrentResourceOwner;
	writer->row_context = AllocSetContextCreate(CurrentMemoryContext, "pando result row",
												ALLOCSET_DEFAULT_SIZES);
	initStringInfo(&writer->buffer);
	return &writer->pub;
}

uint64
result_writer_bytes(DestReceiver *writer)
{
	return ((ResultWriter *) writer)->offset;
}

uint64
result_writer_rows(DestReceiver *writer)
{
	return ((ResultWriter *) writer)->rows;
}

/* ------------------------------------------------------------------------------------
 * Sending.
 */

/* Reads up to `size` bytes; fewer only at the end of the file. */
static int
read_bytes(File file, const char *path, off_t offset, char *data, int size)
{
	int total = 0;

	while (total < size)
	{
		int got = FileRead(file, data + total, size - total, offset + total,
						   WAIT_EVENT_BUFFILE_READ);

		if (got < 0)
			ereport(ERROR, (errcode_for_file_access(),
							errmsg("could not read file \"%s\": %m", path)));
		if (got == 0)
			break;
		total += got;
	}
	return total;
}

static void
send_chunk(List *nodes, const char *name, const char *data, int length, off_t offset)
{
	char *position = psprintf(INT64_FORMAT, (int64) offset);
	const char *values[3] = {name, position, data};
	const int lengths[3] = {0, 0, length};
	List *sessions = NIL;

	foreach_ptr (const DistNode, node, nodes)
	{
		Session *session = xact_session(node, XACT_SNAPSHOT);

		session_send_params(session, "SELECT pando.result_append($1, $2, $3)", 3, values,
							lengths, false, REUSE_PLAN);
		sessions = lappend(sessions, session);
	}
	foreach_ptr (Session, session, sessions)
		session_result_free(session_finish(session));
	list_free(sessions);
	pfree(position);
}

void
result_send(const char *name, List *nodes)
{
	char *path = result_path(name);
	char *data;
	File file;
	off_t offset = 0;
	int length;

	if (nodes == NIL)
		return;
	data = palloc(CHUNK_SIZE);
	file = PathNameOpenTemporaryFile(path, O_RDONLY);
	if (file <= 0)
		ereport(ERROR, (errcode_for_file_access(),
						errmsg("could not open file \"%s\": %m", path)));
	while ((length = read_bytes(file, path, offset, data, CHUNK_SIZE)) > 0)
	{
		send_chunk(nodes, name, data, length, offset);
		offset += length;
	}
	FileClose(file);
	pfree(data);
}

/* pando.result_append(name text, position bigint, data bytea): a piece of a result. */
Datum
result_append(PG_FUNCTION_ARGS)
{
	char *path = result_path(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	off_t offset = PG_GETARG_INT64(1);
	bytea *data = PG_GETARG_BYTEA_PP(2);
	File file = offset == 0 ? create_file(path) : PathNameOpenTemporaryFile(path, O_RDWR);

	if (file <= 0)
		ereport(ERROR, (errcode_for_file_access(),
						errmsg("could not open file \"%s\": %m", path)));
	if (FileSize(file) != offset)
		ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
						errmsg("pieces of an intermediate result are out of order")));
	write_bytes(file, path, &offset, VARDATA_ANY(data), VARSIZE_ANY_EXHDR(data));
	FileClose(file);
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------------------------
 * Reading.
 */

char *
result_file_read(const char *name, int most, int *length)
{
	char *path = result_path(name);
	File file = PathNameOpenTemporaryFile(path, O_RDONLY);
	off_t size;
	char *data;

	*length = 0;
	if (file <= 0 && errno == ENOENT)
		return NULL;
	if (file <= 0)
		ereport(ERROR, (errcode_for_file_access(),
						errmsg("could not open file \"%s\": %m", path)));
	size = Min(FileSize(file), (off_t) most);
	data = palloc(size + 1);
	*length = read_bytes(file, path, 0, data, (int) size);
	FileClose(file);
	pfree(path);
	return data;
}

struct ResultReader
{
	char *path;
	File file; /* 0: all rows are in memory */
	off_t offset;
	off_t length; /* of all */
	char *data;	  /* size + 1 bytes */
	int size;
	int start; /* of what is not used yet */
	int end;
	bool parts; /* rows alone: neither header nor trailer */
};

static bool
open_reader(ResultReader *reader, const char *name)
{
	memset(reader, 0, sizeof(ResultReader));
	reader->path = result_path(name);
	reader->file = PathNameOpenTemporaryFile(reader->path, O_RDONLY);
	if (reader->file <= 0)
		return false;
	reader->length = FileSize(reader->file);
	reader->size = BUFFER_SIZE;
	reader->data = palloc(reader->size + 1);
	return true;
}

static void
pg_attribute_noreturn() cut_off(const ResultReader *reader)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 reader->file > 0
				 ? errmsg("intermediate result file \"%s\" is cut off", reader->path)
				 : errmsg("a piece of an exchange is cut off")));
}

/* Makes at least `length` bytes available at reader->start. */
static void
reader_need(ResultReader *reader, int64 length)
{
	int64 have = reader->end - reader->start;
	int got;

	if (have >= length)
		return;
	/* Nothing is allocated for a length that the file can't hold. */
	if (length - have > reader->length - reader->offset)
		cut_off(reader);
	if (length >= MaxAllocSize)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("a row of an intermediate result is too long")));
	memmove(reader->data, reader->data + reader->start, reader->end - reader->start);
	reader->end -= reader->start;
	reader->start = 0;
	if (length > reader->size)
	{
		reader->size =
			Max((int) length, (int) Min((int64) reader->size * 2, MaxAllocSize - 1));
		reader->data = repalloc(reader->data, reader->size + 1);
	}
	got = read_bytes(reader->file, reader->path, reader->offset,
					 reader->data + reader->end, reader->size - reader->end);
	reader->offset += got;
	reader->end += got;
	if (reader->end - reader->start < length)
		cut_off(reader);
}

static bool
reader_at_end(ResultReader *reader)
{
	return reader->start == reader->end && reader->offset >= reader->length;
}

/* Length of the next row, which is made available whole; 0 at the end. */
static int
next_row_length(ResultReader *reader)
{
	int64 length = sizeof(uint16);
	uint16 count;

	if (reader->parts && reader_at_end(reader))
		return 0;
	reader_need(reader, length);
	memcpy(&count, reader->data + reader->start, sizeof(count));
	count = pg_ntoh16(count);
	if (count == (uint16) -1)
		return 0;
	for (int i = 0; i < count; i++)
	{
		int32 size;

		reader_need(reader, length + sizeof(int32));
		memcpy(&size, reader->data + reader->start + length, sizeof(size));
		size = (int32) pg_ntoh32(size);
		length += sizeof(int32) + Max(size, 0);
		reader_need(reader, length);
	}
	return (int) length;
}

ResultReader *
result_reader_open(const char *name, bool missing_ok)
{
	ResultReader *reader = palloc(sizeof(ResultReader));

	if (!open_reader(reader, name))
	{
		if (missing_ok && errno == ENOENT)
			return NULL;
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("result \"%s\" does not exist", name)));
	}
	reader->parts = true;
	return reader;
}

ResultReader *
result_reader_of_rows(char *rows, int length)
{
	ResultReader *reader = palloc0(sizeof(ResultReader));

	reader->data = rows;
	reader->size = reader->end = length;
	reader->length = reader->offset = length;
	reader->parts = true;
	return reader;
}

char *
result_reader_next(ResultReader *reader, int *length)
{
	char *row;

	*length = next_row_length(reader);
	row = reader->data + reader->start;
	reader->start += *length;
	return *length > 0 ? row : NULL;
}

uint64
result_reader_size(const ResultReader *reader)
{
	return reader->length;
}

void
result_reader_close(ResultReader *reader)
{
	if (reader->file > 0)
	{
		FileClose(reader->file);
		pfree(reader->path);
	}
	pfree(reader->data);
	pfree(reader);
}

static void
read_result(const char *name, ReturnSetInfo *rsinfo)
{
	TupleDesc desc = rsinfo->setDesc;
	Datum *values = palloc(sizeof(Datum) * (desc->natts + 1));
	bool *nulls = palloc(sizeof(bool) * (desc->natts + 1));
	MemoryContext row_context =
		AllocSetContextCreate(CurrentMemoryContext, "result row", ALLOCSET_DEFAULT_SIZES);
	RowDecoder *decoder;
	ResultReader reader;
	bool text_fields;
	int length;

	if (!open_reader(&reader, name))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("result \"%s\" does not exist", name)));
	reader_need(&reader, 19);
	reader.start += decode_copy_header(reader.data, reader.end, &text_fields);
	decoder = decoder_create(desc, !text_fields, true);
	while ((length = next_row_length(&reader)) > 0)
	{
		MemoryContext old = MemoryContextSwitchTo(row_context);

		CHECK_FOR_INTERRUPTS();
		(void) decode_copy_row(decoder, reader.data + reader.start, length, values,
							   nulls);
		tuplestore_putvalues(rsinfo->setResult, desc, values, nulls);
		reader.start += length;
		MemoryContextSwitchTo(old);
		MemoryContextReset(row_context);
	}
	FileClose(reader.file);
	MemoryContextDelete(row_context);
}

/*
 * read_intermediate_result(result_id text, format citus_copy_format): the rows of a
 * result. Files say by themselves how they were written; the format is what scripts give.
 */
Datum
read_intermediate_result(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	read_result(text_to_cstring(PG_GETARG_TEXT_PP(0)),
				(ReturnSetInfo *) fcinfo->resultinfo);
	PG_RETURN_NULL();
}

/* read_intermediate_results(result_ids text[], format): the same for several, in order.
 */
Datum
read_intermediate_results(PG_FUNCTION_ARGS)
{
	Datum *names;
	bool *nulls;
	int count;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), TEXTOID, -1, false, TYPALIGN_INT, &names,
					  &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		if (nulls[i])
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
							errmsg("null result_id is not allowed")));
		read_result(TextDatumGetCString(names[i]), (ReturnSetInfo *) fcinfo->resultinfo);
	}
	PG_RETURN_NULL();
}

/* About how many rows a result has, from its size and its first row. */
static double
estimate_rows(const char *name)
{
	ResultReader reader;
	double rows = 0;
	int length;
	bool text_fields;

	if (!open_reader(&reader, name))
		return -1;
	reader_need(&reader, 19);
	reader.start += decode_copy_header(reader.data, reader.end, &text_fields);
	length = next_row_length(&reader);
	if (length > 0)
		rows = (double) FileSize(reader.file) / length;
	FileClose(reader.file);
	return Max(rows, 1);
}

/* Tells the planner how many rows a result has. */
Datum
read_intermediate_result_support(PG_FUNCTION_ARGS)
{
	Node *request = (Node *) PG_GETARG_POINTER(0);
	SupportRequestRows *rows = (SupportRequestRows *) request;
	Node *name;
	char *id;

	if (!IsA(request, SupportRequestRows) || !is_funcclause(rows->node))
		PG_RETURN_POINTER(NULL);
	name = linitial(((FuncExpr *) rows->node)->args);
	if (!IsA(name, Const) || ((Const *) name)->constisnull)
		PG_RETURN_POINTER(NULL);
	id = TextDatumGetCString(((Const *) name)->constvalue);
	/* While the query that reads it is still being planned. */
	if (template_is_result_placeholder(id))
		PG_RETURN_POINTER(NULL);
	rows->rows = estimate_rows(id);
	if (rows->rows < 0)
		PG_RETURN_POINTER(NULL);
	PG_RETURN_POINTER(rows);
}
