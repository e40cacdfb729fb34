/*
 * exists.c: what EXISTS asks for is a row, whatever is in it.
 *
 * PostgreSQL knows it, too (simplify_EXISTS_query() in subselect.c), once it plans the
 * sublink; by then a node has been asked for the columns.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

#include "pando/planner/query/each_level.h"
#include "pando/planner/query/exists.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/level_fields.h"

/* LIMIT ALL, NULL or a constant that is above zero. */
static bool
limit_leaves_a_row(Node *limit)
{
	const Const *value = (Const *) eval_const_expressions(NULL, limit);

	return value == NULL || (IsA(value, Const) && (value->constisnull ||
												   DatumGetInt64(value->constvalue) > 0));
}

/* Is there a row if and only if FROM and WHERE leave one? */
static bool
only_rows_matter(const Query *query)
{
	return query->commandType == CMD_SELECT && query->setOperations == NULL &&
		   !query->hasAggs && query->groupingSets == NIL && !query->hasWindowFuncs &&
		   !query->hasTargetSRFs && query->havingQual == NULL &&
		   query->limitOffset == NULL && limit_leaves_a_row(query->limitCount) &&
		   query->rowMarks == NIL;
}

static void
drop_columns(Query *query)
{
	Node *one = (Node *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
								   Int32GetDatum(1), false, true);

	level_clear(query, LEVEL_ROWS | LEVEL_ORDER);
	query->targetList =
		list_make1(makeTargetEntry((Expr *) one, 1, pstrdup("?column?"), false));
}

static bool
sublink_walker(Node *node, void *context)
{
	if (node == NULL || IsA(node, Query))
		return false;
	if (IsA(node, SubLink) && ((SubLink *) node)->subLinkType == EXISTS_SUBLINK)
	{
		Query *query = castNode(Query, ((SubLink *) node)->subselect);

		if (only_rows_matter(query))
			drop_columns(query);
	}
	return expression_tree_walker(node, sublink_walker, context);
}

static bool
simplify_level(Query *level, void *context)
{
	if (level->hasSubLinks)
		query_tree_walker(level, sublink_walker, NULL,
						  QTW_IGNORE_RC_SUBQUERIES | QTW_IGNORE_JOINALIASES);
	return false;
}

void
query_simplify_exists(Query *query)
{
	(void) query_each_level(query, simplify_level, NULL);
}

void
level_exists_as_items(Query *level)
{
	List *quals = NIL;

	foreach_ptr (Node, qual, quals_flat(level->jointree->quals))
	{
		SubLink *sublink = (SubLink *) qual;

		if (IsA(sublink, SubLink) && sublink->subLinkType == EXISTS_SUBLINK)
			level_add_query(level, "found", (Query *) sublink->subselect)->lateral = true;
		else
			quals = lappend(quals, qual);
	}
	level->jointree->quals = quals_as_node(quals);
}

Node *
none_of(Query *rows, List *quals)
{
	SubLink *exists = makeNode(SubLink);

	rows->jointree->quals = quals_as_node(quals);
	exists->subLinkType = EXISTS_SUBLINK;
	exists->subselect = (Node *) rows;
	exists->location = -1;
	return (Node *) makeBoolExpr(NOT_EXPR, list_make1(exists), -1);
}
