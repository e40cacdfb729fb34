/*
 * place_rules.c: the rules: what joins, filters and sublinks do to a place.
 *
 * The central idea is `bound`: the rows of a part are in the shard group of some value. A
 * part that is bound to a column which tells the shard group of another part's rows can
 * be evaluated next to it, whether the binding came from a join condition, a lateral
 * reference or a correlated sublink.
 */
#include "pando/compat/compat.h"

#include "nodes/nodeFuncs.h"
#include "pando/planner/query/equality.h"
#include "pando/planner/where/key_value.h"
#include "pando/planner/where/place_rules.h"

static const char *const reason_join =
	"a join of distributed tables on other columns than their distribution columns";
static const char *const reason_colocation =
	"a join of distributed tables that are not colocated";
static const char *const reason_outer =
	"an outer join that keeps the rows of a reference table";
static const char *const reason_varies = "a part that may give other rows on each node";

/* An expression equal to the key, from outside of the part: what `bound` takes, or NULL.
 */
static Node *
binding_of(const Place *place, Node *expr)
{
	if (IsA(expr, Var))
	{
		Var *var = (Var *) expr;

		if (var->varlevelsup == 0 && bms_is_member(var->varno, place->relids))
			return NULL;
		return expr;
	}
	return place->own_hash ? NULL : key_value(expr, place->key_type);
}

static void
add_bindings(Place *place, List *members)
{
	ListCell *cell;

	foreach (cell, members)
	{
		Node *binding = binding_of(place, lfirst(cell));

		if (binding != NULL)
			place->bound = list_append_unique(place->bound, binding);
	}
}

/* Class members that belong to the part are keys as well as the one they equal. */
static List *
members_inside(const Place *place, List *members)
{
	List *inside = NIL;

	foreach_ptr (Node, member, members)
	{
		if (IsA(member, Var) && ((Var *) member)->varlevelsup == 0 &&
			bms_is_member(((Var *) member)->varno, place->relids))
			inside = lappend(inside, member);
	}
	return inside;
}

/* `=` holds for all rows in view, so no member of a class is NULL in any of them. */
static void
take_equalities(Place *place, const Equalities *equalities)
{
	foreach_ptr (Node, key, list_concat_copy(place->strict, place->weak))
	{
		List *members = equalities_members(equalities, key, place->key_family);
		List *keys;

		if (list_length(members) == 1)
			continue;
		add_bindings(place, members);
		keys = list_append_unique(members_inside(place, members), key);
		place->strict = list_union(place->strict, keys);
		place->not_null = list_union(place->not_null, keys);
		place->weak = list_difference(place->weak, keys);
	}
}

/* Nor is a key that is tested for it. */
static void
take_null_tests(Place *place, List *quals)
{
	foreach_ptr (NullTest, test, quals)
	{
		Node *key;

		if (!IsA(test, NullTest) || test->nulltesttype != IS_NOT_NULL)
			continue;
		key = equality_strip((Node *) test->arg);
		if (!place_has_key(place, key, true))
			continue;
		place->strict = list_append_unique(place->strict, key);
		place->not_null = list_append_unique(place->not_null, key);
		place->weak = list_delete(place->weak, key);
	}
}

/* Only the rows in these shard groups count; the shorter of two lists is kept. */
static void
take_values(Place *place, List *values)
{
	if (place->pruned && list_length(place->values) <= list_length(values))
		return;
	place->pruned = true;
	place->values = values;
}

void
place_restrict(Place *place, const Equalities *equalities, List *quals)
{
	ListCell *cell;

	if (place->kind != PLACE_SHARDS || !OidIsValid(place->key_type))
		return;
	take_equalities(place, equalities);
	take_null_tests(place, quals);
	if (place->own_hash)
		return;
	foreach (cell, quals)
	{
		List *values;

		if (!key_values_of_qual(lfirst(cell), place, &values))
			continue;
		if (list_length(values) == 1)
			place->bound = list_append_unique(place->bound, linitial(values));
		else
			take_values(place, values);
	}
}

/* Do the two agree on one shard group, or does a key of one tell the other's? */
static bool
bound_by_key(const Place *place, const Place *other)
{
	ListCell *cell;

	foreach (cell, other->bound)
	{
		if (IsA(lfirst(cell), Var) && place_has_key(place, lfirst(cell), true))
			return true;
	}
	return false;
}

static bool
bound_alike(const Place *a, const Place *b)
{
	ListCell *cell;

	if (a->one_group && b->one_group)
		return true;
	foreach (cell, a->bound)
	{
		if (list_member(b->bound, lfirst(cell)))
			return true;
	}
	return false;
}

