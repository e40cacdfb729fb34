/*
 * place.h: where the rows of a part of a query are, with all that the rules need.
 *
 * A Place is a Distribution under construction: it also says which expressions of the
 * level tell a row's shard group, and what the rows' shard groups are bound to.
 *
 * For PLACE_SHARDS one of these holds:
 *   splits     evaluated on each shard group, the results' union is the result;
 *   bound      evaluated on the shard group of a value alone, the result is complete. All
 *              expressions in `bound` equal that value. They are values without Vars
 *              (coerced to the key's type), or Vars from outside of the part: columns of
 *              other FROM items or of an outer query, of the key's hash family;
 *   one_group  there is one shard group only.
 * Several may hold at once: a filter `key = 5` on a table gives splits and bound.
 *
 * A row whose `strict` expression has value v lives in v's shard group. NULL has one,
 * too, where the rows are whose distribution column is NULL; those of the `strict`
 * expressions that are known to have a value in each row are `not_null` as well. A `weak`
 * expression may be NULL for other reasons (outer joins), and then the row is in any
 * shard group. What is bound to a value that turns out to be NULL is evaluated in NULL's
 * shard group: all of its rows are there (IS NULL), or it has none (`=`).
 */
#ifndef PANDO_PLANNER_PLACE_H
#define PANDO_PLANNER_PLACE_H

#include "pando/compat/compat.h"
#include "nodes/bitmapset.h"
#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"

typedef enum PlaceKind
{
	PLACE_ANYWHERE,
	PLACE_SHARDS,
	PLACE_COORDINATOR
} PlaceKind;

typedef struct Place
{
	PlaceKind kind;
	bool varies;   /* ANYWHERE: two evaluations may differ; evaluate it once only */
	Relids relids; /* FROM items of the level that are inside */

	bool splits;
	bool one_group;
	List *bound;
	bool pruned;  /* only the shard groups of `values` hold rows */
	List *values; /* Exprs of the key's type without Vars */
	Oid anchor;	  /* one of the distributed tables; ANYWHERE: a reference table or invalid
				   */
	int32 colocation;
	Oid key_type;	/* invalid for a single-shard table */
	Oid key_family; /* hash operator family of the key */
	Oid key_collation;
	bool own_hash; /* the key's type is not the anchor's: values don't tell a shard group
					*/
	List *strict;  /* expressions of the level */
	List *not_null;
	List *weak;

	const char *reason; /* COORDINATOR */
} Place;

extern Place *place_anywhere(Oid anchor);
extern Place *place_coordinator(const char *reason);
extern Place *place_copy(const Place *place);

/* A relation at a position of the level's range table. */
extern Place *place_table(Oid relid, Index varno);

/* The place without what names columns inside of it: as seen by an outer level or join.
 */
extern Place *place_closed(Place *place);

/*
 * Where rows may come out that no rows on the shards stand behind, as of count(*), all of
 * `bound` would do, but they needn't be equal. One is kept.
 */
extern void place_settle(Place *place);

/* Is the expression a strict (or, when asked, weak) key of the place? */
extern bool place_has_key(const Place *place, Node *expr, bool weak_too);

/* Is it one that has a value in each row? */
extern bool place_key_not_null(const Place *place, Node *expr);

/* Does grouping by the expression keep each group within one shard group? */
extern bool place_groups_by(const Place *place, Node *expr);

/* Can it be evaluated in one shard group alone? */
static inline bool
place_is_single(const Place *place)
{
	return place->kind == PLACE_SHARDS && (place->one_group || place->bound != NIL);
}

/* The same, and in one for the whole statement, not one for each row of another part. */
extern bool place_is_fixed(const Place *place);

#endif
