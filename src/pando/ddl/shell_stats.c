/*
 * shell_stats.c: size and column statistics of shell tables, from the shards'.
 *
 * ANALYZE has been to each shard on its node. Sizes are added up over all nodes. Column
 * statistics are those of one large shard, taken as a sample of the table: rows are
 * spread by hash, so frequencies, widths and histograms hold for the whole. Two things do
 * not carry over: the number of distinct values, which is extrapolated, and the
 * distribution column, whose values are in one shard only.
 */
#include "pando/compat/compat.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "commands/vacuum.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "optimizer/plancat.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/ddl/handler.h"
#include "pando/ddl/shell_stats.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

/* ------------------------------------------------------------------------------------
 * Sizes
 */

static char *
sizes_command(List *relids, int32 group)
{
	StringInfoData sql;
	const char *separator = "";
	ListCell *cell;

	initStringInfo(&sql);
	appendStringInfoString(
		&sql, "SELECT coalesce(string_agg(format('%s %s', pages, tuples), ',' "
			  "ORDER BY n), '') FROM (VALUES ");
	foreach (cell, relids)
	{
		appendStringInfo(&sql, "%s(%d, ARRAY[", separator, foreach_current_index(cell));
		separator = "";
		foreach_ptr (ShardMap, map, job_shard_maps(lfirst_oid(cell), group))
		{
			appendStringInfo(
				&sql, "%s%s", separator,
				quote_literal_cstr(name_shard_qualified(map->relid, map->shard_id)));
			separator = ", ";
		}
		appendStringInfoString(&sql, "]::text[])");
		separator = ", ";
	}
	appendStringInfoString(
		&sql, ") AS t(n, names), LATERAL (SELECT coalesce(sum(relpages), 0) AS pages, "
			  "coalesce(sum(greatest(reltuples, 0)), 0)::numeric AS tuples FROM "
			  "pg_catalog.pg_class "
			  "WHERE oid IN (SELECT pg_catalog.to_regclass(name) FROM unnest(names) AS "
			  "name)) AS s");
	return sql.data;
}

static void
shell_set_size(Oid relid, double pages, double tuples)
{
	Relation shell = table_open(relid, ShareUpdateExclusiveLock);

	vac_update_relstats(shell, (BlockNumber) Min(pages, (double) MaxBlockNumber), tuples,
						0, shell->rd_rel->relhasindex, InvalidTransactionId,
						InvalidMultiXactId, NULL, NULL, false);
	table_close(shell, NoLock);
}

/* Adds up the shards' sizes over all nodes; sets tuples[] per table. */
static void
shells_take_sizes(List *relids, double *tuples)
{
	int count = list_length(relids);
	double *pages = palloc0(sizeof(double) * count);
	ListCell *cell;

	foreach_ptr (const DistNode, node, node_list(NODES_ALL))
	{
		char *command = sizes_command(relids, node->group);
		char *position = node->group == node_local_group()
							 ? sql_value("%s", command)
							 : xact_value_from_node(node, command);

		for (int i = 0; i < count && position != NULL && *position != '\0'; i++)
		{
			pages[i] += strtod(position, &position);
			tuples[i] += strtod(position, &position);
			if (*position == ',')
				position++;
		}
	}
	foreach (cell, relids)
	{
		int i = foreach_current_index(cell);
		const DistTable *table = dist_table(lfirst_oid(cell));
		int copies =
			table != NULL && table->nshards > 0 ? table->shards[0].nplacements : 1;

		tuples[i] /= Max(copies, 1);
		shell_set_size(lfirst_oid(cell), pages[i] / Max(copies, 1), tuples[i]);
	}
}

/* ------------------------------------------------------------------------------------
 * Columns
 */

/* Statistics of one column of the sample shard, as text; NULL for none. */
typedef struct ColumnStats
{
	char *name;
	double null_frac;
	int32 width;
	double distinct; /* as in pg_stats: negative is a share of the rows */
	char *common;
	char *frequencies;
	char *histogram;
	double shard_tuples;
} ColumnStats;