/* Keeps of the bindings those that don't name columns inside; may leave nothing. */
static void
drop_inner_bindings(Place *place)
{
	List *bound = NIL;
	ListCell *cell;

	foreach (cell, place->bound)
	{
		Node *binding = lfirst(cell);

		if (!IsA(binding, Var) || binding_of(place, binding) != NULL)
			bound = lappend(bound, binding);
	}
	place->bound = bound;
}

/* Without a way to evaluate it, it is the coordinator's. */
static Place *
checked(Place *place, const char *reason)
{
	if (place->kind != PLACE_SHARDS)
		return place;
	if (place->splits || place->one_group || place->bound != NIL)
		return place;
	return place_coordinator(reason);
}

static Place *
join_anywhere(Place *a, Place *b)
{
	Place *result = place_copy(a->kind == PLACE_SHARDS ? a : b);

	if (a->kind == PLACE_ANYWHERE && b->kind == PLACE_ANYWHERE)
	{
		result->varies = a->varies || b->varies;
		if (!OidIsValid(result->anchor))
			result->anchor = a->anchor;
	}
	result->relids = bms_union(a->relids, b->relids);
	return result;
}

/* Two parts with distributed tables, inner-joined; NULL if they can't be evaluated
 * together. */
static Place *
join_shards(Place *a, Place *b)
{
	bool a_follows = bound_by_key(b, a);
	bool b_follows = bound_by_key(a, b);
	Place *result;

	if (a->colocation != b->colocation)
		return NULL;
	if (!a_follows && !b_follows && !bound_alike(a, b))
		return NULL;
	result = place_copy(a);
	result->relids = bms_union(a->relids, b->relids);
	/* A part that is bound to the other's key is complete wherever the other's row is. */
	result->splits =
		(a->splits && b->splits) || (a->splits && b_follows) || (b->splits && a_follows);
	result->one_group = a->one_group && b->one_group;
	result->bound = list_union(a->bound, b->bound);
	result->strict = list_union(a->strict, b->strict);
	result->not_null = list_union(a->not_null, b->not_null);
	result->weak = list_union(a->weak, b->weak);
	if (b->pruned)
		take_values(result, b->values);
	drop_inner_bindings(result);
	return result;
}

Place *
place_join(List *places, const Equalities *equalities)
{
	Place *anywhere = place_anywhere(InvalidOid);
	Place *result = NULL;
	List *rest = NIL;
	bool other_colocation = false;
	bool progress = true;
	ListCell *cell;

	foreach (cell, places)
	{
		Place *place = lfirst(cell);

		if (place->kind == PLACE_COORDINATOR)
			return place;
		if (place->kind == PLACE_ANYWHERE)
			anywhere = join_anywhere(place, anywhere);
		else
			rest = lappend(rest, place);
	}
	if (rest == NIL)
		return anywhere;

	result = linitial(rest);
	rest = list_delete_first(rest);
	while (rest != NIL && progress)
	{
		progress = false;
		foreach (cell, rest)
		{
			Place *joined = join_shards(result, lfirst(cell));

			if (((Place *) lfirst(cell))->colocation != result->colocation)
				other_colocation = true;
			if (joined == NULL)
				continue;
			result = joined;
			rest = foreach_delete_current(rest, cell);
			progress = true;
		}
	}
	if (rest != NIL)
		return place_coordinator(other_colocation ? reason_colocation : reason_join);

	result = join_anywhere(result, anywhere);
	drop_inner_bindings(result);
	if (anywhere->varies && !place_is_fixed(result))
		return place_coordinator(reason_varies);
	if (anywhere->varies)
		result->splits = false;
	result = checked(result, reason_join);
	return result;
}

Place *
place_left_join(Place *left, Place *right)
{
	Place *result;

	if (left->kind == PLACE_COORDINATOR)
		return left;
	if (right->kind == PLACE_COORDINATOR)
		return right;
	if (right->kind == PLACE_ANYWHERE)
	{
		result = join_anywhere(left, right);
		if (left->kind == PLACE_SHARDS && right->varies)
		{
			if (!place_is_fixed(left))
				return place_coordinator(reason_varies);
			result->splits = false;
		}
		return result;
	}
	if (left->kind == PLACE_ANYWHERE)
	{
		result = place_copy(right);
		result->splits = false;
		result->strict = result->not_null = NIL;
		result->weak = list_union(right->strict, right->weak);
		result->relids = bms_union(left->relids, right->relids);
		drop_inner_bindings(result);
		place_settle(result);
		return checked(result, reason_outer);
	}
	if (left->colocation != right->colocation)
		return place_coordinator(reason_colocation);
	if (!bound_by_key(left, right) && !bound_alike(left, right))
		return place_coordinator(reason_join);

	result = place_copy(left);
	result->relids = bms_union(left->relids, right->relids);
	result->splits = left->splits && (right->splits || bound_by_key(left, right));
	result->one_group = left->one_group && right->one_group;
	result->weak = list_union(list_union(left->weak, right->strict), right->weak);
	drop_inner_bindings(result);
	return checked(result, reason_join);
}

