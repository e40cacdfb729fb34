/*
 * lock_query.c: which levels of a query lock rows, and of which tables.
 */
#include "pando/compat/compat.h"

#include "parser/parsetree.h"

#include "pando/metadata/table.h"
#include "pando/planner/query/each_level.h"
#include "pando/planner/where/copies_here.h"
#include "pando/planner/where/lock_query.h"

const DistTable *
distributed_table(const RangeTblEntry *rte)
{
	const DistTable *table = NULL;

	if (rte->rtekind == RTE_RELATION)
		table = dist_table(rte->relid);
	return table != NULL && table->kind != TABLE_MANAGED_LOCAL ? table : NULL;
}

static bool
locks_reference(Query *query, bool elsewhere)
{
	foreach_ptr (RowMarkClause, mark, query->rowMarks)
	{
		const DistTable *table = distributed_table(rt_fetch(mark->rti, query->rtable));

		if (table != NULL && table->kind == TABLE_REFERENCE &&
			!(elsewhere && first_copy_is_here(table)))
			return true;
	}
	return false;
}

bool
level_locks_reference(Query *query)
{
	return locks_reference(query, false);
}

static bool
locks_elsewhere(Query *level, void *context)
{
	return locks_reference(level, true);
}

bool
query_locks_elsewhere(Query *query)
{
	return query_each_level(query, locks_elsewhere, NULL);
}
