/*
 * free_function.c: which functions give the same for a row's values wherever they run.
 *
 * Immutable ones do, but for a few that look at catalogs and are called immutable because
 * indexes never use them. Of PostgreSQL's stable ones those do that depend on settings
 * which nodes follow, or on the types of their arguments: they are listed by name, and
 * what isn't listed runs where the client is. A value that names an object (regclass) is
 * each node's own, so its input and output run where it is; a plain oid is the client's.
 *
 * Users' functions: in C they are taken to depend on settings only, in SQL or a
 * procedural language they may read tables.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/syscache.h"

#include "pando/planner/where/free_function.h"

PG_FUNCTION_INFO_V1(function_runs_anywhere);

/* Stable functions of PostgreSQL's, by name, sorted by bytes. */
static const char *const free_stable[] = {
	"aclitemin",
	"aclitemout",
	"age",
	"anyarray_out",
	"anyarray_recv",
	"anyarray_send",
	"anycompatiblearray_out",
	"anycompatiblearray_recv",
	"anycompatiblearray_send",
	"anycompatiblemultirange_in",
	"anycompatiblemultirange_out",
	"anycompatiblerange_in",
	"anycompatiblerange_out",
	"anyenum_out",
	"anymultirange_in",
	"anymultirange_out",
	"anyrange_in",
	"anyrange_out",
	"anytextcat",
	"array_in",
	"array_out",
	"array_recv",
	"array_send",
	"array_to_json",
	"array_to_string",
	"bpcharrecv",
	"bpcharsend",
	"brin_bloom_summary_recv",
	"brin_bloom_summary_send",
	"brin_minmax_multi_summary_recv",
	"brin_minmax_multi_summary_send",
	"cash_in",
	"cash_out",
	"concat",
	"concat_ws",
	"convert",
	"convert_from",
	"convert_to",
	"cstring_recv",
	"cstring_send",
	"date",
	"date_add",
	"date_cmp_timestamptz",
	"date_eq_timestamptz",
	"date_ge_timestamptz",
	"date_gt_timestamptz",
	"date_in",
	"date_le_timestamptz",
	"date_lt_timestamptz",
	"date_ne_timestamptz",
	"date_out",
	"date_part",
	"date_subtract",
	"date_trunc",
	"domain_in",
	"domain_recv",
	"enum_first",
	"enum_in",
	"enum_last",
	"enum_out",
	"enum_range",
	"enum_recv",
	"enum_send",
	"extract",
	"format",
	"generate_series",
	"in_range",
	"interval_in",
	"interval_out",
	"interval_pl_timestamptz",
	"json_agg",
	"json_agg_strict",
	"json_build_array",
	"json_build_object",
	"json_object_agg",
	"json_object_agg_strict",
	"json_object_agg_unique",
	"json_object_agg_unique_strict",
	"json_populate_record",
	"json_populate_recordset",
	"json_to_record",
	"json_to_recordset",
	"json_to_tsvector",
	"jsonb_agg",
	"jsonb_agg_strict",
	"jsonb_build_array",
	"jsonb_build_object",
	"jsonb_object_agg",
	"jsonb_object_agg_strict",
	"jsonb_object_agg_unique",
	"jsonb_object_agg_unique_strict",
	"jsonb_path_exists_tz",
	"jsonb_path_match_tz",
	"jsonb_path_query_array_tz",
	"jsonb_path_query_first_tz",
	"jsonb_path_query_tz",
	"jsonb_populate_record",
	"jsonb_populate_record_valid",
	"jsonb_populate_recordset",
	"jsonb_to_record",
	"jsonb_to_recordset",
	"jsonb_to_tsvector",
	"length",
	"make_timestamptz",
	"money",
	"multirange_in",
	"multirange_out",
	"multirange_recv",
	"multirange_send",
	"mxid_age",
	"namerecv",
	"namesend",
	"numeric",
	"overlaps",
	"pg_char_to_encoding",
	"pg_collation_for",
	"pg_column_compression",
	"pg_column_size",
	"pg_column_toast_chunk_id",
	"pg_dependencies_recv",
	"pg_dependencies_send",
	"pg_encoding_to_char",
	"pg_mcv_list_recv",
	"pg_mcv_list_send",
	"pg_ndistinct_recv",
	"pg_ndistinct_send",
	"pg_node_tree_recv",
	"pg_node_tree_send",
	"pg_options_to_table",
	"pg_typeof",
	"phraseto_tsquery",
	"plainto_tsquery",
	"quote_literal",
	"quote_nullable",
	"range_in",
	"range_out",
	"range_recv",
	"range_send",
	"record_in",
	"record_out",
	"record_recv",
	"record_send",
	"regclassin",
	"regclassout",
	"regcollationin",
	"regcollationout",
	"regconfigin",
	"regconfigout",
	"regdictionaryin",
	"regdictionaryout",
	"regnamespacein",
	"regnamespaceout",
	"regoperatorin",
	"regoperatorout",
	"regoperin",
	"regoperout",
	"regprocedurein",
	"regprocedureout",
	"regprocin",
	"regprocout",
	"regrolein",
	"regroleout",
	"regtypein",
	"regtypeout",
	"row_to_json",
	"textanycat",
	"textrecv",
	"textsend",
	"time",
	"time_in",
	"timestamp",
	"timestamp_cmp_timestamptz",
	"timestamp_eq_timestamptz",
	"timestamp_ge_timestamptz",
	"timestamp_gt_timestamptz",
	"timestamp_in",
	"timestamp_le_timestamptz",
	"timestamp_lt_timestamptz",
	"timestamp_ne_timestamptz",
	"timestamp_out",
	"timestamptz",
	"timestamptz_cmp_date",
	"timestamptz_cmp_timestamp",
	"timestamptz_eq_date",
	"timestamptz_eq_timestamp",
	"timestamptz_ge_date",
	"timestamptz_ge_timestamp",
	"timestamptz_gt_date",
	"timestamptz_gt_timestamp",
	"timestamptz_in",
	"timestamptz_le_date",
	"timestamptz_le_timestamp",
	"timestamptz_lt_date",
	"timestamptz_lt_timestamp",
	"timestamptz_mi_interval",
	"timestamptz_ne_date",
	"timestamptz_ne_timestamp",
	"timestamptz_out",
	"timestamptz_pl_interval",
	"timetz",
	"timetz_in",
	"timezone",
	"to_char",
	"to_date",
	"to_json",
	"to_jsonb",
	"to_number",
	"to_timestamp",
	"to_tsquery",
	"to_tsvector",
	"ts_headline",
	"ts_match_tq",
	"ts_match_tt",
	"varcharrecv",
	"varcharsend",
	"websearch_to_tsquery",
	"xml",
	"xml_in",
	"xml_is_well_formed",
	"xml_recv",
	"xml_send",
};

