/*
 * level_merge.c: where a MERGE can run.
 *
 * It is an outer join, from the source to the target, of which each row has one action
 * (an inner join where nothing is inserted). On the shards each of them must make its
 * change in the shard group in which it comes about: a row that is inserted must belong
 * to the shard group of its source row.
 *
 * A source of one row (SELECT $1 AS id, VALUES (1, 2)) gives its values: a condition on
 * such a column binds the statement as the value itself would.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"

#include "pando/compat/query_text.h"
#include "pando/catalog/partition.h"
#include "pando/metadata/table.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/source_value.h"
#include "pando/planner/where/key_value.h"
#include "pando/planner/where/level.h"
#include "pando/planner/where/place.h"

/* What the condition says with and without them: both are true together. */
static List *
quals_with_values(Query *query)
{
	List *quals = quals_flat(query->jointree->quals);

	foreach_ptr (Node, qual, list_copy(quals))
	{
		if (IsA(qual, OpExpr) && !checkExprHasSubLink(qual))
			quals = list_append_unique(quals, expression_with_source_values(qual, query));
	}
	return quals;
}

static JoinExpr *
target_join(Query *query, JoinType type)
{
	JoinExpr *join = makeNode(JoinExpr);
	RangeTblRef *target = makeNode(RangeTblRef);

	target->rtindex = query->resultRelation;
	join->jointype = type;
	join->larg = (Node *) target;
	join->rarg = linitial(query->jointree->fromlist);
	join->quals = quals_as_node(quals_with_values(query));
	return join;
}

static bool
is_key_of_rows(Query *query, const DistTable *target, Place *place, Node *expr)
{
	Node *value;

	if (place_has_key(place, expr, false))
		return true;
	value = eval_const_expressions(NULL, expression_with_source_values(expr, query));
	value = key_value(value, target->key_type);
	return value != NULL && list_member(place->bound, value);
}

/* Does the change stay in the shard group of the joined row? */
static bool
action_stays(Query *query, const MergeAction *action, const DistTable *target,
			 Place *place)
{
	if (action->commandType != CMD_INSERT && action->commandType != CMD_UPDATE)
		return true;
	if (!AttributeNumberIsValid(target->key))
		return place->one_group || action->commandType == CMD_UPDATE;
	/* A value that is read may have no shard. */
	if (target->kind == TABLE_RANGE && action->commandType == CMD_INSERT)
		return false;
	foreach_ptr (TargetEntry, entry, action->targetList)
	{
		const Var *var = (const Var *) entry->expr;

		if (entry->resjunk || entry->resno != target->key)
			continue;
		if (action->commandType == CMD_UPDATE && IsA(var, Var) &&
			var->varno == query->resultRelation && var->varattno == target->key)
			return true;
		return exprType((Node *) entry->expr) == target->key_type &&
			   is_key_of_rows(query, target, place, (Node *) entry->expr);
	}
	return action->commandType == CMD_UPDATE;
}

/* Where the target's rows, left, are joined with the source's so. */
static Place *
place_of_join(Level *level, Query *joined, JoinType type)
{
	Level rows = *level;

	joined->jointree = makeFromExpr(list_make1(target_join(level->query, type)), NULL);
	rows.query = joined;
	return level_attach_expressions(&rows, level_place(&rows));
}

Output *
level_analyse_merge(Level *level, const DistTable *target)
{
	Query *query = level->query;
	Query joined = *query;
	JoinType type = merge_inserts_unmatched(query) ? JOIN_RIGHT : JOIN_INNER;
	Place *place;
	Place *of_source;

	/* They are evaluated for its rows, as what a query puts out is. */
	joined.targetList = list_concat_copy(query->mergeActionList, query->returningList);
	place = of_source = place_of_join(level, &joined, type);
	/* PostgreSQL's planner will keep the target's rows without a match as well. */
	if (merge_changes_unmatched(query))
		place = place_of_join(level, &joined, type == JOIN_RIGHT ? JOIN_FULL : JOIN_LEFT);
	if (place->kind == PLACE_COORDINATOR)
		return output_at(place);
	if ((target->kind == TABLE_REFERENCE || target->repmodel == REPMODEL_COPIES) &&
		level_varies(&joined, place))
		return output_coordinator("a MERGE that may come out differently for two copies");
	place->anchor = target->relid;
	if (target->kind == TABLE_REFERENCE)
		return place->kind == PLACE_ANYWHERE
				   ? output_at(place)
				   : output_coordinator("a MERGE into a reference table from others");
	if (place->kind != PLACE_SHARDS || place->colocation != target->colocation)
		return output_coordinator("a MERGE of rows that are not on the shards");
	foreach_ptr (MergeAction, action, query->mergeActionList)
	{
		if (!action_stays(query, action, target, of_source))
			return output_coordinator("rows that go to other shards than they come from");
	}
	return output_at(place);
}
