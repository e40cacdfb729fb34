/*
 * exchange_item.c: FROM items that read an exchange.
 */
#include "pando/compat/compat.h"

#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteManip.h"

#include "pando/planner/where/exchange_item.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/where/place.h"
#include "pando/planner/where/result_scope.h"

static Exchange *
exchange_of_rte(RangeTblEntry *rte)
{
	SubResult *result;

	if (rte->rtekind != RTE_FUNCTION || list_length(rte->functions) != 1)
		return NULL;
	result = result_of_call(((RangeTblFunction *) linitial(rte->functions))->funcexpr);
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
