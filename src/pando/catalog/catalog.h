/*
 * catalog.h: what all the pg_dist_* catalogs have in common.
 *
 * A catalog table is described by a Catalog: its name and, per column that we keep, where
 * the value stands in a C struct (the *row*) and how it is stored. Rows are read and
 * written whole, through the server's catalog access functions: no SQL, no permissions
 * checked, the newest committed state seen plus this transaction's own changes up to the
 * last CommandCounterIncrement(). Callers check rights and increment.
 *
 * The files beside this one wrap it per table, and send the invalidations.
 */
#ifndef PANDO_CATALOG_CATALOG_H
#define PANDO_CATALOG_CATALOG_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

typedef enum ColumnKind
{
	COLUMN_INT4,
	COLUMN_INT4_OR_NULL, /* int32; -1 is SQL NULL */
	COLUMN_INT8,
	COLUMN_OID,
	COLUMN_BOOL,
	COLUMN_BOOL_OR_NULL, /* int32; -1 is SQL NULL, else 0 or 1 */
	COLUMN_CHAR,
	COLUMN_TEXT,	   /* char *; NULL is SQL NULL */
	COLUMN_NAME,	   /* char * */
	COLUMN_ENUM,	   /* char *, the label */
	COLUMN_TEXT_ARRAY, /* List of char *; an SQL NULL reads as NIL */
	COLUMN_INT4_ARRAY, /* List of int; NIL is SQL NULL */
	COLUMN_TIME,	   /* TimestampTz; 0 is SQL NULL */
	COLUMN_XID8,	   /* uint64; 0 is SQL NULL */
	COLUMN_JSONB	   /* Jsonb *; NULL is SQL NULL */
} ColumnKind;

typedef struct CatalogColumn
{
	const char *name;
	ColumnKind kind;
	size_t offset; /* in the row */
} CatalogColumn;

typedef struct Catalog
{
	const char *name;
	size_t row_size;
	int ncolumns;
	const CatalogColumn *columns;
} Catalog;

#define CATALOG_OF(name, row, columns)                                                   \
	{                                                                                    \
		name, sizeof(row), lengthof(columns), columns                                    \
	}

typedef enum CatalogCompare
{
	KEY_IS,
	KEY_IS_AT_LEAST, /* INT8 only, as the next one */
	KEY_IS_AT_MOST
} CatalogCompare;

/* One condition of a scan: column = value, or a bound; the index must have the column. */
typedef struct CatalogKey
{
	const char *column;
	ColumnKind kind; /* INT4, INT8, OID, TEXT or ENUM (a label as cstring) */
	Datum value;
	CatalogCompare compare;
} CatalogKey;

#define KEY_INT4(column, value)                                                          \
	{                                                                                    \
		column, COLUMN_INT4, Int32GetDatum(value)                                        \
	}
#define KEY_INT8(column, value)                                                          \
	{                                                                                    \
		column, COLUMN_INT8, Int64GetDatum(value)                                        \
	}
#define KEY_INT8_AT_LEAST(column, value)                                                 \
	{                                                                                    \
		column, COLUMN_INT8, Int64GetDatum(value), KEY_IS_AT_LEAST                       \
	}
#define KEY_INT8_AT_MOST(column, value)                                                  \
	{                                                                                    \
		column, COLUMN_INT8, Int64GetDatum(value), KEY_IS_AT_MOST                        \
	}
#define KEY_OID(column, value)                                                           \
	{                                                                                    \
		column, COLUMN_OID, ObjectIdGetDatum(value)                                      \
	}
#define KEY_ENUM(column, label)                                                          \
	{                                                                                    \
		column, COLUMN_ENUM, CStringGetDatum(label)                                      \
	}
#define KEY_TEXT(column, value)                                                          \
	{                                                                                    \
		column, COLUMN_TEXT, CStringGetTextDatum(value)                                  \
	}

/* OID of a relation of ours; raises when the extension isn't there. */
extern Oid catalog_oid(const char *name);

/*
 * Rows that match all keys, as a List of row structs in the current memory context, in
 * order of the index (of the heap when index is NULL).
 */
extern List *catalog_scan(const Catalog *catalog, const char *index, int nkeys,
						  const CatalogKey *keys);

/*
 * Rows that a transaction has inserted which is under way, or prepared; of that one alone
 * if xid is valid. In no order.
 */
extern List *catalog_scan_undecided(const Catalog *catalog, TransactionId xid);

/* The first row that matches, in the same order; NULL if there is none. */
extern void *catalog_find(const Catalog *catalog, const char *index, int nkeys,
						  const CatalogKey *keys);

extern void catalog_insert(const Catalog *catalog, const void *row);
extern void catalog_insert_all(const Catalog *catalog, List *rows);

/* Replaces the row that matches; returns false when there is none. */
extern bool catalog_update(const Catalog *catalog, const char *index, int nkeys,
						   const CatalogKey *keys, const void *row);

/* Deletes all rows that match; returns how many. */
extern int catalog_delete(const Catalog *catalog, const char *index, int nkeys,
						  const CatalogKey *keys);

/* Reads the whole table and deletes the rows for which matches() says so. */
extern void catalog_delete_each(const Catalog *catalog,
								bool (*matches)(const void *row, const void *context),
								const void *context);

/*
 * Next value of one of our sequences, whoever the current user is; or the one that a
 * setting such as citus.next_shard_id chose.
 */
extern int64 catalog_nextval(const char *sequence);

/* Ids of the whole cluster may be another node's to give: false if they are this one's.
 */
extern void catalog_set_ids_elsewhere(bool (*next)(const char *sequence, int64 *id));
extern bool catalog_chosen_id(const char *sequence, int64 *id);

/* Makes every backend reload what it cached about a relation; nothing if it's gone. */
extern void catalog_invalidate(Oid relid);

#endif