/* JSON with the statistics of the largest of a node's shards. */
static char *
sample_command(Oid relid, List *maps)
{
	StringInfoData sql;
	const char *separator = "";

	initStringInfo(&sql);
	appendStringInfoString(
		&sql,
		"SELECT (SELECT pg_catalog.json_agg(s) FROM (SELECT attname, null_frac, "
		"avg_width, "
		"n_distinct, most_common_vals::text AS common, most_common_freqs::text AS "
		"frequencies, histogram_bounds::text AS histogram, c.reltuples AS tuples "
		"FROM pg_catalog.pg_stats WHERE schemaname = n.nspname AND tablename = c.relname "
		"AND NOT inherited) s) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n "
		"ON n.oid = c.relnamespace WHERE c.oid IN (SELECT pg_catalog.to_regclass(name) "
		"FROM pg_catalog.unnest(ARRAY[");
	foreach_ptr (ShardMap, map, maps)
	{
		appendStringInfo(&sql, "%s%s", separator,
						 quote_literal_cstr(name_shard_qualified(relid, map->shard_id)));
		separator = ", ";
	}
	appendStringInfoString(&sql, "]::text[]) AS name) AND c.reltuples > 0 "
								 "ORDER BY c.reltuples DESC LIMIT 1");
	return sql.data;
}

/* The sample of the first node that has one; NULL when there are no statistics. */
static char *
sample_fetch(Oid relid)
{
	foreach_ptr (const DistNode, node, node_list(NODES_ALL))
	{
		List *maps = job_shard_maps(relid, node->group);
		char *json;

		if (maps == NIL)
			continue;
		json = node->group == node_local_group()
				   ? sql_value("%s", sample_command(relid, maps))
				   : xact_value_from_node(node, sample_command(relid, maps));
		if (json != NULL)
			return json;
	}
	return NULL;
}

/* Field of the current SPI row as a number, 0 for NULL. */
static double
sample_number(HeapTuple tuple, TupleDesc desc, int column)
{
	char *value = SPI_getvalue(tuple, desc, column);

	return value != NULL ? strtod(value, NULL) : 0;
}

