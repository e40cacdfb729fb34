/*
 * equality.c: union-find over expressions, see equality.h.
 *
 * Classes are small (a handful of join conditions), so members are kept in a list and
 * found by equal(). The operator family is a part of a member's identity: `a = b` in one
 * family and `b = c` in another say nothing about a and c.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/pg_am.h"
#include "catalog/pg_collation.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "pando/planner/query/equality.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

typedef struct Member
{
	Node *expr;
	Oid family;
	int parent; /* index of a member of the same class; its own at the root */
} Member;

struct Equalities
{
	List *members; /* Member * */
};

Equalities *
equalities_create(void)
{
	return palloc0(sizeof(Equalities));
}

Node *
equality_strip(Node *expr)
{
	while (expr != NULL && IsA(expr, RelabelType))
		expr = (Node *) ((RelabelType *) expr)->arg;
	return expr;
}

Oid
hash_family_of_type(Oid type)
{
	return lookup_type_cache(type, TYPECACHE_HASH_OPFAMILY)->hash_opf;
}

Oid
equality_family(Oid opno, Node *left, Oid collation)
{
	Oid family = hash_family_of_type(exprType(left));

	if (!OidIsValid(family) ||
		get_op_opfamily_strategy(opno, family) != HTEqualStrategyNumber)
		return InvalidOid;
	if (OidIsValid(collation) && !get_collation_isdeterministic(collation))
		return InvalidOid;
	return family;
}

static int
find_member(const Equalities *equalities, Node *expr, Oid family)
{
	ListCell *cell;

	foreach (cell, equalities->members)
	{
		Member *member = lfirst(cell);

		if (member->family == family && equal(member->expr, expr))
			return foreach_current_index(cell);
	}
	return -1;
}

static int
find_root(const Equalities *equalities, int index)
{
	Member *member = list_nth(equalities->members, index);

	while (member->parent != index)
	{
		index = member->parent;
		member = list_nth(equalities->members, index);
	}
	return index;
}

static int
add_member(Equalities *equalities, Node *expr, Oid family)
{
	int index = find_member(equalities, expr, family);

	if (index < 0)
	{
		Member *member = palloc(sizeof(Member));

		index = list_length(equalities->members);
		member->expr = expr;
		member->family = family;
		member->parent = index;
		equalities->members = lappend(equalities->members, member);
	}
	return index;
}

/* Adds one pair whose equality under the family holds. */
static void
equalities_add_pair(Equalities *equalities, Node *a, Node *b, Oid family)
{
	int root_a = find_root(equalities, add_member(equalities, equality_strip(a), family));
	int root_b = find_root(equalities, add_member(equalities, equality_strip(b), family));

	((Member *) list_nth(equalities->members, root_b))->parent = root_a;
}

/* Evaluated twice it must give the same: no volatile functions, no sublinks. */
static bool
is_repeatable(Node *expr)
{
	return !contain_volatile_functions(expr) && !contain_subplans(expr);
}

static void
add_qual(Equalities *equalities, Node *qual)
{
	Node *left;
	Node *right;
	Oid family;

	if (qual == NULL)
		return;
	if (is_andclause(qual))
	{
		equalities_add(equalities, ((BoolExpr *) qual)->args);
		return;
	}
	if (!IsA(qual, OpExpr) || list_length(((OpExpr *) qual)->args) != 2)
		return;
	left = linitial(((OpExpr *) qual)->args);
	right = lsecond(((OpExpr *) qual)->args);
	family =
		equality_family(((OpExpr *) qual)->opno, left, ((OpExpr *) qual)->inputcollid);
	if (OidIsValid(family) && is_repeatable(left) && is_repeatable(right))
		equalities_add_pair(equalities, left, right, family);
}

void
equalities_add(Equalities *equalities, List *quals)
{
	ListCell *cell;

	foreach (cell, quals)
		add_qual(equalities, lfirst(cell));
}

List *
equalities_members(const Equalities *equalities, Node *expr, Oid family)
{
	int index;
	int root;
	List *result = NIL;
	ListCell *cell;

	expr = equality_strip(expr);
	index = find_member(equalities, expr, family);
	if (index < 0)
		return list_make1(expr);
	root = find_root(equalities, index);
	foreach (cell, equalities->members)
	{
		if (find_root(equalities, foreach_current_index(cell)) == root)
			result = lappend(result, ((Member *) lfirst(cell))->expr);
	}
	return result;
}

bool
equalities_same(const Equalities *equalities, Node *a, Node *b, Oid family)
{
	int index_a;
	int index_b;

	a = equality_strip(a);
	b = equality_strip(b);
	if (equal(a, b))
		return true;
	index_a = find_member(equalities, a, family);
	index_b = find_member(equalities, b, family);
	return index_a >= 0 && index_b >= 0 &&
		   find_root(equalities, index_a) == find_root(equalities, index_b);
}

/* ------------------------------------------------------------------------------------
 * What follows from several.
 */

/* So many of a class are compared with each other: more are hardly written by hand. */
#define IMPLIED_MAX 8

