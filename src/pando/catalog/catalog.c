/*
 * catalog.c: reading and writing rows of any pg_dist_* catalog by its description.
 *
 * Columns are found by name in the table's descriptor, so that a column added by an
 * update of the extension does not disturb the ones we know. Relations are found through
 * the server's own cache of names, which follows DROP and CREATE EXTENSION.
 */
#include "pando/compat/compat.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/inval.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/xid8.h"

#include "pando/base/debug_point.h"
#include "pando/catalog/catalog.h"

Oid
catalog_oid(const char *name)
{
	Oid relid = get_relname_relid(name, PG_CATALOG_NAMESPACE);

	if (!OidIsValid(relid))
		relid = get_relname_relid(name, get_namespace_oid("pando", true));
	if (!OidIsValid(relid))
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("catalog relation \"%s\" of pando does not exist", name),
						errhint("Run CREATE EXTENSION pando.")));
	return relid;
}

static AttrNumber
catalog_attnum(Relation rel, const char *column)
{
	TupleDesc desc = RelationGetDescr(rel);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);

		if (!attr->attisdropped && strcmp(NameStr(attr->attname), column) == 0)
			return attr->attnum;
	}
	elog(ERROR, "catalog \"%s\" has no column \"%s\"", RelationGetRelationName(rel),
		 column);
}

/* ------------------------------------------------------------------------------------
 * Values of a column and of a row.
 */

static List *
catalog_array_to_list(Datum value)
{
	List *list = NIL;
	Datum *elements;
	bool *nulls;
	int n;

	deconstruct_array(DatumGetArrayTypeP(value), TEXTOID, -1, false, TYPALIGN_INT,
					  &elements, &nulls, &n);
	for (int i = 0; i < n; i++)
		list = lappend(list, nulls[i] ? NULL : TextDatumGetCString(elements[i]));
	return list;
}

static Datum
catalog_list_to_array(List *list)
{
	Datum *elements = palloc(sizeof(Datum) * Max(list_length(list), 1));
	int n = 0;
	ListCell *cell;

	foreach (cell, list)
		elements[n++] = CStringGetTextDatum((char *) lfirst(cell));
	return PointerGetDatum(
		construct_array(elements, n, TEXTOID, -1, false, TYPALIGN_INT));
}

static List *
catalog_array_to_ints(Datum value)
{
	List *list = NIL;
	Datum *elements;
	bool *nulls;
	int n;

	deconstruct_array(DatumGetArrayTypeP(value), INT4OID, 4, true, TYPALIGN_INT,
					  &elements, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		if (!nulls[i])
			list = lappend_int(list, DatumGetInt32(elements[i]));
	}
	return list;
}

static Datum
catalog_ints_to_array(List *list)
{
	Datum *elements = palloc(sizeof(Datum) * Max(list_length(list), 1));
	int n = 0;
	ListCell *cell;

	foreach (cell, list)
		elements[n++] = Int32GetDatum(lfirst_int(cell));
	return PointerGetDatum(construct_array(elements, n, INT4OID, 4, true, TYPALIGN_INT));
}

static char *
catalog_enum_label(Datum value)
{
	return DatumGetCString(DirectFunctionCall1(enum_out, value));
}

static void
catalog_field_read(ColumnKind kind, Datum value, bool isnull, void *field)
{
	switch (kind)
	{
		case COLUMN_INT4:
			*(int32 *) field = isnull ? 0 : DatumGetInt32(value);
			break;
		case COLUMN_INT4_OR_NULL:
			*(int32 *) field = isnull ? -1 : DatumGetInt32(value);
			break;
		case COLUMN_INT8:
			*(int64 *) field = isnull ? 0 : DatumGetInt64(value);
			break;
		case COLUMN_OID:
			*(Oid *) field = isnull ? InvalidOid : DatumGetObjectId(value);
			break;
		case COLUMN_BOOL:
			*(bool *) field = !isnull && DatumGetBool(value);
			break;
		case COLUMN_BOOL_OR_NULL:
			*(int32 *) field = isnull ? -1 : DatumGetBool(value);
			break;
		case COLUMN_CHAR:
			*(char *) field = isnull ? '\0' : DatumGetChar(value);
			break;
		case COLUMN_TEXT:
			*(char **) field = isnull ? NULL : TextDatumGetCString(value);
			break;
		case COLUMN_NAME:
			*(char **) field = isnull ? NULL : pstrdup(NameStr(*DatumGetName(value)));
			break;
		case COLUMN_ENUM:
			*(char **) field = isnull ? NULL : catalog_enum_label(value);
			break;
		case COLUMN_TEXT_ARRAY:
			*(List **) field = isnull ? NIL : catalog_array_to_list(value);
			break;
		case COLUMN_INT4_ARRAY:
			*(List **) field = isnull ? NIL : catalog_array_to_ints(value);
			break;
		case COLUMN_TIME:
			*(TimestampTz *) field = isnull ? 0 : DatumGetTimestampTz(value);
			break;
		case COLUMN_XID8:
			*(uint64 *) field =
				isnull ? 0 : U64FromFullTransactionId(DatumGetFullTransactionId(value));
			break;
		case COLUMN_JSONB:
			*(Jsonb **) field = isnull ? NULL : DatumGetJsonbPCopy(value);
			break;
	}
}

