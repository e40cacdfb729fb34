/*
 * equality.h: which expressions of a query level are equal, by union-find.
 *
 * A class holds expressions that compare equal under one hash operator family, so that
 * equal members have one hash value: what decides where a row lives. Members are Vars
 * (of the level or of a level above), values without Vars, and other expressions that
 * give the same result when evaluated twice. Equalities are those of AND-ed
 * qualifications which hold for every row in view: who adds a qualification vouches for
 * that (mind outer joins). Since
 * `=` is strict, a member of a class of two or more is not NULL.
 */
#ifndef PANDO_PLANNER_EQUALITY_H
#define PANDO_PLANNER_EQUALITY_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

typedef struct Equalities Equalities;

/* None yet; lives in the current memory context. */
extern Equalities *equalities_create(void);

/* Adds what a list of AND-ed qualifications says; others than equalities are skipped. */
extern void equalities_add(Equalities *equalities, List *quals);

/* The expressions known to equal this one under the family, itself included. */
extern List *equalities_members(const Equalities *equalities, Node *expr, Oid family);

extern bool equalities_same(const Equalities *equalities, Node *a, Node *b, Oid family);

/*
 * What the qualifications say without writing it: columns of different FROM items of the
 * level, of one type, that equal the same third, or the same constant. OpExprs for all of
 * them, to be AND-ed to the list.
 */
extern List *equalities_implied(List *quals);

/*
 * The qualifications of a list, each once, where equalities of two columns name of those
 * that are known to be equal the first one, or the preferred one (it may be NULL) if it
 * is among them. Where the known equalities hold anyhow they mean the same.
 */
extern List *equalities_by_first(const Equalities *equalities, List *quals,
								 Node *preferred);

/*
 * The hash operator family in which the operator is equality of the left operand's type;
 * InvalidOid when it isn't, or when the collation calls different strings equal.
 */
extern Oid equality_family(Oid opno, Node *left, Oid collation);

/* a = b by the operator of their type; NULL: that is none of the family. */
extern Node *equality_of(Node *a, Node *b, Oid family);

/* The hash operator family by whose functions values of the type are hashed. */
extern Oid hash_family_of_type(Oid type);

/* Without casts that leave the value's bits as they are. */
extern Node *equality_strip(Node *expr);

#endif