/* Is their equality one of the qualifications, in this or the other order? */
static bool
is_written(List *quals, Node *a, Node *b, Oid family)
{
	foreach_ptr (OpExpr, qual, quals)
	{
		Node *left;
		Node *right;

		if (!IsA(qual, OpExpr) || list_length(qual->args) != 2)
			continue;
		left = linitial(qual->args);
		right = lsecond(qual->args);
		if (((equal(left, a) && equal(right, b)) ||
			 (equal(left, b) && equal(right, a))) &&
			equality_family(qual->opno, left, qual->inputcollid) == family)
			return true;
	}
	return false;
}

Node *
equality_of(Node *a, Node *b, Oid family)
{
	Oid type = exprType(a);
	Oid opno = lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr;
	Oid left;
	Oid right;
	OpExpr *result;

	if (!OidIsValid(opno) || equality_family(opno, a, exprCollation(a)) != family)
		return NULL;
	op_input_types(opno, &left, &right);
	if (left != type || right != type)
		return NULL;
	result =
		(OpExpr *) make_opclause(opno, BOOLOID, false, (Expr *) copyObject(a),
								 (Expr *) copyObject(b), InvalidOid, exprCollation(a));
	set_opfuncid(result);
	return (Node *) result;
}

/* Members of the root's class that are columns of the level, or a constant, by type. */
static List *
comparable_members(const Equalities *equalities, int root, Oid type, Oid collation,
				   Const **constant)
{
	List *columns = NIL;
	ListCell *cell;

	*constant = NULL;
	foreach (cell, equalities->members)
	{
		Node *expr = ((Member *) lfirst(cell))->expr;

		if (find_root(equalities, foreach_current_index(cell)) != root ||
			exprType(expr) != type)
			continue;
		if (IsA(expr, Const))
			*constant = (Const *) expr;
		else if (IsA(expr, Var) && ((Var *) expr)->varlevelsup == 0 &&
				 exprCollation(expr) == collation)
			columns = lappend(columns, expr);
	}
	return columns;
}

static int
position_of(List *columns, Node *column)
{
	int position = 0;

	while (list_nth(columns, position) != column)
		position++;
	return position;
}

static List *
implied_of_pair(List *result, List *quals, Node *a, Node *b, Oid family)
{
	Node *implied;

	if (is_written(quals, a, b, family))
		return result;
	implied = equality_of(a, b, family);
	return implied != NULL ? lappend(result, implied) : result;
}

List *
equalities_implied(List *quals)
{
	Equalities *equalities = equalities_create();
	List *result = NIL;
	ListCell *cell;

	equalities_add(equalities, quals);
	foreach (cell, equalities->members)
	{
		const Member *member = lfirst(cell);
		int index = foreach_current_index(cell);
		Const *constant;
		List *columns;
		ListCell *other;

		if (!IsA(member->expr, Var) || ((Var *) member->expr)->varlevelsup > 0)
			continue;
		columns = comparable_members(equalities, find_root(equalities, index),
									 exprType(member->expr), exprCollation(member->expr),
									 &constant);
		if (list_length(columns) > IMPLIED_MAX)
			continue;
		if (constant != NULL)
		{
			result = implied_of_pair(result, quals, member->expr, (Node *) constant,
									 member->family);
			continue;
		}
		/* Each pair once: with those that come later. */
		for_each_from(other, columns, position_of(columns, member->expr) + 1)
		{
			if (((Var *) lfirst(other))->varno != ((Var *) member->expr)->varno)
				result = implied_of_pair(result, quals, member->expr, lfirst(other),
										 member->family);
		}
	}
	return result;
}

/* The member of the column's class that stands for all columns of its type. */
static Node *
first_column(const Equalities *equalities, Node *column, Oid family, Node *preferred)
{
	Node *first = NULL;

	foreach_ptr (Node, member, equalities_members(equalities, column, family))
	{
		if (!IsA(member, Var) || exprType(member) != exprType(column) ||
			exprCollation(member) != exprCollation(column))
			continue;
		if (first == NULL || equal(member, preferred))
			first = member;
	}
	return first != NULL ? first : column;
}

List *
equalities_by_first(const Equalities *equalities, List *quals, Node *preferred)
{
	List *result = NIL;

	foreach_ptr (OpExpr, qual, quals)
	{
		Node *left;
		Node *right;
		Oid family;

		if (IsA(qual, OpExpr) && list_length(qual->args) == 2)
		{
			left = linitial(qual->args);
			right = lsecond(qual->args);
			family = equality_family(qual->opno, left, qual->inputcollid);
			if (OidIsValid(family) && IsA(left, Var) && IsA(right, Var))
			{
				qual = copyObject(qual);
				qual->args = list_make2(
					copyObject(first_column(equalities, left, family, preferred)),
					copyObject(first_column(equalities, right, family, preferred)));
				if (is_written(result, linitial(qual->args), lsecond(qual->args), family))
					continue;
			}
		}
		result = lappend(result, qual);
	}
	return result;
}