/* "Immutable", and look at catalogs all the same. */
static const char *const bound_immutable[] = {"acldefault",
											  "makeaclitem",
											  "pg_indexam_progress_phasename",
											  "pg_partition_root",
											  "satisfies_hash_partition",
											  "ts_parse",
											  "ts_token_type"};

static int
name_compare(const void *name, const void *listed)
{
	return strcmp(name, *(const char *const *) listed);
}

static bool
is_free_stable(const FormData_pg_proc *form)
{
	if (form->oid >= FirstNormalObjectId)
		return form->prolang == INTERNALlanguageId || form->prolang == ClanguageId;
	return bsearch(NameStr(form->proname), free_stable, lengthof(free_stable),
				   sizeof(char *), name_compare) != NULL;
}

static bool
is_free_immutable(const FormData_pg_proc *form)
{
	if (form->oid >= FirstNormalObjectId)
		return true;
	return bsearch(NameStr(form->proname), bound_immutable, lengthof(bound_immutable),
				   sizeof(char *), name_compare) == NULL;
}

/* Volatile ones that give a fresh value wherever they run. */
static bool
is_free_volatile(Oid function)
{
	return function == COMPAT_F_RANDOM || function == F_CLOCK_TIMESTAMP ||
		   function == F_TIMEOFDAY || function == F_GEN_RANDOM_UUID;
}

bool
function_is_free(Oid function)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	const FormData_pg_proc *form;
	bool result;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (const FormData_pg_proc *) GETSTRUCT(tuple);
	switch (form->provolatile)
	{
		case PROVOLATILE_IMMUTABLE:
			result = is_free_immutable(form);
			break;
		case PROVOLATILE_STABLE:
			result = is_free_stable(form);
			break;
		default:
			result = is_free_volatile(function);
			break;
	}
	ReleaseSysCache(tuple);
	return result;
}

/* function_runs_anywhere(function regprocedure) returns boolean */
Datum
function_runs_anywhere(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(function_is_free(PG_GETARG_OID(0)));
}
