/*
 * pieces.c: the parts of an exchanged result on a node that reads them.
 */
#include "pando/compat/compat.h"

#include "miscadmin.h"
#include "port/pg_bswap.h"

#include "pando/executor/pieces.h"

/* Bytes of a group's pieces that are in one file, which a reader of any part reads. */
#define TOGETHER_MAX (256 * 1024)

#define HEAD_NUMBERS 3

typedef struct Piece
{
	int part;
	int32 group;
	const char *rows;
	Size length;
} Piece;

void
pieces_add(StringInfo message, int part, int32 group, const StringInfoData *rows)
{
	const uint32 head[HEAD_NUMBERS] = {pg_hton32(part), pg_hton32(group),
									   pg_hton32(rows->len)};

	appendBinaryStringInfo(message, (const char *) head, sizeof(head));
	appendBinaryStringInfo(message, rows->data, rows->len);
}

/* Takes the next piece off the data; raises if it is cut off. */
static Piece
next_piece(const char **data, const char *end)
{
	uint32 head[HEAD_NUMBERS];
	Piece piece;

	if (end - *data >= (ptrdiff_t) sizeof(head))
	{
		memcpy(head, *data, sizeof(head));
		*data += sizeof(head);
		piece = (Piece){(int) pg_ntoh32(head[0]), (int32) pg_ntoh32(head[1]), *data,
						pg_ntoh32(head[2])};
		if (piece.length <= (Size) (end - *data))
		{
			*data += piece.length;
			return piece;
		}
	}
	ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
					errmsg("a piece of an exchange is cut off")));
}

static char *
part_name(const char *result, int part, int32 group)
{
	return psprintf("%s_%d_%d", result, part, group);
}

static char *
together_name(const char *result, int32 group)
{
	return psprintf("%s_all_%d", result, group);
}

/* ------------------------------------------------------------------------------------
 * Keeping.
 */

static bool
keep_together(const char *result, int32 group, const char *data, Size length)
{
	off_t size;
	File file;
	bool fits;

	if (length > TOGETHER_MAX)
		return false;
	file = result_file_open(together_name(result, group), true, &size);
	fits = size + (off_t) length <= TOGETHER_MAX;
	if (fits)
		result_file_write(file, &size, data, (int) length);
	FileClose(file);
	return fits;
}

static void
keep_piece(const char *result, const Piece *piece)
{
	off_t size;
	File file =
		result_file_open(part_name(result, piece->part, piece->group), true, &size);

	result_file_write(file, &size, piece->rows, (int) piece->length);
	FileClose(file);
}

void
pieces_keep(const char *result, const char *data, Size length)
{
	const char *end = data + length;
	const char *p = data;
	int32 group = 0;
	bool one_group = true;

	while (p < end)
	{
		bool first = p == data;
		Piece piece = next_piece(&p, end);

		if (first)
			group = piece.group;
		one_group &= piece.group == group;
	}
	if (length == 0 || (one_group && keep_together(result, group, data, length)))
		return;
	for (p = data; p < end;)
	{
		Piece piece = next_piece(&p, end);

		CHECK_FOR_INTERRUPTS();
		keep_piece(result, &piece);
	}
}

/* ------------------------------------------------------------------------------------
 * Reading.
 */

/* The part's rows among all of the group's; NULL: there are none. */
static ResultReader *
open_together(const char *result, int part, int32 group)
{
	int length;
	char *data = result_file_read(together_name(result, group), TOGETHER_MAX, &length);
	const char *end = data + length;
	const char *p = data;
	bool found = false;
	int kept = 0;

	while (data != NULL && p < end)
	{
		Piece piece = next_piece(&p, end);

		if (piece.part != part)
			continue;
		/* Backwards: what is overwritten has been looked at. */
		memmove(data + kept, piece.rows, piece.length);
		kept += (int) piece.length;
		found = true;
	}
	if (found)
		return result_reader_of_rows(data, kept);
	if (data != NULL)
		pfree(data);
	return NULL;
}

List *
pieces_open(const char *result, int part, int32 group)
{
	ResultReader *together = open_together(result, part, group);
	ResultReader *own =
		result_reader_open(part_name(result, part, group), together != NULL);
	List *readers = NIL;

	if (together != NULL)
		readers = lappend(readers, together);
	if (own != NULL)
		readers = lappend(readers, own);
	return readers;
}