static Datum
catalog_enum_value(Oid type, const char *label)
{
	return DirectFunctionCall2(enum_in, CStringGetDatum(label), ObjectIdGetDatum(type));
}

/* A NameData of its own: what a name column stores is always NAMEDATALEN bytes. */
static Datum
catalog_name_value(const char *name)
{
	return DirectFunctionCall1(namein, CStringGetDatum(name));
}

static Datum
catalog_field_write(ColumnKind kind, const void *field, Oid type, bool *isnull)
{
	*isnull = false;
	switch (kind)
	{
		case COLUMN_INT4:
			return Int32GetDatum(*(const int32 *) field);
		case COLUMN_INT4_OR_NULL:
			*isnull = *(const int32 *) field == -1;
			return Int32GetDatum(*(const int32 *) field);
		case COLUMN_INT8:
			return Int64GetDatum(*(const int64 *) field);
		case COLUMN_OID:
			return ObjectIdGetDatum(*(const Oid *) field);
		case COLUMN_BOOL:
			return BoolGetDatum(*(const bool *) field);
		case COLUMN_BOOL_OR_NULL:
			*isnull = *(const int32 *) field == -1;
			return BoolGetDatum(*(const int32 *) field == 1);
		case COLUMN_CHAR:
			return CharGetDatum(*(const char *) field);
		case COLUMN_TEXT_ARRAY:
			return catalog_list_to_array(*(List *const *) field);
		case COLUMN_INT4_ARRAY:
			*isnull = *(List *const *) field == NIL;
			return catalog_ints_to_array(*(List *const *) field);
		case COLUMN_TIME:
			*isnull = *(const TimestampTz *) field == 0;
			return TimestampTzGetDatum(*(const TimestampTz *) field);
		case COLUMN_XID8:
			*isnull = *(const uint64 *) field == 0;
			return FullTransactionIdGetDatum(
				FullTransactionIdFromU64(*(const uint64 *) field));
		case COLUMN_JSONB:
			*isnull = *(Jsonb *const *) field == NULL;
			return JsonbPGetDatum(*(Jsonb *const *) field);
		case COLUMN_TEXT:
		case COLUMN_NAME:
		case COLUMN_ENUM:
			break;
	}

	const char *text = *(const char *const *) field;

	*isnull = text == NULL;
	if (text == NULL)
		return (Datum) 0;
	if (kind == COLUMN_TEXT)
		return CStringGetTextDatum(text);
	if (kind == COLUMN_NAME)
		return catalog_name_value(text);
	return catalog_enum_value(type, text);
}

/* Where a catalog's columns stand in its table. */
static AttrNumber *
catalog_attnums(const Catalog *catalog, Relation rel)
{
	AttrNumber *attnums = palloc(sizeof(AttrNumber) * catalog->ncolumns);

	for (int i = 0; i < catalog->ncolumns; i++)
		attnums[i] = catalog_attnum(rel, catalog->columns[i].name);
	return attnums;
}

static void *
catalog_row_read(const Catalog *catalog, Relation rel, const AttrNumber *attnums,
				 HeapTuple tuple)
{
	char *row = palloc0(catalog->row_size);

	for (int i = 0; i < catalog->ncolumns; i++)
	{
		const CatalogColumn *column = &catalog->columns[i];
		bool isnull;
		Datum value = heap_getattr(tuple, attnums[i], RelationGetDescr(rel), &isnull);

		catalog_field_read(column->kind, value, isnull, row + column->offset);
	}
	return row;
}

