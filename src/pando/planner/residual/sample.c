/*
 * sample.c: TABLESAMPLE with arguments that shards don't know, or would each compute for
 * itself.
 *
 *     FROM t, LATERAL (SELECT * FROM a TABLESAMPLE BERNOULLI (t.percent))
 *
 * is the same as LATERAL (SELECT * FROM a WHERE random() * 100 < t.percent), and that can
 * be cut like any other query: so it is written. A volatile function is called once, in a
 * subquery. SYSTEM picks whole pages to save reading the others; where all rows come here
 * anyway it is done row by row as well. With REPEATABLE a hash of the seed, the row's
 * place and its key takes the place of random(): the same rows as long as none is
 * changed. Only nodes know what other methods do: they are sent the arguments' values, by
 * a fragment of the table alone that is run anew for other values (cut.c).
 */
#include "pando/compat/compat.h"

#include <math.h>

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_func.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgrprotos.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "pando/base/expr.h"
#include "pando/metadata/table.h"
#include "pando/planner/query/each_level.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/where/relation_query.h"
#include "pando/planner/where/relations.h"
#include "pando/planner/residual/sample.h"

PG_FUNCTION_INFO_V1(sampled);
PG_FUNCTION_INFO_V1(sampled_again);

/* The argument, or what stands for it. */
static Expr *
sent_argument(Expr *argument, List **arguments)
{
	Param *param;

	if (argument == NULL || !sample_argument_is_for_here((Node *) argument))
		return argument;
	param = expr_param(PARAM_EXEC, list_length(*arguments), exprType((Node *) argument),
					   -1, exprCollation((Node *) argument));
	*arguments = lappend(*arguments, argument);
	return (Expr *) param;
}

TableSampleClause *
sample_of_arguments(const TableSampleClause *sample, List **arguments)
{
	TableSampleClause *result = copyObject((TableSampleClause *) sample);
	ListCell *cell;

	foreach (cell, result->args)
		lfirst(cell) = sent_argument(lfirst(cell), arguments);
	result->repeatable = sent_argument(result->repeatable, arguments);
	return result;
}

/* An argument has one value for all rows. */
static Node *
argument_for_rows(const void *argument)
{
	Node *expr = copyObject((Node *) argument);
	SubLink *once;
	Query *query;

	IncrementVarSublevelsUp(expr, 1, 0);
	if (!sample_argument_varies(expr))
		return expr;
	query = query_new();
	query->targetList =
		list_make1(makeTargetEntry((Expr *) expr, 1, pstrdup("argument"), false));
	once = makeNode(SubLink);
	once->subLinkType = EXPR_SUBLINK;
	once->subselect = (Node *) query;
	once->location = -1;
	return (Node *) once;
}