/* JSON to a List of ColumnStats in the caller's context. */
static List *
sample_parse(const char *json)
{
	MemoryContext context = CurrentMemoryContext;
	List *columns = NIL;
	char *sql = psprintf(
		"SELECT * FROM pg_catalog.json_to_recordset(%s::json) AS s(attname text, "
		"null_frac float8, avg_width int, n_distinct float8, common text, "
		"frequencies text, histogram text, tuples float8)",
		quote_literal_cstr(json));

	SPI_connect();
	if (SPI_execute(sql, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read statistics");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple tuple = SPI_tuptable->vals[i];
		TupleDesc desc = SPI_tuptable->tupdesc;
		MemoryContext old = MemoryContextSwitchTo(context);
		ColumnStats *column = palloc0(sizeof(ColumnStats));

		column->name = SPI_getvalue(tuple, desc, 1);
		column->null_frac = sample_number(tuple, desc, 2);
		column->width = (int32) sample_number(tuple, desc, 3);
		column->distinct = sample_number(tuple, desc, 4);
		column->common = SPI_getvalue(tuple, desc, 5);
		column->frequencies = SPI_getvalue(tuple, desc, 6);
		column->histogram = SPI_getvalue(tuple, desc, 7);
		column->shard_tuples = sample_number(tuple, desc, 8);
		columns = lappend(columns, column);
		MemoryContextSwitchTo(old);
	}
	SPI_finish();
	return columns;
}

/*
 * How many values D are in a table if a shard of m rows has d of them? When values have
 * nothing to do with shards, d = D * (1 - exp(-m / D)); solved for D by bisection.
 */
static double
distinct_extrapolate(double d, double m, double n)
{
	double low = d;
	double high = n;

	if (d >= 0.98 * m)
		return n; /* unique, as far as one can see */
	for (int i = 0; i < 60 && high - low > 0.5; i++)
	{
		double middle = (low + high) / 2;

		if (middle * (1 - exp(-m / middle)) < d)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

/* stadistinct of the whole table. */
static double
column_distinct(const ColumnStats *column, double tuples, bool is_key)
{
	double m = column->shard_tuples * (1 - column->null_frac);
	double n = tuples * (1 - column->null_frac);
	double d = column->distinct < 0 ? -column->distinct * column->shard_tuples
									: column->distinct;

	if (d <= 0 || m <= 0 || n <= m)
		return column->distinct;
	d = is_key ? d * n / m : distinct_extrapolate(d, m, n);
	d = Min(d, n);
	return d > 0.1 * tuples ? -d / tuples : rint(Max(d, 1));
}

static Datum
array_from_text(char *text, Oid type, int32 typmod)
{
	FmgrInfo input;

	fmgr_info(F_ARRAY_IN, &input);
	return InputFunctionCall(&input, text, type, typmod);
}

/* Frequencies as float4[], for the key made smaller by the share of the shard. */
static Datum
frequencies_from_text(char *text, double factor)
{
	ArrayType *array = DatumGetArrayTypeP(array_from_text(text, FLOAT4OID, -1));
	float4 *values = (float4 *) ARR_DATA_PTR(array);

	for (int i = 0; i < ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)); i++)
		values[i] *= factor;
	return PointerGetDatum(array);
}

typedef struct StatisticRow
{
	Datum values[Natts_pg_statistic];
	bool nulls[Natts_pg_statistic];
	int slots;
} StatisticRow;

static void
row_add_slot(StatisticRow *row, int kind, Oid op, Oid collation, Datum numbers,
			 Datum values)
{
	int slot = row->slots++;

	row->values[Anum_pg_statistic_stakind1 - 1 + slot] = Int16GetDatum(kind);
	row->values[Anum_pg_statistic_staop1 - 1 + slot] = ObjectIdGetDatum(op);
	row->values[Anum_pg_statistic_stacoll1 - 1 + slot] = ObjectIdGetDatum(collation);
	row->values[Anum_pg_statistic_stanumbers1 - 1 + slot] = numbers;
	row->nulls[Anum_pg_statistic_stanumbers1 - 1 + slot] = numbers == (Datum) 0;
	row->values[Anum_pg_statistic_stavalues1 - 1 + slot] = values;
	row->nulls[Anum_pg_statistic_stavalues1 - 1 + slot] = false;
}

/* An empty row: no slots. */
static void
row_init(StatisticRow *row, Oid relid, AttrNumber attnum)
{
	memset(row, 0, sizeof(*row));
	row->values[Anum_pg_statistic_starelid - 1] = ObjectIdGetDatum(relid);
	row->values[Anum_pg_statistic_staattnum - 1] = Int16GetDatum(attnum);
	row->values[Anum_pg_statistic_stainherit - 1] = BoolGetDatum(false);
	for (int i = 0; i < STATISTIC_NUM_SLOTS; i++)
	{
		row->values[Anum_pg_statistic_stakind1 - 1 + i] = Int16GetDatum(0);
		row->nulls[Anum_pg_statistic_stanumbers1 - 1 + i] = true;
		row->nulls[Anum_pg_statistic_stavalues1 - 1 + i] = true;
	}
}

static void
row_store(Relation catalog, StatisticRow *row)
{
	HeapTuple old = SearchSysCache3(
		STATRELATTINH, row->values[Anum_pg_statistic_starelid - 1],
		row->values[Anum_pg_statistic_staattnum - 1], BoolGetDatum(false));
	HeapTuple tuple = heap_form_tuple(RelationGetDescr(catalog), row->values, row->nulls);

	if (HeapTupleIsValid(old))
	{
		tuple->t_self = old->t_self;
		CatalogTupleUpdate(catalog, &tuple->t_self, tuple);
		ReleaseSysCache(old);
	}
	else
		CatalogTupleInsert(catalog, tuple);
	heap_freetuple(tuple);
}

static void
column_store(Relation catalog, Oid relid, const ColumnStats *column, double tuples)
{
	const DistTable *table = dist_table_require(relid);
	AttrNumber attnum = get_attnum(relid, column->name);
	bool is_key = attnum == table->key && table->key != InvalidAttrNumber;
	double share = is_key ? column->shard_tuples / Max(tuples, 1) : 1;
	StatisticRow row;
	Oid type;
	int32 typmod;
	Oid collation;
	TypeCacheEntry *cache;

	if (attnum == InvalidAttrNumber)
		return;
	get_atttypetypmodcoll(relid, attnum, &type, &typmod, &collation);
	cache = lookup_type_cache(type, TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR);
	row_init(&row, relid, attnum);
	row.values[Anum_pg_statistic_stanullfrac - 1] = Float4GetDatum(column->null_frac);
	row.values[Anum_pg_statistic_stawidth - 1] = Int32GetDatum(column->width);
	row.values[Anum_pg_statistic_stadistinct - 1] =
		Float4GetDatum(column_distinct(column, tuples, is_key));
	if (column->common != NULL && column->frequencies != NULL &&
		OidIsValid(cache->eq_opr))
		row_add_slot(&row, STATISTIC_KIND_MCV, cache->eq_opr, collation,
					 frequencies_from_text(column->frequencies, Min(share, 1)),
					 array_from_text(column->common, type, typmod));
	if (column->histogram != NULL && OidIsValid(cache->lt_opr))
		row_add_slot(&row, STATISTIC_KIND_HISTOGRAM, cache->lt_opr, collation, (Datum) 0,
					 array_from_text(column->histogram, type, typmod));
	row_store(catalog, &row);
}

void
shell_stats_gather(List *relids)
{
	double *tuples = palloc0(sizeof(double) * list_length(relids));
	bool pushed = !ActiveSnapshotSet();
	int guc_level = NewGUCNestLevel();
	ListCell *cell;

	/* the node's own shards are not to be hidden from the queries below */
	set_config_option("citus.override_table_visibility", "off", PGC_USERSET,
					  PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	if (pushed)
		PushActiveSnapshot(GetTransactionSnapshot());
	shells_take_sizes(relids, tuples);
	foreach (cell, relids)
	{
		char *json = sample_fetch(lfirst_oid(cell));
		Relation catalog;

		if (json == NULL)
			continue;
		catalog = table_open(StatisticRelationId, RowExclusiveLock);
		foreach_ptr (ColumnStats, column, sample_parse(json))
			column_store(catalog, lfirst_oid(cell), column,
						 tuples[foreach_current_index(cell)]);
		table_close(catalog, RowExclusiveLock);
	}
	AtEOXact_GUC(true, guc_level);
	CommandCounterIncrement();
	xact_wrote_locally();
	if (pushed && ActiveSnapshotSet())
		PopActiveSnapshot();
}

/* ------------------------------------------------------------------------------------
 * Estimates: a shell's file is empty, so PostgreSQL would take it for an empty table.
 */

static get_relation_info_hook_type next_relation_info_hook = NULL;

static void
shell_relation_info(PlannerInfo *root, Oid relid, bool inhparent, RelOptInfo *rel)
{
	HeapTuple tuple;

	if (next_relation_info_hook != NULL)
		next_relation_info_hook(root, relid, inhparent, rel);
	if (rel->pages > 0 || dist_table(relid) == NULL)
		return;
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	if (!HeapTupleIsValid(tuple))
		return;
	if (((Form_pg_class) GETSTRUCT(tuple))->reltuples > 0)
	{
		rel->pages = ((Form_pg_class) GETSTRUCT(tuple))->relpages;
		rel->tuples = ((Form_pg_class) GETSTRUCT(tuple))->reltuples;
	}
	ReleaseSysCache(tuple);
}

void
shell_stats_init(void)
{
	next_relation_info_hook = get_relation_info_hook;
	get_relation_info_hook = shell_relation_info;
}
