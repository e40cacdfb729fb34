/*
 * exchange_item.c: FROM items that read an exchange.
 */
#include "pando/compat/compat.h"

#include "rewrite/rewriteManip.h"

#include "pando/planner/where/exchange_item.h"
#include "pando/planner/query/each_level.h"
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
		place->not_null = copyObject(place->not_null);
		place->weak = copyObject(place->weak);
		ChangeVarNodes((Node *) place->strict, 1, varno, 0);
		ChangeVarNodes((Node *) place->not_null, 1, varno, 0);
		ChangeVarNodes((Node *) place->weak, 1, varno, 0);
	}
	place->relids = bms_make_singleton(varno);
	return place;
}

static bool
expand_level(Query *level, void *context)
{
	foreach_ptr (RangeTblEntry, rte, level->rtable)
	{
		Exchange *exchange = exchange_of_rte(rte);

		if (exchange != NULL)
			rte_become_subquery(rte, copyObject(exchange->query));
	}
	return false;
}

void
exchange_expand(Query *query)
{
	if (results_mark() > 0)
		(void) query_each_level(query, expand_level, NULL);
}
