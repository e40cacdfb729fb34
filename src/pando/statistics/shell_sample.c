/*
 * shell_sample.c: column statistics of a distributed table, from a sample of its rows.
 *
 * The sample is what an ordinary distributed query yields: TABLESAMPLE SYSTEM takes some
 * blocks of each shard and a condition on random() some rows of these, so that each row
 * of the table has the same chance, whatever its shard, and so that of a large table no
 * block gives many. What is computed from the rows, and how, is the core's: each type's
 * typanalyze function, and the extended statistics.
 *
 * The correlation of a column with the rows' order is that within shards: the sample is
 * ordered by the place of a row in its shard.
 *
 * A value too wide to be compared (the core ignores it as well) stays where it is; a
 * value of the same width stands for it.
 */
#include "pando/compat/compat.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "commands/vacuum.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "statistics/statistics.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/attoptcache.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "pando/compat/stats_target.h"
#include "pando/base/name.h"
#include "pando/statistics/shell_sample.h"

/* The core's limit, beyond which a value counts by its width alone. */
#define WIDTH_MAX 1024

/* Rows fetched at once. */
#define FETCH_ROWS 1000

typedef struct Sample
{
	Relation shell;
	MemoryContext context;
	VacAttrStats **columns;
	int ncolumns;
	HeapTuple *rows;
	int nrows;
	int rows_wanted;
} Sample;

/* Does reading a value of the type call nothing but functions of superusers? */
static bool
type_is_plain(Oid type)
{
	Oid element = get_element_type(type);

	if (OidIsValid(element))
		return type_is_plain(element);
	switch (get_typtype(type))
	{
		case TYPTYPE_BASE:
		case TYPTYPE_ENUM:
			return true;
		case TYPTYPE_RANGE:
			return type_is_plain(get_range_subtype(type));
		case TYPTYPE_MULTIRANGE:
			return type_is_plain(get_multirange_range(type));
		default:
			return false;
	}
}

/*
 * A domain's own checks are left out by reading its base type. Those within other types
 * would be run with the rights of whoever analyses, such as the maintenance worker.
 */
static bool
may_read_column(const Sample *sample, Form_pg_attribute attribute)
{
	return sample->shell->rd_rel->relowner == GetUserId() ||
		   type_is_plain(getBaseType(attribute->atttypid));
}

/* What the core needs to know of a column; NULL when it is not to be analysed. */
static VacAttrStats *
column_stats(Sample *sample, int attnum)
{
	Form_pg_attribute attribute = TupleDescAttr(sample->shell->rd_att, attnum - 1);
	VacAttrStats *stats;
	HeapTuple type;
	bool usable;

	if (attribute->attisdropped || compat_stats_target(attribute) == 0 ||
		!may_read_column(sample, attribute))
		return NULL;
	stats = palloc0(sizeof(VacAttrStats));
	compat_stats_of(stats, attribute);
	stats->attrtypid = attribute->atttypid;
	stats->attrtypmod = attribute->atttypmod;
	stats->attrcollid = attribute->attcollation;
	type = SearchSysCacheCopy1(TYPEOID, ObjectIdGetDatum(stats->attrtypid));
	if (!HeapTupleIsValid(type))
		elog(ERROR, "cache lookup failed for type %u", stats->attrtypid);
	stats->attrtype = (Form_pg_type) GETSTRUCT(type);
	stats->anl_context = sample->context;
	stats->tupattnum = attnum;
	for (int i = 0; i < STATISTIC_NUM_SLOTS; i++)
	{
		stats->statypid[i] = stats->attrtypid;
		stats->statyplen[i] = stats->attrtype->typlen;
		stats->statypbyval[i] = stats->attrtype->typbyval;
		stats->statypalign[i] = stats->attrtype->typalign;
	}
	usable = OidIsValid(stats->attrtype->typanalyze)
				 ? DatumGetBool(OidFunctionCall1(stats->attrtype->typanalyze,
												 PointerGetDatum(stats)))
				 : std_typanalyze(stats);
	return usable && stats->compute_stats != NULL && stats->minrows > 0 ? stats : NULL;
}

