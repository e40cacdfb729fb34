/*
 * spread.c: what is gained when several sessions of one node share a fragment's tasks.
 *
 * A node gets all its tasks as one statement, whose parts PostgreSQL spreads over cores
 * by itself (Parallel Append) where it knows that it may and that it is worth it. It may
 * not with functions that are not declared PARALLEL SAFE, nor below a LIMIT; and what a
 * function in a procedural language costs, nobody knows.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "nodes/nodeFuncs.h"
#include "utils/syscache.h"

#include "pando/planner/where/hazard.h"
#include "pando/planner/where/level.h"
#include "pando/planner/fragment/spread.h"

/* A volatile function may write; the snapshot of a transaction that does isn't shared. */
static bool may_write = false;

bool
spread_statement_begin(void)
{
	return may_write;
}

void
spread_statement_end(bool outer)
{
	may_write = outer;
}

void
spread_statement(Query *query)
{
	may_write = may_write || query_varies((Node *) query);
}

static bool
look_at_function(Oid function, void *context)
{
	FragmentSpread *spread = context;
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc form;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	if (form->prolang != INTERNALlanguageId && form->prolang != ClanguageId)
		*spread = SPREAD_UNKNOWN;
	else if (form->proparallel != PROPARALLEL_SAFE)
		*spread = Max(*spread, SPREAD_COST);
	ReleaseSysCache(tuple);
	return false;
}

static bool
spread_walker(Node *node, FragmentSpread *spread)
{
	if (node == NULL)
		return false;
	(void) check_functions_in_node(node, look_at_function, spread);
	if (IsA(node, Query))
	{
		Query *query = (Query *) node;

		if (clause_limits(query->limitCount) || clause_limits(query->limitOffset))
			*spread = Max(*spread, SPREAD_COST);
		return query_tree_walker(query, spread_walker, spread, 0);
	}
	return expression_tree_walker(node, spread_walker, spread);
}

bool
spread_only_reads(const Query *query)
{
	return !may_write && query->commandType == CMD_SELECT && !query->hasForUpdate &&
		   !query->hasModifyingCTE;
}

FragmentSpread
spread_of_query(Query *query)
{
	FragmentSpread spread = SPREAD_NOTHING;

	if (!spread_only_reads(query))
		return SPREAD_NEVER;
	spread_walker((Node *) query, &spread);
	return spread;
}
