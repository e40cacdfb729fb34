/*
 * sample.c: TABLESAMPLE with arguments that shards don't know.
 *
 *     FROM t, a TABLESAMPLE BERNOULLI (t.percent)
 *
 * is the same as LATERAL (SELECT * FROM a WHERE random() * 100 < t.percent), and that can
 * be cut like any other query: so it is written. SYSTEM picks whole pages to save reading
 * the others; where all rows come here anyway it is done row by row as well. What must
 * give the same rows each time (REPEATABLE) stays, and is refused later.
 */
#include "pando/compat/compat.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_func.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"

#include "pando/metadata/table.h"
#include "pando/planner/flatten.h"
#include "pando/planner/from_item.h"
#include "pando/planner/relation_query.h"
#include "pando/planner/sample.h"

PG_FUNCTION_INFO_V1(sampled);

static bool
has_rows_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var) || IsA(node, SubLink))
		return true;
	return expression_tree_walker(node, has_rows_walker, context);
}

bool
sample_has_rows(const RangeTblEntry *rte)
{
	return has_rows_walker((Node *) rte->tablesample, NULL);
}

/* pando.sampled(percent, random()) */
static Node *
chance(Node *percent)
{
	Oid types[] = {FLOAT4OID, FLOAT8OID};
	Oid function = LookupFuncName(list_make2(makeString("pando"), makeString("sampled")),
								  2, types, false);
	FuncExpr *random = makeFuncExpr(F_RANDOM, FLOAT8OID, NIL, InvalidOid, InvalidOid,
									COERCE_EXPLICIT_CALL);

	return (Node *) makeFuncExpr(function, BOOLOID, list_make2(percent, random),
								 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

static bool
is_by_chance(const TableSampleClause *sample)
{
	return (sample->tsmhandler == F_BERNOULLI || sample->tsmhandler == F_SYSTEM) &&
		   sample->repeatable == NULL && list_length(sample->args) == 1;
}

static void
pick_by_chance(Query *level, Index varno)
{
	RangeTblEntry *rte = rt_fetch(varno, level->rtable);
	Node *percent;
	Query *rows;

	if (dist_table(rte->relid) == NULL || !sample_has_rows(rte) ||
		!is_by_chance(rte->tablesample) || (int) varno == level->resultRelation ||
		get_parse_rowmark(level, varno) != NULL)
		return;
	percent = copyObject(linitial(rte->tablesample->args));
	rows = relation_as_query(level, varno);
	if (rows == NULL)
		return;
	linitial_node(RangeTblEntry, rows->rtable)->tablesample = NULL;
	IncrementVarSublevelsUp(percent, 1, 0);
	rows->jointree->quals = make_and_qual(rows->jointree->quals, chance(percent));
	rows->hasSubLinks |= checkExprHasSubLink(percent);

	rte_become_subquery(rte, rows);
	rte->lateral = contain_vars_of_level((Node *) rows, 1);
}

static bool
samples_walker(Node *node, void *context)
{
	Query *query = (Query *) node;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, samples_walker, context);
	query_tree_walker(query, samples_walker, context, QTW_IGNORE_JOINALIASES);
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
	query = query_without_join_columns(copyObject(query));
	samples_walker((Node *) query, NULL);
	return query;
}

/* Is a row in a sample of so many percent? `chance` is from 0 to 1, without 1. */
Datum
sampled(PG_FUNCTION_ARGS)
{
	float4 percent;

	if (PG_ARGISNULL(0))
		ereport(ERROR, (errcode(ERRCODE_INVALID_TABLESAMPLE_ARGUMENT),
						errmsg("TABLESAMPLE parameter cannot be null")));
	percent = PG_GETARG_FLOAT4(0);
	if (percent < 0 || percent > 100 || isnan(percent))
		ereport(ERROR, (errcode(ERRCODE_INVALID_TABLESAMPLE_ARGUMENT),
						errmsg("sample percentage must be between 0 and 100")));
	PG_RETURN_BOOL(PG_GETARG_FLOAT8(1) * 100 < percent);
}