static Node *
call_of(Oid function, Oid type, List *args)
{
	return (Node *) makeFuncExpr(function, type, args, InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

static Node *
call_of_pando(char *name, const Oid *types, List *args)
{
	Oid function = LookupFuncName(list_make2(makeString("pando"), makeString(name)),
								  list_length(args), types, false);

	return call_of(function, BOOLOID, args);
}

/* hash_record_extended(ROW(ctid, key), 0), of range table entry 1 */
static Node *
hash_of_row(const DistTable *table)
{
	RowExpr *row = makeNode(RowExpr);
	Const *seed = makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(0),
							false, FLOAT8PASSBYVAL);

	row->row_typeid = RECORDOID;
	row->row_format = COERCE_EXPLICIT_CALL;
	row->location = -1;
	row->args =
		list_make1(makeVar(1, SelfItemPointerAttributeNumber, TIDOID, -1, InvalidOid, 0));
	row->colnames = list_make1(makeString("f1"));
	if (table->key != InvalidAttrNumber)
	{
		Oid type;
		int32 typmod;
		Oid collation;

		get_atttypetypmodcoll(table->relid, table->key, &type, &typmod, &collation);
		row->args =
			lappend(row->args, makeVar(1, table->key, type, typmod, collation, 0));
		row->colnames = lappend(row->colnames, makeString("f2"));
	}
	return call_of(F_HASH_RECORD_EXTENDED, INT8OID, list_make2(row, seed));
}

/* Is a row of range table entry 1, the table, in the sample? */
static Node *
chance(const TableSampleClause *sample, const DistTable *table)
{
	const Oid types[] = {FLOAT4OID, FLOAT8OID, INT8OID};
	Node *percent = argument_for_rows(linitial(sample->args));

	if (sample->repeatable == NULL)
		return call_of_pando(
			"sampled", types,
			list_make2(percent, call_of(COMPAT_F_RANDOM, FLOAT8OID, NIL)));
	return call_of_pando(
		"sampled_again", types,
		list_make3(percent, argument_for_rows(sample->repeatable), hash_of_row(table)));
}

static bool
is_by_chance(const TableSampleClause *sample)
{
	return (sample->tsmhandler == F_BERNOULLI || sample->tsmhandler == F_SYSTEM) &&
		   list_length(sample->args) == 1;
}

static void
pick_by_chance(Query *level, Index varno)
{
	RangeTblEntry *rte = rt_fetch(varno, level->rtable);
	const DistTable *table = dist_table(rte->relid);
	Node *picked;
	Query *rows;

	if (table == NULL || !sample_is_for_here(rte) || !is_by_chance(rte->tablesample) ||
		(int) varno == level->resultRelation)
		return;
	picked = chance(rte->tablesample, table);
	rte->tablesample = NULL;
	rows = relation_become_subquery(level, varno);
	rows->jointree->quals = make_and_qual(rows->jointree->quals, picked);
	rows->hasSubLinks |= checkExprHasSubLink(picked);
	rt_fetch(varno, level->rtable)->lateral = contain_vars_of_level((Node *) rows, 1);
}

static bool
pick_in_level(Query *query, void *context)
{
	for (int varno = 1; varno <= list_length(query->rtable); varno++)
	{
		const RangeTblEntry *rte = rt_fetch(varno, query->rtable);

		if (rte->rtekind == RTE_RELATION && rte->tablesample != NULL)
			pick_by_chance(query, varno);
	}
	return false;
}

Query *
query_without_samples_of_rows(Query *query)
{
	query = query_without_join_columns(query);
	(void) query_each_level_inner_first(query, pick_in_level, NULL);
	return query;
}

/* The first argument: from 0 to 100. */
static float4
percent_argument(FunctionCallInfo fcinfo)
{
	float4 percent;

	if (PG_ARGISNULL(0))
		ereport(ERROR, (errcode(ERRCODE_INVALID_TABLESAMPLE_ARGUMENT),
						errmsg("TABLESAMPLE parameter cannot be null")));
	percent = PG_GETARG_FLOAT4(0);
	if (percent < 0 || percent > 100 || isnan(percent))
		ereport(ERROR, (errcode(ERRCODE_INVALID_TABLESAMPLE_ARGUMENT),
						errmsg("sample percentage must be between 0 and 100")));
	return percent;
}

/* Is a row in a sample of so many percent? `chance` is from 0 to 1, without 1. */
Datum
sampled(PG_FUNCTION_ARGS)
{
	float4 percent = percent_argument(fcinfo);

	PG_RETURN_BOOL(PG_GETARG_FLOAT8(1) * 100 < percent);
}

/* Is a row with that hash in the sample of so many percent that the seed gives? */
Datum
sampled_again(PG_FUNCTION_ARGS)
{
	float4 percent = percent_argument(fcinfo);
	int64 row = PG_GETARG_INT64(2);
	uint64 seed;
	uint64 hash;

	if (PG_ARGISNULL(1))
		ereport(ERROR, (errcode(ERRCODE_INVALID_TABLESAMPLE_REPEAT),
						errmsg("TABLESAMPLE REPEATABLE parameter cannot be null")));
	seed = DatumGetUInt64(
		DirectFunctionCall2(hashfloat8extended, PG_GETARG_DATUM(1), Int64GetDatum(0)));
	hash = hash_bytes_extended((const unsigned char *) &row, sizeof(row), seed);
	/* As many bits as a double has. */
	PG_RETURN_BOOL(ldexp((double) (hash >> 11), -53) * 100 < percent);
}