/* Sets the arrays (all columns of the table, preset by the caller) from the row. */
static void
catalog_row_write(const Catalog *catalog, Relation rel, const void *row, Datum *values,
				  bool *nulls)
{
	for (int i = 0; i < catalog->ncolumns; i++)
	{
		const CatalogColumn *column = &catalog->columns[i];
		int at = catalog_attnum(rel, column->name) - 1;

		values[at] = catalog_field_write(
			column->kind, (const char *) row + column->offset,
			TupleDescAttr(RelationGetDescr(rel), at)->atttypid, &nulls[at]);
	}
}

/* ------------------------------------------------------------------------------------
 * Scans and changes.
 */

#define MAX_KEYS 4

static SysScanDesc
catalog_scan_begin(Relation rel, const char *index, int nkeys, const CatalogKey *keys)
{
	ScanKeyData scankeys[MAX_KEYS];

	Assert(nkeys <= MAX_KEYS);
	DEBUG_STEPS(1);
	for (int i = 0; i < nkeys; i++)
	{
		StrategyNumber strategy = BTEqualStrategyNumber;
		RegProcedure compare = keys[i].kind == COLUMN_INT4	 ? F_INT4EQ
							   : keys[i].kind == COLUMN_INT8 ? F_INT8EQ
							   : keys[i].kind == COLUMN_OID	 ? F_OIDEQ
							   : keys[i].kind == COLUMN_ENUM ? F_ENUM_EQ
															 : F_TEXTEQ;
		AttrNumber attnum = catalog_attnum(rel, keys[i].column);
		Datum value = keys[i].value;

		if (keys[i].compare != KEY_IS)
		{
			bool least = keys[i].compare == KEY_IS_AT_LEAST;

			Assert(keys[i].kind == COLUMN_INT8);
			strategy = least ? BTGreaterEqualStrategyNumber : BTLessEqualStrategyNumber;
			compare = least ? F_INT8GE : F_INT8LE;
		}
		if (keys[i].kind == COLUMN_ENUM)
			value = catalog_enum_value(
				TupleDescAttr(RelationGetDescr(rel), attnum - 1)->atttypid,
				DatumGetCString(value));
		ScanKeyInit(&scankeys[i], attnum, strategy, compare, value);
	}
	return systable_beginscan(rel, index != NULL ? catalog_oid(index) : InvalidOid,
							  index != NULL, NULL, nkeys, scankeys);
}

List *
catalog_scan(const Catalog *catalog, const char *index, int nkeys, const CatalogKey *keys)
{
	List *rows = NIL;
	Relation rel = table_open(catalog_oid(catalog->name), AccessShareLock);
	AttrNumber *attnums = catalog_attnums(catalog, rel);
	SysScanDesc scan = catalog_scan_begin(rel, index, nkeys, keys);
	HeapTuple tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		rows = lappend(rows, catalog_row_read(catalog, rel, attnums, tuple));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	pfree(attnums);
	return rows;
}

