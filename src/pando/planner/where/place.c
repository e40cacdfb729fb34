/*
 * place.c: places, and what is asked of one. See place.h.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "pando/metadata/table.h"
#include "pando/planner/query/equality.h"
#include "pando/planner/where/place.h"

Place *
place_anywhere(Oid anchor)
{
	Place *place = palloc0(sizeof(Place));

	place->kind = PLACE_ANYWHERE;
	place->anchor = anchor;
	return place;
}

Place *
place_coordinator(const char *reason)
{
	Place *place = palloc0(sizeof(Place));

	place->kind = PLACE_COORDINATOR;
	place->reason = reason;
	return place;
}

Place *
place_copy(const Place *place)
{
	Place *copy = palloc(sizeof(Place));

	*copy = *place;
	copy->relids = bms_copy(place->relids);
	copy->bound = list_copy(place->bound);
	copy->values = list_copy(place->values);
	copy->strict = list_copy(place->strict);
	copy->not_null = list_copy(place->not_null);
	copy->weak = list_copy(place->weak);
	return copy;
}

Place *
place_table(Oid relid, Index varno)
{
	const DistTable *table = dist_table(relid);
	Place *place;

	if (table == NULL || table->kind == TABLE_MANAGED_LOCAL)
		return place_coordinator(psprintf("local table %s", get_rel_name(relid)));
	place = place_anywhere(relid);
	place->relids = bms_make_singleton(varno);
	if (table->kind == TABLE_REFERENCE)
		return place;

	place->kind = PLACE_SHARDS;
	place->colocation = table->colocation;
	place->splits = true;
	place->one_group = table->kind == TABLE_SINGLE;
	if (dist_table_key_tells(table))
	{
		place->key_type = table->key_type;
		place->key_family = hash_family_of_type(table->key_type);
		place->key_collation = table->key_collation;
		place->strict = list_make1(makeVar(varno, table->key, table->key_type,
										   table->key_typmod, table->key_collation, 0));
		if (table->key_not_null)
			place->not_null = list_copy(place->strict);
	}
	return place;
}

bool
place_has_key(const Place *place, Node *expr, bool weak_too)
{
	expr = equality_strip(expr);
	return list_member(place->strict, expr) ||
		   (weak_too && list_member(place->weak, expr));
}

bool
place_key_not_null(const Place *place, Node *expr)
{
	return list_member(place->not_null, equality_strip(expr));
}

bool
place_groups_by(const Place *place, Node *expr)
{
	Oid collation = exprCollation(expr);

	if (OidIsValid(collation) && collation != place->key_collation &&
		!get_collation_isdeterministic(collation))
		return false;
	return hash_family_of_type(exprType(expr)) == place->key_family &&
		   place_has_key(place, expr, false);
}

bool
place_is_fixed(const Place *place)
{
	ListCell *cell;

	if (place->kind != PLACE_SHARDS || place->one_group)
		return place->kind == PLACE_SHARDS;
	foreach (cell, place->bound)
	{
		if (!IsA(lfirst(cell), Var))
			return true;
	}
	return false;
}

static Node *
best_binding(List *bound)
{
	foreach_ptr (Node, binding, bound)
	{
		if (IsA(binding, Var))
			return binding;
	}
	return linitial(bound);
}

void
place_settle(Place *place)
{
	if (place->bound == NIL)
		return;
	place->bound = list_make1(best_binding(place->bound));
	place->pruned = false;
	place->values = NIL;
}

Place *
place_closed(Place *place)
{
	Place *result = place_copy(place);
	List *bound = NIL;
	ListCell *cell;

	foreach (cell, place->bound)
	{
		Node *binding = lfirst(cell);

		if (!IsA(binding, Var) || ((Var *) binding)->varlevelsup > 0)
			bound = lappend(bound, binding);
	}
	result->bound = bound;
	return result;
}
