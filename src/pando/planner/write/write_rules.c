/*
 * write_rules.c: what holds for all writes.
 *
 * A table whose rows exist more than once (reference tables) gets the same statement on
 * every copy, so that nothing in it may come out differently there: no volatile
 * functions, no LIMIT without a total order.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pando/planner/query/each_level.h"
#include "pando/planner/query/equality.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/write/system_columns.h"
#include "pando/planner/write/write_rules.h"

bool
table_has_copies(const DistTable *table)
{
	return table->kind == TABLE_REFERENCE ||
		   (table->nshards > 0 && table->shards[0].nplacements > 1);
}

static bool
assignment_keeps_key(const TargetEntry *tle, const Query *query, const DistTable *target,
					 List *keys)
{
	Node *expr = equality_strip((Node *) tle->expr);

	if (IsA(expr, Var))
	{
		Var *var = (Var *) expr;

		/* In a conflict the existing row has the same key: a unique index includes it. */
		return var->varlevelsup == 0 && var->varattno == target->key &&
			   (var->varno == query->resultRelation ||
				(query->onConflict != NULL &&
				 var->varno == query->onConflict->exclRelIndex));
	}
	return list_length(keys) == 1 && equal(expr, equality_strip(linitial(keys)));
}

bool
keeps_key(const Query *query, const DistTable *target, List *keys)
{
	List *assignments =
		query->onConflict ? query->onConflict->onConflictSet : query->targetList;

	if (target->key == InvalidAttrNumber)
		return true;
	foreach_ptr (TargetEntry, tle, assignments)
	{
		if (!tle->resjunk && tle->resno == target->key)
			return assignment_keeps_key(tle, query, target, keys);
	}
	return true;
}

void
refuse_key_change(const Query *query, const DistTable *target, List *keys)
{
	if (keeps_key(query, target, keys))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("modifying the distribution column \"%s\" of table \"%s\" is not "
					"supported yet",
					get_attname(target->relid, target->key, false),
					get_rel_name(target->relid)),
			 errdetail("The row would move to another shard."),
			 errhint("Delete the row and insert it with the other value.")));
}

static bool
depends_on_order(Query *level, void *context)
{
	const char **construct = context;

	if (level->limitCount || level->limitOffset)
		*construct = "LIMIT or OFFSET";
	else if (level->hasDistinctOn)
		*construct = "DISTINCT ON";
	else if (level->hasWindowFuncs)
		*construct = "a window function";
	return *construct != NULL;
}

/* What may come out differently for two copies of a row, in words for a user; NULL:
 * nothing. */
static const char *
varying_construct(Query *query)
{
	const char *construct = NULL;

	if (write_system_columns(query).others)
		return "a system column";
	if (query_varies((Node *) query))
		return "a volatile function";
	(void) query_each_level(query, depends_on_order, &construct);
	return construct;
}

void
refuse_varying_copies(const DistTable *target, Query *query)
{
	const char *construct = table_has_copies(target) ? varying_construct(query) : NULL;

	if (construct)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s in a change of table \"%s\", which has several copies, is not "
					"supported yet",
					construct, get_rel_name(target->relid)),
			 errdetail("The copies might come to differ.")));
}

bool
can_stand_on_shards(Query *query, const DistTable *target,
					const Distribution *distribution)
{
	if (query->hasModifyingCTE && distribution->kind != DIST_SINGLE)
		return false;
	if (table_has_copies(target) && varying_construct(query) != NULL)
		return false;
	/* A copy of the row on a node of another shard group would be forgotten. */
	if (target->kind == TABLE_REFERENCE)
		return distribution->kind == DIST_ANYWHERE;
	return distribution->kind == DIST_SINGLE || distribution->kind == DIST_SHARDED;
}
