/*
 * describe.c: SQL function that tells where a query's rows are, for tests and the
 * curious.
 */
#include "pando/compat/compat.h"

#include "fmgr.h"
#include "nodes/nodeFuncs.h"
#include "nodes/print.h"
#include "pando/compat/query_form.h"
#include "pando/base/name.h"
#include "pando/plan/fragment.h"
#include "pando/planner/residual/distribute.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/fragment/fragment_path.h"
#include "pando/planner/where/result_scope.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(query_distribution);
PG_FUNCTION_INFO_V1(query_fragments);

static const char *const kind_names[] = {"anywhere", "sharded", "single", "coordinator"};

static Query *
analysed(const char *text)
{
	List *raw = pg_parse_query(text);
	List *queries;

	if (list_length(raw) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR), errmsg("expected one SQL statement")));
	queries = pg_analyze_and_rewrite_fixedparams(linitial(raw), text, NULL, 0, NULL);
	if (list_length(queries) != 1 ||
		((Query *) linitial(queries))->commandType == CMD_UTILITY)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("only one query can be described")));
	query_form_enter(linitial(queries));
	return linitial(queries);
}

static void
append_keys(StringInfo out, List *keys)
{
	ListCell *cell;

	appendStringInfoString(out, " keys (");
	foreach (cell, keys)
	{
		if (foreach_current_index(cell) > 0)
			appendStringInfoString(out, ", ");
		if (IsA(lfirst(cell), Const) && ((Const *) lfirst(cell))->constisnull)
			appendStringInfoString(out, "NULL");
		else if (IsA(lfirst(cell), Const))
		{
			Const *value = lfirst(cell);
			Oid output;
			bool varlena;

			getTypeOutputInfo(value->consttype, &output, &varlena);
			appendStringInfoString(out, OidOutputFunctionCall(output, value->constvalue));
		}
		else
			appendStringInfoString(out, "expression");
	}
	appendStringInfoChar(out, ')');
}

/* query_distribution(query text) returns text */
Datum
query_distribution(PG_FUNCTION_ARGS)
{
	Query *query = analysed(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	Distribution distribution = distribution_of_query(query);
	StringInfoData out;
	int column = -1;

	initStringInfo(&out);
	appendStringInfoString(&out, kind_names[distribution.kind]);
	if (distribution.pruned)
		append_keys(&out, distribution.keys);
	while ((column = bms_next_member(distribution.key_columns, column)) >= 0)
		appendStringInfo(&out, " column %d", column);
	if (distribution.kind == DIST_COORDINATOR)
		appendStringInfo(&out, ": %s", distribution.reason);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}

static List *
result_names(const Fragment *fragment)
{
	List *names = NIL;
	int last = 0;

	foreach_ptr (SubResult, sub, fragment->subplans)
		last = Max(last, sub->number);
	for (int number = 1; number <= last; number++)
		names = lappend(names, psprintf("result_%d", number));
	return names;
}

static void
append_fragments(StringInfo out)
{
	int number = 0;

	foreach_ptr (Fragment, fragment, fragment_scope())
	{
		List *names = NIL;
		ListCell *cell;

		foreach (cell, fragment->relations)
			names = lappend(names, name_qualified(lfirst_oid(cell)));
		appendStringInfo(out, "%s%d", number > 0 ? "\n" : "", number + 1);
		if (fragment->choice == SHARDS_BY_KEY)
			append_keys(out, fragment->keys);
		if (fragment->merges)
			appendStringInfoString(out, " by node");
		number++;
		appendStringInfo(
			out, ": %s%s%s",
			fragment->per_node ? strVal(linitial(fragment->per_node)) : "",
			template_text(fragment->template, names, NIL, NULL, result_names(fragment)),
			fragment->per_node ? strVal(lsecond(fragment->per_node)) : "");
	}
}

/* query_fragments(query text) returns text */
Datum
query_fragments(PG_FUNCTION_ARGS)
{
	Query *query = analysed(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	List *outer = fragment_scope_enter();
	List *outer_results = results_scope();
	StringInfoData text;

	initStringInfo(&text);
	PG_TRY();
	{
		distribute_query(query);
		append_fragments(&text);
	}
	PG_FINALLY();
	{
		fragment_scope_leave(outer);
		results_leave(outer_results);
	}
	PG_END_TRY();
	PG_RETURN_TEXT_P(cstring_to_text_with_len(text.data, text.len));
}
