/*
 * exchange.c: rows of FROM items that go where other rows are, and how they are read.
 *
 * An exchange is a query of its own, whose rows are sent to all nodes, or to the shard
 * groups that the hash of a column chooses; pando.exchange_rows() is read in the place of
 * what it is made of. place.h knows that as an item that is anywhere, or sharded by the
 * column. Rows of one may be read by a later one's query: they are planned in the order
 * in which they were made.
 *
 * exchange_move.c says which rows are best moved, exchange_level.c makes a level fit.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_func.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pando/plan/fragment.h"
#include "pando/planner/fragment/fragment_plan.h"
#include "pando/planner/residual/cutting.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/fragment/estimate.h"
#include "pando/planner/residual/exchange/exchange.h"
#include "pando/planner/where/exchange_item.h"
#include "pando/planner/residual/exchange/exchange_move.h"
#include "pando/planner/fragment/fragment_make.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/part.h"
#include "pando/planner/where/place.h"
#include "pando/planner/fragment/planning.h"
#include "pando/planner/where/result_scope.h"

static RangeTblEntry *
read_rte(Exchange *exchange)
{
	RangeTblEntry *rte = rte_of_output("exchange", exchange->query);
	const Oid type = TEXTOID;
	Oid function = LookupFuncName(
		list_make2(makeString("pando"), makeString("exchange_rows")), 1, &type, false);
	Const *argument = makeConst(
		TEXTOID, -1, get_typcollation(TEXTOID), -1,
		CStringGetTextDatum(template_result_placeholder(exchange->result.number)), false,
		false);
	FuncExpr *call = makeFuncExpr(function, RECORDOID, list_make1(argument), InvalidOid,
								  InvalidOid, COERCE_EXPLICIT_CALL);

	call->funcretset = true;
	rte_become(rte, RTE_FUNCTION);
	rte->functions = result_columns((Node *) call, exchange->query);
	rte->alias = makeAlias("exchange", NIL);
	return rte;
}

/* ------------------------------------------------------------------------------------
 * Making them.
 */

RangeTblEntry *
exchange_of_query(Query *query, int column, bool keep_nulls, const Place *place)
{
	Exchange *exchange = palloc0(sizeof(Exchange));

	exchange->query = query;
	exchange->result.exchange = true;
	if (column > 0)
	{
		Node *value =
			(Node *) list_nth_node(TargetEntry, query->targetList, column - 1)->expr;
		List *key = list_make1(makeVar(1, column, exprType(value), exprTypmod(value),
									   exprCollation(value), 0));

		exchange->result.column = column;
		exchange->result.keep_nulls = keep_nulls;
		exchange->place = palloc(sizeof(Place));
		*exchange->place = *place;
		exchange->place->bound = exchange->place->values = NIL;
		exchange->place->pruned = exchange->place->one_group = false;
		exchange->place->splits = true;
		exchange->place->strict = key;
		exchange->place->not_null = keep_nulls ? NIL : key;
		exchange->place->weak = NIL;
	}
	result_add(&exchange->result);
	return read_rte(exchange);
}

RangeTblEntry *
exchange_of_cut(Cut *cut)
{
	Move *move = cut->data;
	int column = 0;

	if (move->column != NULL)
		column = part_column(cut->part, move->column, "key");
	if (cut->part->targetList == NIL)
		part_column(cut->part, (Node *) makeBoolConst(true, false), "row");
	return exchange_of_query(cut->part, column, move->keep_nulls, move->place);
}

static List *
distinct_values(List *column_stats)
{
	List *distinct = NIL;

	foreach_ptr (HeapTupleData, tuple, column_stats)
	{
		double values =
			tuple != NULL ? ((Form_pg_statistic) GETSTRUCT(tuple))->stadistinct : 0;

		distinct = lappend_int(distinct, (int) Min(Max(values, 0), INT_MAX));
	}
	return distinct;
}

static void
plan_exchange(Exchange *exchange)
{
	Distribution distribution = distribution_of_query(exchange->query);

	if (distribution_has_shards(&distribution))
	{
		Fragment *fragment = fragment_from_query(exchange->query, &distribution);

		fragment->subplans = results_of_query(exchange->query);
		fragment_take_estimate(fragment, estimate_per_task(exchange->query, 1));
		exchange->result.distinct = distinct_values(fragment->column_stats);
		exchange->result.plan = fragment_planned_stmt(exchange->query, fragment);
		exchange->result.from_nodes = true;
	}
	else
		exchange->result.plan = plan_any_query(copyObject(exchange->query), 0, NULL);
}

static int
by_number(const ListCell *a, const ListCell *b)
{
	return ((SubResult *) lfirst(a))->number - ((SubResult *) lfirst(b))->number;
}

/* Results that are read by those of the list as well. */
static List *
all_results(List *results)
{
	for (int i = 0; i < list_length(results); i++)
	{
		SubResult *result = list_nth(results, i);

		if (result->exchange)
			results =
				list_union_ptr(results, results_of_query(((Exchange *) result)->query));
	}
	list_sort(results, by_number);
	return results;
}

void
exchange_plan_all(Query *query)
{
	foreach_ptr (SubResult, result, all_results(results_of_query(query)))
	{
		if (result->exchange && result->plan == NULL)
			plan_exchange((Exchange *) result);
	}
}