static void
choose_columns(Sample *sample)
{
	int natts = RelationGetDescr(sample->shell)->natts;

	sample->columns = palloc(sizeof(VacAttrStats *) * natts);
	for (int i = 1; i <= natts; i++)
	{
		VacAttrStats *stats = column_stats(sample, i);

		if (stats == NULL)
			continue;
		sample->columns[sample->ncolumns++] = stats;
		sample->rows_wanted = Max(sample->rows_wanted, stats->minrows);
	}
	sample->rows_wanted =
		Max(sample->rows_wanted,
			ComputeExtStatisticsRows(sample->shell, sample->ncolumns, sample->columns));
}

/* ------------------------------------------------------------------------------------
 * The rows.
 */

/* The column as a value of its base type. */
static const char *
column_expression(const Sample *sample, const VacAttrStats *stats)
{
	Form_pg_attribute attribute =
		TupleDescAttr(sample->shell->rd_att, stats->tupattnum - 1);
	const char *name = quote_identifier(NameStr(attribute->attname));

	if (get_typtype(stats->attrtypid) != TYPTYPE_DOMAIN)
		return name;
	return psprintf("%s::%s", name,
					format_type_extended(getBaseType(stats->attrtypid), -1,
										 FORMAT_TYPE_FORCE_QUALIFY));
}

/* ctid, and per column its value and the width of one that is left out. */
static char *
sample_query(const Sample *sample, double pages, double tuples)
{
	StringInfoData sql;
	double blocks = Min(1, sample->rows_wanted / Max(pages, 1));
	double rows = sample->rows_wanted / (Max(tuples, 1) * blocks);

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT ctid");
	for (int i = 0; i < sample->ncolumns; i++)
	{
		const VacAttrStats *stats = sample->columns[i];
		const char *name = column_expression(sample, stats);

		if (stats->attrtype->typlen != -1)
			appendStringInfo(&sql, ", %s, NULL::int", name);
		else
			appendStringInfo(&sql,
							 ", CASE WHEN pg_catalog.pg_column_size(%s) <= %d THEN %s "
							 "END, pg_catalog.pg_column_size(%s)",
							 name, WIDTH_MAX, name, name);
	}
	appendStringInfo(&sql, " FROM %s", name_qualified(RelationGetRelid(sample->shell)));
	if (blocks < 1)
		appendStringInfo(&sql, " TABLESAMPLE SYSTEM (%.12g)", blocks * 100);
	if (rows < 1)
		appendStringInfo(&sql, " WHERE pg_catalog.random() < %.12g", rows);
	return sql.data;
}

/* A value of that width, in place of one that was left out; what is wider than a page
 * would be outside of its row anyway. */
static Datum
wide_value(int32 width)
{
	Size size = Min(Max(width, WIDTH_MAX), BLCKSZ) + VARHDRSZ + 1;
	struct varlena *value = palloc0(size);

	SET_VARSIZE(value, size);
	return PointerGetDatum(value);
}

static HeapTuple
row_from_result(const Sample *sample, HeapTuple tuple, TupleDesc from)
{
	TupleDesc desc = RelationGetDescr(sample->shell);
	Datum *values = palloc0(sizeof(Datum) * desc->natts);
	bool *nulls = palloc(sizeof(bool) * desc->natts);
	HeapTuple row;
	MemoryContext old;
	bool isnull;

	memset(nulls, true, sizeof(bool) * desc->natts);
	for (int i = 0; i < sample->ncolumns; i++)
	{
		int to = sample->columns[i]->tupattnum - 1;
		Datum width = SPI_getbinval(tuple, from, 2 * i + 3, &isnull);

		if (!isnull && DatumGetInt32(width) > WIDTH_MAX)
		{
			values[to] = wide_value(DatumGetInt32(width));
			nulls[to] = false;
		}
		else
			values[to] = SPI_getbinval(tuple, from, 2 * i + 2, &nulls[to]);
	}
	old = MemoryContextSwitchTo(sample->context);
	row = heap_form_tuple(desc, values, nulls);
	MemoryContextSwitchTo(old);
	row->t_self = *(ItemPointer) DatumGetPointer(SPI_getbinval(tuple, from, 1, &isnull));
	return row;
}

