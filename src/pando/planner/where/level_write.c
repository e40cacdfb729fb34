/*
 * level_write.c: where INSERT ... SELECT, UPDATE and DELETE can run.
 *
 * On the shards where no row has to go to another shard than the one it comes from; on
 * every copy of a reference table where it does the same on each.
 */
#include "pando/compat/compat.h"

#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "pando/catalog/partition.h"
#include "pando/metadata/table.h"
#include "pando/planner/where/place_rules.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/query/equality.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/where/key_value.h"
#include "pando/planner/where/level.h"
#include "pando/planner/where/place.h"

static Oid stay_in = InvalidOid;

Oid
rows_stay_in(Oid relid)
{
	Oid before = stay_in;

	stay_in = relid;
	return before;
}

bool
rows_are_known_to_stay(Oid relid)
{
	return OidIsValid(relid) && relid == stay_in;
}

/* An assignment to the distribution column that may change a row's shard group. */
static bool
moves_rows(Query *query, const DistTable *target, Place *place)
{
	ListCell *cell;

	if (!AttributeNumberIsValid(target->key) || rows_are_known_to_stay(target->relid))
		return false;
	foreach (cell, query->targetList)
	{
		TargetEntry *entry = lfirst(cell);

		if (entry->resno == target->key && !entry->resjunk)
			return !place_has_key(place, (Node *) entry->expr, false) &&
				   !list_member(place->bound,
								key_value((Node *) entry->expr, target->key_type));
	}
	return false;
}

/* Does each row that INSERT ... SELECT makes stay where its source row is? */
static bool
insert_stays(Query *query, const DistTable *target, Place *place)
{
	ListCell *cell;

	if (place->kind != PLACE_SHARDS || place->colocation != target->colocation ||
		target->kind == TABLE_RANGE) /* a value that is read may have no shard */
		return false;
	if (!AttributeNumberIsValid(target->key))
		return place->one_group;
	foreach (cell, query->targetList)
	{
		TargetEntry *entry = lfirst(cell);

		if (entry->resno != target->key)
			continue;
		return exprType((Node *) entry->expr) == target->key_type &&
			   (place_has_key(place, (Node *) entry->expr, false) ||
				list_member(place->bound,
							key_value((Node *) entry->expr, target->key_type)));
	}
	return false;
}

Output *
level_analyse_write(Level *level)
{
	Query *query = level->query;
	RangeTblEntry *rte = rt_fetch(query->resultRelation, query->rtable);
	const DistTable *target = dist_table(rte->relid);
	Place *place;

	if (target == NULL || target->kind == TABLE_MANAGED_LOCAL)
		return output_coordinator(psprintf("local table %s", get_rel_name(rte->relid)));
	if (query->withCheckOptions != NIL)
		return output_coordinator("a check option");
	if (query->commandType == CMD_MERGE)
		return level_analyse_merge(level, target);
	place = level_place(level);
	place = level_attach_expressions(level, place);
	if (place->kind == PLACE_COORDINATOR)
		return output_at(place);
	if (target->repmodel == REPMODEL_COPIES && level_varies(query, place))
		return output_coordinator("a volatile function for a shard with several copies");
	if (target->kind == TABLE_REFERENCE)
	{
		if (place->kind != PLACE_ANYWHERE)
			return output_coordinator(
				"a write to a reference table from distributed tables");
		if (level_varies(query, place) ||
			expression_varies((Node *) query->returningList))
			return output_coordinator(
				"a write to a reference table that depends on the node");
		place->anchor = rte->relid;
		return output_at(place);
	}
	if (query->commandType == CMD_INSERT)
	{
		if (!insert_stays(query, target, place))
			return output_coordinator("rows that go to other shards than they come from");
	}
	else if (moves_rows(query, target, place))
		return output_coordinator("a change of the distribution column");
	place->anchor = rte->relid;
	return output_at(place);
}

/* Data-modifying WITH queries run once, in the same shard group as the statement. */
Place *
level_attach_writes(Level *level, Place *place)
{
	ListCell *cell;

	foreach (cell, level->query->cteList)
	{
		Query *query = (Query *) ((CommonTableExpr *) lfirst(cell))->ctequery;
		Place *write;

		if (query->commandType == CMD_SELECT)
			continue;
		write = place_raised(level_analyse(query, level)->place);
		if (write->kind == PLACE_ANYWHERE)
			return place_coordinator("a write to a reference table in WITH");
		if (write->kind == PLACE_SHARDS && place->kind == PLACE_ANYWHERE)
			place = place_with_sublink(place, write);
		else
		{
			place = place_join(list_make2(place, write), equalities_create());
			if (place->kind == PLACE_SHARDS && !place_is_fixed(place))
				return place_coordinator("a data-modifying WITH on several shards");
		}
		if (place->kind == PLACE_COORDINATOR)
			return place;
	}
	return place;
}
