/*
 * may_run_here.c: fragments whose only shard group may turn out to be on this node.
 *
 * They carry their Query along; local_start.c has PostgreSQL plan it then.
 *
 * Not for what would tell a shard from its table: rows as a whole and tableoid; and an
 * ON CONFLICT that names a constraint, which is the shell table's.
 */
#include "pando/compat/compat.h"

#include "access/sysattr.h"
#include "nodes/nodeFuncs.h"

#include "pando/metadata/node.h"
#include "pando/metadata/shard_relation.h"
#include "pando/planner/fragment/fragment_plan.h"
#include "pando/planner/write/insert.h"
#include "pando/planner/fragment/fragment_make.h"
#include "pando/planner/write/may_run_here.h"
#include "pando/planner/where/point.h"

static bool
tells_shard_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varattno == InvalidAttrNumber ||
			   ((Var *) node)->varattno == TableOidAttributeNumber;
	if (IsA(node, OnConflictExpr))
	{
		OnConflictExpr *conflict = (OnConflictExpr *) node;

		/* Its exclRelTlist is the planner's. */
		return OidIsValid(conflict->constraint) ||
			   tells_shard_walker((Node *) conflict->arbiterElems, context) ||
			   tells_shard_walker(conflict->arbiterWhere, context) ||
			   tells_shard_walker((Node *) conflict->onConflictSet, context) ||
			   tells_shard_walker(conflict->onConflictWhere, context);
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, tells_shard_walker, context, 0);
	return expression_tree_walker(node, tells_shard_walker, context);
}

bool
may_stand_on_shards(Query *query)
{
	return (!plan_shows_tasks() || conflict_is_for_here(query)) &&
		   !query->hasModifyingCTE && query->commandType != CMD_MERGE &&
		   !query_tree_walker(query, tells_shard_walker, NULL, 0);
}

bool
shard_is_only_here(const DistTable *table, int index)
{
	return index >= 0 && index < table->nshards &&
		   table->shards[index].nplacements == 1 && shard_is_local(table, index);
}

bool
all_shards_are_here(const DistTable *table)
{
	return dist_table_in_group(table, node_local_group()).nshards == table->nshards;
}

int
first_shard_here(const DistTable *table)
{
	GroupShards here = dist_table_in_group(table, node_local_group());

	for (int i = 0; i < here.nshards; i++)
	{
		if (table->shards[here.shards[i]].nplacements == 1)
			return here.shards[i];
	}
	return -1;
}

void
fragment_may_run_here(Fragment *fragment, Query *query, Node *key, int cursor_options)
{
	const DistTable *anchor = dist_table_require(fragment->anchor);

	/* A constant's shard group was not here. */
	if ((key == NULL ? anchor->kind != TABLE_SINGLE : IsA(key, Const)) ||
		fragment->subplans != NIL || first_shard_here(anchor) < 0 ||
		!may_stand_on_shards(query))
		return;
	fragment->local = palloc0(sizeof(FragmentLocal));
	fragment->local->query = copyObject(query);
	if (key != NULL)
		fragment->local->key = linitial(plan_expressions(list_make1(key)));
	fragment->local->cursor_options = cursor_options;
}

PlannedStmt *
plan_point_later(Query *query, const Point *point, int cursor_options)
{
	Query *text = copyObject(query);
	Fragment *fragment;

	text->onConflict = NULL;
	text->returningList = NIL;
	fragment = insert_rows_fragment(text, point->table, false);
	fragment_may_run_here(fragment, query, point->key, cursor_options);
	if (fragment->local == NULL)
		return NULL;
	fragment->local->only = true;
	fragment_set_columns(fragment, query->returningList);
	return fragment_planned_stmt(query, fragment);
}
