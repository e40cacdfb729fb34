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
#include "pando/planner/broadcast.h"
#include "pando/planner/cte_use.h"
#include "pando/planner/cutting.h"
#include "pando/planner/distribution.h"
#include "pando/planner/estimate.h"
#include "pando/planner/exchange.h"
#include "pando/planner/exchange_move.h"
#include "pando/planner/fragment_make.h"
#include "pando/planner/from_item.h"
#include "pando/planner/hook.h"
#include "pando/planner/part.h"
#include "pando/planner/place.h"

/* A result of the scope that is exchanged, with what its readers need to know of it. */
typedef struct Exchange
{
	SubResult result; /* first: it stands for this in the scope */
	Query *query;
	Place *place; /* of its readers, where the key is Var 1.<column>; NULL: anywhere */
} Exchange;

static Exchange *
exchange_of_rte(RangeTblEntry *rte)
{
	SubResult *result;

	if (rte->rtekind != RTE_FUNCTION || list_length(rte->functions) != 1)
		return NULL;
	result = broadcast_result_of_call(
		((RangeTblFunction *) linitial(rte->functions))->funcexpr);
	return result != NULL && result->exchange ? (Exchange *) result : NULL;
}

bool
exchange_is_read(RangeTblEntry *rte)
{
	return exchange_of_rte(rte) != NULL;
}

Place *
exchange_place(RangeTblEntry *rte, Index varno)
{
	Exchange *exchange = exchange_of_rte(rte);
	Place *place;

	if (exchange == NULL)
		return NULL;
	if (exchange->place == NULL)
		place = place_anywhere(InvalidOid);
	else
	{
		place = palloc(sizeof(Place));
		*place = *exchange->place;
		place->strict = copyObject(place->strict);
		place->weak = copyObject(place->weak);
		ChangeVarNodes((Node *) place->strict, 1, varno, 0);
		ChangeVarNodes((Node *) place->weak, 1, varno, 0);
	}
	place->relids = bms_make_singleton(varno);
	return place;
}

static bool
expand_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		RangeTblEntry *rte = (RangeTblEntry *) node;
		Exchange *exchange = exchange_of_rte(rte);

		if (exchange != NULL)
			rte_become_subquery(rte, copyObject(exchange->query));
		return false;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, expand_walker, context,
								 QTW_EXAMINE_RTES_BEFORE | QTW_IGNORE_JOINALIASES);
	return expression_tree_walker(node, expand_walker, context);
}

void
exchange_expand(Query *query)
{
	expand_walker((Node *) query, NULL);
}

static RangeTblEntry *
read_rte(Exchange *exchange)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	const Oid type = TEXTOID;
	Oid function = LookupFuncName(
		list_make2(makeString("pando"), makeString("exchange_rows")), 1, &type, false);
	Const *argument = makeConst(
		TEXTOID, -1, get_typcollation(TEXTOID), -1,
		CStringGetTextDatum(template_result_placeholder(exchange->result.number)), false,
		false);
	FuncExpr *call = makeFuncExpr(function, RECORDOID, list_make1(argument), InvalidOid,
								  InvalidOid, COERCE_EXPLICIT_CALL);
	RangeTblFunction *columns;

	call->funcretset = true;
	rte->rtekind = RTE_FUNCTION;
	rte->functions = broadcast_read_functions((Node *) call, exchange->query);
	columns = linitial(rte->functions);
	rte->eref = makeAlias("exchange", copyObject(columns->funccolnames));
	rte->alias = makeAlias("exchange", NIL);
	rte->inFromCl = true;
	return rte;
}

/* ------------------------------------------------------------------------------------
 * Making them.
 */

RangeTblEntry *
exchange_of_cut(Cut *cut)
{
	Move *move = cut->data;
	Exchange *exchange = palloc0(sizeof(Exchange));

	exchange->query = cut->part;
	exchange->result.exchange = true;
	if (move->column != NULL)
	{
		List *key;

		exchange->result.column = part_column(cut->part, move->column, "key");
		exchange->result.keep_nulls = move->keep_nulls;
		exchange->place = palloc(sizeof(Place));
		*exchange->place = *move->place;
		exchange->place->bound = exchange->place->values = NIL;
		exchange->place->pruned = exchange->place->one_group = false;
		exchange->place->splits = true;
		key =
			list_make1(makeVar(1, exchange->result.column, exprType(move->column),
							   exprTypmod(move->column), exprCollation(move->column), 0));
		exchange->place->strict = move->keep_nulls ? NIL : key;
		exchange->place->weak = move->keep_nulls ? key : NIL;
	}
	if (cut->part->targetList == NIL)
		part_column(cut->part, (Node *) makeBoolConst(true, false), "row");
	broadcast_add_result(&exchange->result);
	return read_rte(exchange);
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

		fragment->subplans = broadcast_results_of(exchange->query);
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
			results = list_union_ptr(results,
									 broadcast_results_of(((Exchange *) result)->query));
	}
	list_sort(results, by_number);
	return results;
}

void
exchange_plan_all(Query *query)
{
	foreach_ptr (SubResult, result, all_results(broadcast_results_of(query)))
	{
		if (result->exchange && result->plan == NULL)
			plan_exchange((Exchange *) result);
	}
}