static void
take_rows(Sample *sample, SPITupleTable *table, uint64 count, int *space)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "sample row", ALLOCSET_DEFAULT_SIZES);

	while (sample->nrows + count > *space)
	{
		*space *= 2;
		sample->rows = repalloc(sample->rows, sizeof(HeapTuple) * *space);
	}
	for (uint64 i = 0; i < count; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		sample->rows[sample->nrows++] =
			row_from_result(sample, table->vals[i], table->tupdesc);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
		vacuum_delay_point();
	}
	MemoryContextDelete(context);
}

static int
compare_rows(const void *a, const void *b)
{
	return ItemPointerCompare(&(*(const HeapTuple *) a)->t_self,
							  &(*(const HeapTuple *) b)->t_self);
}

static void
read_rows(Sample *sample, const char *query)
{
	int space = FETCH_ROWS;
	Portal portal;

	sample->rows = palloc(sizeof(HeapTuple) * space);
	SPI_connect();
	portal =
		SPI_cursor_parse_open(NULL, query, &(SPIParseOpenOptions){.read_only = true});
	do
	{
		SPI_cursor_fetch(portal, true, FETCH_ROWS);
		take_rows(sample, SPI_tuptable, SPI_processed, &space);
		SPI_freetuptable(SPI_tuptable);
	} while (SPI_processed > 0);
	SPI_cursor_close(portal);
	SPI_finish();
	qsort(sample->rows, sample->nrows, sizeof(HeapTuple), compare_rows);
}

/* ------------------------------------------------------------------------------------
 * Statistics of a column.
 */

static Datum
value_of_row(VacAttrStatsP stats, int row, bool *isnull)
{
	return heap_getattr(stats->rows[row], stats->tupattnum, stats->tupDesc, isnull);
}

