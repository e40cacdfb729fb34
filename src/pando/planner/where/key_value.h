/*
 * key_value.h: values that a query gives for a distribution column.
 */
#ifndef PANDO_PLANNER_KEY_VALUE_H
#define PANDO_PLANNER_KEY_VALUE_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"
#include "pando/planner/where/place.h"

/*
 * The expression as a value of the key's type, to be hashed: NULL (the pointer) when it
 * depends on rows, or has a type whose equal values may hash otherwise. The result gives
 * an SQL NULL where no value of the key's type is equal.
 */
extern Node *key_value(Node *expr, Oid key_type);

/* The same for most keys of the simple protocol: an integer constant for an integer
 * column, also under a cast that widens it. NULL: it is something else. */
extern Node *key_integer(Node *expr, Oid key_type);

/*
 * Does the qualification leave only rows whose key is one of a list of values, of which
 * NULL is one? Knows `key = ANY (array)`, IS NULL, IS NOT DISTINCT FROM and OR of them.
 * `key = value` is equality.h's.
 */
extern bool key_values_of_qual(Node *qual, const Place *place, List **values);

#endif
