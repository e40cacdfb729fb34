/*
 * distinct.c: a query whose rows matter once each.
 *
 * Where it is only asked whether a row is among them tasks need send none twice, and
 * what is sent to all nodes is less.
 */
#include "pando/compat/compat.h"

#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "pando/planner/query/distinct.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/query/query_shape.h"

bool
query_is_deterministic(const Query *query)
{
	foreach_ptr (TargetEntry, entry, query->targetList)
	{
		Oid collation = exprCollation((Node *) entry->expr);

		if (OidIsValid(collation) && !get_collation_isdeterministic(collation))
			return false;
	}
	return true;
}

bool
query_is_set(const Query *query)
{
	Query rows = *query;

	level_clear(&rows, LEVEL_ORDER);
	return query->distinctClause != NIL && !query->hasDistinctOn &&
		   !query->hasWindowFuncs && query_is_plain(&rows) &&
		   !query_varies((Node *) query);
}

void
query_make_distinct(Query *query)
{
	List *distinct = NIL;

	/* Windows and hidden columns refer to the list by numbers that are given anew here.
	 */
	if (!query_is_plain(query) || query->windowClause != NIL ||
		query_varies((Node *) query) || !query_is_deterministic(query))
		return;
	foreach_ptr (TargetEntry, entry, query->targetList)
	{
		if (entry->resjunk)
			return;
	}
	foreach_ptr (TargetEntry, entry, query->targetList)
	{
		TypeCacheEntry *type =
			lookup_type_cache(exprType((Node *) entry->expr),
							  TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR | TYPECACHE_HASH_PROC);
		SortGroupClause *clause = makeNode(SortGroupClause);

		if (!OidIsValid(type->eq_opr) || !OidIsValid(type->lt_opr))
			return;
		clause->tleSortGroupRef = entry->ressortgroupref = entry->resno;
		clause->eqop = type->eq_opr;
		clause->sortop = type->lt_opr;
		clause->hashable = OidIsValid(type->hash_proc);
		distinct = lappend(distinct, clause);
	}
	level_clear(query, LEVEL_ORDER);
	query->distinctClause = distinct;
}