static void
compute_column(Sample *sample, VacAttrStats *stats, bool inherited, double tuples)
{
	AttributeOpts *options;
	MemoryContext work =
		AllocSetContextCreate(sample->context, "sample column", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(work);

	stats->rows = sample->rows;
	stats->tupDesc = RelationGetDescr(sample->shell);
	stats->compute_stats(stats, value_of_row, sample->nrows, tuples);
	options = get_attribute_options(RelationGetRelid(sample->shell), stats->tupattnum);
	if (options != NULL)
	{
		double distinct = inherited ? options->n_distinct_inherited : options->n_distinct;

		if (distinct != 0.0)
			stats->stadistinct = distinct;
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
}

static void
set_slot(const VacAttrStats *stats, int slot, Datum *values, bool *nulls)
{
	int numbers = Anum_pg_statistic_stanumbers1 - 1 + slot;
	int array = Anum_pg_statistic_stavalues1 - 1 + slot;

	values[Anum_pg_statistic_stakind1 - 1 + slot] = Int16GetDatum(stats->stakind[slot]);
	values[Anum_pg_statistic_staop1 - 1 + slot] = ObjectIdGetDatum(stats->staop[slot]);
	values[Anum_pg_statistic_stacoll1 - 1 + slot] =
		ObjectIdGetDatum(stats->stacoll[slot]);
	nulls[numbers] = stats->numnumbers[slot] <= 0;
	if (!nulls[numbers])
	{
		int count = stats->numnumbers[slot];
		Datum *datums = palloc(sizeof(Datum) * count);

		for (int i = 0; i < count; i++)
			datums[i] = Float4GetDatum(stats->stanumbers[slot][i]);
		values[numbers] = PointerGetDatum(construct_array(
			datums, count, FLOAT4OID, sizeof(float4), true, TYPALIGN_INT));
	}
	nulls[array] = stats->numvalues[slot] <= 0;
	if (!nulls[array])
		values[array] = PointerGetDatum(construct_array(
			stats->stavalues[slot], stats->numvalues[slot], stats->statypid[slot],
			stats->statyplen[slot], stats->statypbyval[slot], stats->statypalign[slot]));
}

static void
store_column(Relation catalog, Oid relid, bool inherited, const VacAttrStats *stats)
{
	Datum values[Natts_pg_statistic] = {0};
	bool nulls[Natts_pg_statistic] = {false};
	HeapTuple old;
	HeapTuple tuple;

	if (!stats->stats_valid)
		return;
	values[Anum_pg_statistic_starelid - 1] = ObjectIdGetDatum(relid);
	values[Anum_pg_statistic_staattnum - 1] = Int16GetDatum(stats->tupattnum);
	values[Anum_pg_statistic_stainherit - 1] = BoolGetDatum(inherited);
	values[Anum_pg_statistic_stanullfrac - 1] = Float4GetDatum(stats->stanullfrac);
	values[Anum_pg_statistic_stawidth - 1] = Int32GetDatum(stats->stawidth);
	values[Anum_pg_statistic_stadistinct - 1] = Float4GetDatum(stats->stadistinct);
	for (int slot = 0; slot < STATISTIC_NUM_SLOTS; slot++)
		set_slot(stats, slot, values, nulls);
	tuple = heap_form_tuple(RelationGetDescr(catalog), values, nulls);

	old = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(relid),
						  Int16GetDatum(stats->tupattnum), BoolGetDatum(inherited));
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
store_columns(Sample *sample, bool inherited)
{
	Relation catalog = table_open(StatisticRelationId, RowExclusiveLock);

	for (int i = 0; i < sample->ncolumns; i++)
		store_column(catalog, RelationGetRelid(sample->shell), inherited,
					 sample->columns[i]);
	table_close(catalog, RowExclusiveLock);
}

/* Operators and expressions run with the rights of the owner, as in ANALYZE. */
static void
compute(Sample *sample, double tuples)
{
	bool inherited = sample->shell->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
	int guc_level = NewGUCNestLevel();
	Oid user;
	int security;

	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext(sample->shell->rd_rel->relowner,
						   security | SECURITY_RESTRICTED_OPERATION);
	for (int i = 0; i < sample->ncolumns; i++)
		compute_column(sample, sample->columns[i], inherited, tuples);
	store_columns(sample, inherited);
	BuildRelationExtStatistics(sample->shell, inherited, tuples, sample->nrows,
							   sample->rows, sample->ncolumns, sample->columns);
	AtEOXact_GUC(false, guc_level);
	SetUserIdAndSecContext(user, security);
}

/* ANALYZE itself asks for no right to read, but our query does. */
static bool
may_read_all(Relation shell)
{
	return pg_class_aclcheck(RelationGetRelid(shell), GetUserId(), ACL_SELECT) ==
			   ACLCHECK_OK &&
		   check_enable_rls(RelationGetRelid(shell), InvalidOid, true) != RLS_ENABLED;
}

void
shell_sample(Oid relid, double pages, double tuples)
{
	Sample sample = {0};
	MemoryContext old;

	if (tuples <= 0)
		return;
	sample.shell = table_open(relid, ShareUpdateExclusiveLock);
	sample.context = AllocSetContextCreate(CurrentMemoryContext, "pando sample",
										   ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(sample.context);
	choose_columns(&sample);
	if (sample.ncolumns > 0 && may_read_all(sample.shell))
	{
		read_rows(&sample, sample_query(&sample, pages, tuples));
		if (sample.nrows > 0)
			compute(&sample, tuples);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(sample.context);
	table_close(sample.shell, NoLock);
}
