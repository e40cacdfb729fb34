/*
 * lock_query.c: which levels of a query lock rows, and of which tables.
 */
#include "pando/compat/compat.h"

#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"

#include "pando/metadata/table.h"
#include "pando/plan/row_place.h"
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
locks_walker(Node *node, void *context)
{
	bool places = *(bool *) context;

	if (node == NULL)
		return false;
	if (places && is_row_place(node))
		return true;
	if (IsA(node, Query))
		return ((Query *) node)->rowMarks != NIL ||
			   query_tree_walker((Query *) node, locks_walker, context,
								 QTW_IGNORE_JOINALIASES);
	return expression_tree_walker(node, locks_walker, context);
}

bool
query_locks_rows(Query *query)
{
	bool places = false;

	return locks_walker((Node *) query, &places);
}

bool
query_wants_first_copies(Query *query)
{
	bool places = true;

	return locks_walker((Node *) query, &places);
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
elsewhere_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return locks_reference((Query *) node, true) ||
			   query_tree_walker((Query *) node, elsewhere_walker, context,
								 QTW_IGNORE_JOINALIASES);
	return expression_tree_walker(node, elsewhere_walker, context);
}

bool
query_locks_elsewhere(Query *query)
{
	return elsewhere_walker((Node *) query, NULL);
}