/* COALESCE(a, b) of two keys that the join equates: what USING shows. */
static Node *
merged_key(Node *a, Node *b)
{
	CoalesceExpr *merged = makeNode(CoalesceExpr);

	merged->coalescetype = exprType(a);
	merged->coalescecollid = exprCollation(a);
	merged->args = list_make2(a, b);
	merged->location = -1;
	return (Node *) merged;
}

static List *
merged_keys(Place *left, Place *right, const Equalities *equalities)
{
	List *result = NIL;
	ListCell *l;
	ListCell *r;

	foreach (l, left->strict)
	{
		foreach (r, right->strict)
		{
			if (equalities_same(equalities, lfirst(l), lfirst(r), left->key_family))
				result = lappend(result, merged_key(lfirst(l), lfirst(r)));
		}
	}
	return result;
}

/* Does the join equate a key of one side with a key of the other? */
static bool
keys_equated(Place *left, Place *right, const Equalities *equalities)
{
	ListCell *l;
	ListCell *r;

	foreach (l, list_union(left->strict, left->weak))
	{
		foreach (r, list_union(right->strict, right->weak))
		{
			if (equalities_same(equalities, lfirst(l), lfirst(r), left->key_family))
				return true;
		}
	}
	return false;
}

Place *
place_full_join(Place *left, Place *right, const Equalities *equalities)
{
	Place *result;

	if (left->kind == PLACE_COORDINATOR)
		return left;
	if (right->kind == PLACE_COORDINATOR)
		return right;
	if (left->kind == PLACE_ANYWHERE && right->kind == PLACE_ANYWHERE)
		return join_anywhere(left, right);

	result = place_copy(left->kind == PLACE_SHARDS ? left : right);
	result->relids = bms_union(left->relids, right->relids);
	result->weak = list_union(list_union(left->strict, left->weak),
							  list_union(right->strict, right->weak));
	result->strict = result->not_null = NIL;
	if (left->kind == PLACE_SHARDS && right->kind == PLACE_SHARDS)
	{
		bool equated;

		if (left->colocation != right->colocation)
			return place_coordinator(reason_colocation);
		equated = OidIsValid(left->key_family) && keys_equated(left, right, equalities);
		result->one_group = left->one_group && right->one_group;
		result->splits = left->splits && right->splits && (equated || result->one_group);
		result->bound = list_intersection(left->bound, right->bound);
		result->pruned = left->pruned && right->pruned;
		result->values = list_concat_copy(left->values, right->values);
		if (equated)
			result->strict = merged_keys(left, right, equalities);
	}
	else
		result->splits = false;
	drop_inner_bindings(result);
	if (!result->splits)
		place_settle(result);
	return checked(result, reason_outer);
}

Place *
place_with_sublink(Place *place, Place *sublink)
{
	if (place->kind == PLACE_COORDINATOR || sublink->kind == PLACE_COORDINATOR)
		return place->kind == PLACE_COORDINATOR ? place : sublink;
	if (sublink->kind == PLACE_ANYWHERE)
	{
		Place *result = place_copy(place);

		if (place->kind == PLACE_ANYWHERE)
		{
			result->varies = place->varies || sublink->varies;
			if (!OidIsValid(result->anchor))
				result->anchor = sublink->anchor;
		}
		else if (sublink->varies)
		{
			if (!place_is_fixed(place))
				return place_coordinator(reason_varies);
			result->splits = false;
		}
		return result;
	}
	if (place->kind == PLACE_ANYWHERE)
	{
		Place *result = place_copy(sublink);

		result->relids = bms_copy(place->relids);
		result->splits = false;
		result->strict = result->not_null = result->weak = NIL;
		drop_inner_bindings(result);
		place_settle(result);
		return checked(result, "a subquery on a distributed table for rows that are "
							   "on every node");
	}
	if (place->colocation != sublink->colocation)
		return place_coordinator(
			"a subquery on a distributed table that is not colocated");
	if (!bound_by_key(place, sublink) && !bound_alike(place, sublink))
		return place_coordinator(
			"a subquery that is not tied to the outer query by the distribution column");
	return place;
}