List *
catalog_scan_undecided(const Catalog *catalog, TransactionId xid)
{
	List *rows = NIL;
	Relation rel = table_open(catalog_oid(catalog->name), AccessShareLock);
	AttrNumber *attnums = catalog_attnums(catalog, rel);
	SnapshotData snapshot;
	SysScanDesc scan;
	HeapTuple tuple;

	InitDirtySnapshot(snapshot);
	scan = systable_beginscan(rel, InvalidOid, false, &snapshot, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (TransactionIdIsValid(snapshot.xmin) &&
			(!TransactionIdIsValid(xid) || TransactionIdEquals(snapshot.xmin, xid)))
			rows = lappend(rows, catalog_row_read(catalog, rel, attnums, tuple));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	pfree(attnums);
	return rows;
}

void *
catalog_find(const Catalog *catalog, const char *index, int nkeys, const CatalogKey *keys)
{
	Relation rel = table_open(catalog_oid(catalog->name), AccessShareLock);
	SysScanDesc scan = catalog_scan_begin(rel, index, nkeys, keys);
	HeapTuple tuple = systable_getnext(scan);
	void *row = NULL;

	if (HeapTupleIsValid(tuple))
	{
		AttrNumber *attnums = catalog_attnums(catalog, rel);

		row = catalog_row_read(catalog, rel, attnums, tuple);
		pfree(attnums);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return row;
}

void
catalog_insert_all(const Catalog *catalog, List *rows)
{
	Relation rel = table_open(catalog_oid(catalog->name), RowExclusiveLock);
	CatalogIndexState indexes = CatalogOpenIndexes(rel);
	int natts = RelationGetNumberOfAttributes(rel);
	Datum *values = palloc0(sizeof(Datum) * natts);
	bool *nulls = palloc(sizeof(bool) * natts);

	foreach_ptr (void, row, rows)
	{
		HeapTuple tuple;

		memset(nulls, true, sizeof(bool) * natts);
		catalog_row_write(catalog, rel, row, values, nulls);
		tuple = heap_form_tuple(RelationGetDescr(rel), values, nulls);
		CatalogTupleInsertWithInfo(rel, tuple, indexes);
		heap_freetuple(tuple);
	}
	pfree(values);
	pfree(nulls);
	CatalogCloseIndexes(indexes);
	table_close(rel, RowExclusiveLock);
}

void
catalog_insert(const Catalog *catalog, const void *row)
{
	catalog_insert_all(catalog, list_make1(unconstify(void *, row)));
}

bool
catalog_update(const Catalog *catalog, const char *index, int nkeys,
			   const CatalogKey *keys, const void *row)
{
	Relation rel = table_open(catalog_oid(catalog->name), RowExclusiveLock);
	int natts = RelationGetNumberOfAttributes(rel);
	SysScanDesc scan = catalog_scan_begin(rel, index, nkeys, keys);
	HeapTuple tuple = systable_getnext(scan);
	bool found = HeapTupleIsValid(tuple);

	if (found)
	{
		Datum *values = palloc0(sizeof(Datum) * natts);
		bool *nulls = palloc0(sizeof(bool) * natts);
		HeapTuple changed;

		heap_deform_tuple(tuple, RelationGetDescr(rel), values, nulls);
		catalog_row_write(catalog, rel, row, values, nulls);
		changed = heap_form_tuple(RelationGetDescr(rel), values, nulls);
		CatalogTupleUpdate(rel, &tuple->t_self, changed);
	}
	systable_endscan(scan);
	table_close(rel, RowExclusiveLock);
	return found;
}

int
catalog_delete(const Catalog *catalog, const char *index, int nkeys,
			   const CatalogKey *keys)
{
	int deleted = 0;
	Relation rel = table_open(catalog_oid(catalog->name), RowExclusiveLock);
	SysScanDesc scan = catalog_scan_begin(rel, index, nkeys, keys);
	HeapTuple tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		CatalogTupleDelete(rel, &tuple->t_self);
		deleted++;
	}
	systable_endscan(scan);
	table_close(rel, RowExclusiveLock);
	return deleted;
}

void
catalog_delete_each(const Catalog *catalog,
					bool (*matches)(const void *row, const void *context),
					const void *context)
{
	Relation rel = table_open(catalog_oid(catalog->name), RowExclusiveLock);
	AttrNumber *attnums = catalog_attnums(catalog, rel);
	SysScanDesc scan = catalog_scan_begin(rel, NULL, 0, NULL);
	HeapTuple tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (matches(catalog_row_read(catalog, rel, attnums, tuple), context))
			CatalogTupleDelete(rel, &tuple->t_self);
	}
	systable_endscan(scan);
	table_close(rel, RowExclusiveLock);
}

static bool (*ids_elsewhere)(const char *sequence, int64 *id) = NULL;

void
catalog_set_ids_elsewhere(bool (*next)(const char *sequence, int64 *id))
{
	ids_elsewhere = next;
}

int64
catalog_nextval(const char *sequence)
{
	int64 id;

	if (catalog_chosen_id(sequence, &id) ||
		(ids_elsewhere != NULL && ids_elsewhere(sequence, &id)))
		return id;
	return nextval_internal(catalog_oid(sequence), false);
}

void
catalog_invalidate(Oid relid)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));

	if (HeapTupleIsValid(tuple))
	{
		CacheInvalidateRelcacheByTuple(tuple);
		ReleaseSysCache(tuple);
	}
}
