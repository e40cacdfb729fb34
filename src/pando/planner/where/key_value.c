/*
 * key_value.c: values that a query gives for a distribution column.
 *
 * Comparison across types (int4 column = int8 parameter) is frequent, for drivers choose
 * the types of parameters. Integers are narrowed here, to NULL when out of range: then no
 * row can be equal. Other types must share the hash family and the bits.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "pando/base/expr.h"
#include "pando/planner/query/equality.h"
#include "pando/planner/where/key_value.h"
#include "pando/planner/where/place.h"
#include "parser/parse_coerce.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

/* More values than that are not worth hashing one by one. */
#define KEY_VALUES_MAX 1000

/* Anything whose value depends on more than the statement's parameters and settings? */
static bool
depends_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
		case T_Aggref:
		case T_GroupingFunc:
		case T_WindowFunc:
		case T_SubLink:
		case T_PlaceHolderVar:
		case T_CurrentOfExpr:
		case T_SetToDefault:
		case T_CaseTestExpr:
		case T_CoerceToDomainValue:
			return true;
		case T_Param:
			return ((Param *) node)->paramkind != PARAM_EXTERN;
		default:
			return expression_tree_walker(node, depends_walker, context);
	}
}

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

static Node *
int8_const(int64 value)
{
	return (Node *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
							  Int64GetDatum(value), false, FLOAT8PASSBYVAL);
}

static Node *
int8_compare(Oid function, Node *left, int64 right)
{
	return (Node *) makeFuncExpr(function, BOOLOID, list_make2(left, int8_const(right)),
								 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

static Node *
integer_cast(Node *expr, Oid function, Oid type)
{
	return (Node *) makeFuncExpr(function, type, list_make1(expr), InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CAST);
}

static Node *
integer_widened(Node *expr, Oid type)
{
	if (type == INT2OID)
		return integer_cast(expr, F_INT8_INT2, INT8OID);
	if (type == INT4OID)
		return integer_cast(expr, F_INT8_INT4, INT8OID);
	return expr;
}

/* CASE WHEN expr BETWEEN min AND max THEN expr::type END */
static Node *
integer_narrowed(Node *expr, Oid type, int64 min, int64 max)
{
	Expr *fits =
		make_andclause(list_make2(int8_compare(F_INT8GE, copyObject(expr), min),
								  int8_compare(F_INT8LE, copyObject(expr), max)));

	return expr_if((Node *) fits,
				   integer_cast(expr, type == INT2OID ? F_INT2_INT8 : F_INT4_INT8, type));
}

static Node *
integer_value(Node *expr, Oid from, Oid to)
{
	Node *wide = integer_widened(expr, from);
	Node *value = wide;

	if (to == INT4OID)
		value = from == INT2OID ? integer_cast(expr, F_INT4_INT2, INT4OID)
								: integer_narrowed(wide, to, PG_INT32_MIN, PG_INT32_MAX);
	else if (to == INT2OID)
		value = integer_narrowed(wide, to, PG_INT16_MIN, PG_INT16_MAX);
	return value;
}

static int64
integer_of_const(const Const *constant)
{
	switch (constant->consttype)
	{
		case INT2OID:
			return DatumGetInt16(constant->constvalue);
		case INT4OID:
			return DatumGetInt32(constant->constvalue);
		default:
			return DatumGetInt64(constant->constvalue);
	}
}

/* What integer_value() comes to for a constant that is not NULL. */
static Node *
integer_const(const Const *constant, Oid type)
{
	int64 value = integer_of_const(constant);

	if (type == INT8OID)
		return int8_const(value);
	if (type == INT4OID && value >= PG_INT32_MIN && value <= PG_INT32_MAX)
		return (Node *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
								  Int32GetDatum((int32) value), false, true);
	if (type == INT2OID && value >= PG_INT16_MIN && value <= PG_INT16_MAX)
		return (Node *) makeConst(INT2OID, -1, InvalidOid, sizeof(int16),
								  Int16GetDatum((int16) value), false, true);
	return (Node *) makeNullConst(type, -1, InvalidOid);
}

Node *
key_integer(Node *expr, Oid key_type)
{
	Node *narrow = expr_widened_integer((Expr *) expr);

	if (narrow != NULL)
		expr = narrow;
	return IsA(expr, Const) && !((Const *) expr)->constisnull && is_integer(key_type) &&
				   is_integer(((Const *) expr)->consttype)
			   ? integer_const((Const *) expr, key_type)
			   : NULL;
}

Node *
key_value(Node *expr, Oid key_type)
{
	Node *integer = key_integer(expr, key_type);
	Oid from;
	Oid to;

	if (integer != NULL)
		return integer;
	to = getBaseType(key_type);
	if (depends_walker(expr, NULL) || contain_volatile_functions(expr))
		return NULL;
	from = getBaseType(exprType(expr));
	if (is_integer(from) && is_integer(to) && from != to)
		expr = integer_value(expr, from, to);
	else if (from != to)
	{
		if (hash_family_of_type(from) != hash_family_of_type(to) ||
			!IsBinaryCoercible(from, to))
			return NULL;
	}
	if (exprType(expr) != key_type)
		expr = (Node *) makeRelabelType((Expr *) expr, key_type, -1,
										get_typcollation(key_type), COERCE_IMPLICIT_CAST);
	return eval_const_expressions(NULL, expr);
}

/* Is it the key, compared under its own hash family? */
static bool
is_key_equality(const Place *place, Node *key, Oid opno, Oid collation, bool weak_too)
{
	return place_has_key(place, key, weak_too) &&
		   equality_family(opno, key, collation) == place->key_family;
}

static bool
values_of_array_const(Const *array, Oid key_type, List **values)
{
	Oid element_type;
	int16 length;
	bool by_value;
	char align;
	Datum *elements;
	bool *nulls;
	int count;

	if (array->constisnull)
		return false;
	element_type = get_element_type(getBaseType(array->consttype));
	if (!OidIsValid(element_type))
		return false;
	get_typlenbyvalalign(element_type, &length, &by_value, &align);
	deconstruct_array(DatumGetArrayTypeP(array->constvalue), element_type, length,
					  by_value, align, &elements, &nulls, &count);
	if (count == 0 || count > KEY_VALUES_MAX)
		return false;
	for (int i = 0; i < count; i++)
	{
		Node *value;

		if (nulls[i])
			continue;
		value =
			key_value((Node *) makeConst(element_type, -1, get_typcollation(element_type),
										 length, elements[i], false, by_value),
					  key_type);
		if (value == NULL)
			return false;
		*values = list_append_unique(*values, value);
	}
	return *values != NIL;
}

static bool
is_null_const(Node *expr)
{
	return IsA(expr, Const) && ((Const *) expr)->constisnull;
}

static bool
values_of_list(List *exprs, Oid key_type, List **values)
{
	ListCell *cell;

	if (list_length(exprs) > KEY_VALUES_MAX)
		return false;
	foreach (cell, exprs)
	{
		Node *value = key_value(lfirst(cell), key_type);

		if (value == NULL)
			return false;
		if (is_null_const(lfirst(cell)))
			continue;
		*values = list_append_unique(*values, value);
	}
	return *values != NIL;
}

static bool
values_of_any(ScalarArrayOpExpr *any, const Place *place, List **values)
{
	Node *array = lsecond(any->args);

	if (!any->useOr ||
		!is_key_equality(place, linitial(any->args), any->opno, any->inputcollid, true))
		return false;
	array = equality_strip(array);
	if (IsA(array, Const))
		return values_of_array_const((Const *) array, place->key_type, values);
	if (IsA(array, ArrayExpr) && !((ArrayExpr *) array)->multidims)
		return values_of_list(((ArrayExpr *) array)->elements, place->key_type, values);
	return false;
}

/* weak_too: NULL doesn't pass. */
static bool
value_of_equality(OpExpr *clause, const Place *place, bool weak_too, List **values)
{
	Node *left;
	Node *right;
	Node *value;

	if (list_length(clause->args) != 2)
		return false;
	left = linitial(clause->args);
	right = lsecond(clause->args);
	if (!is_key_equality(place, left, clause->opno, clause->inputcollid, weak_too))
	{
		Node *swap = left;

		left = right;
		right = swap;
		/* An equality of two types is in one family, whichever side the key is on. */
		if (!place_has_key(place, left, weak_too) ||
			equality_family(clause->opno, right, clause->inputcollid) !=
				place->key_family)
			return false;
	}
	value = key_value(right, place->key_type);
	if (value != NULL)
		*values = list_append_unique(*values, value);
	return value != NULL;
}

/* A weak key that is NULL says nothing. */
static bool
null_of_test(NullTest *test, const Place *place, List **values)
{
	if (test->nulltesttype != IS_NULL || test->argisrow ||
		!place_has_key(place, (Node *) test->arg, false))
		return false;
	*values = list_make1(makeNullConst(place->key_type, -1, place->key_collation));
	return true;
}

static bool
value_of_not_distinct(Node *arg, const Place *place, List **values)
{
	/* A DistinctExpr is an OpExpr of another tag. */
	return IsA(arg, DistinctExpr) &&
		   value_of_equality((OpExpr *) arg, place, false, values);
}

static bool
values_of_arms(List *arms, const Place *place, List **values)
{
	ListCell *cell;

	foreach (cell, arms)
	{
		List *of_arm = NIL;

		if (!key_values_of_qual(lfirst(cell), place, &of_arm) ||
			list_length(*values) > KEY_VALUES_MAX)
			return false;
		*values = list_union(*values, of_arm);
	}
	return *values != NIL;
}

/* The shortest list that one of the AND-ed qualifications gives. */
static bool
values_of_conjunction(List *quals, const Place *place, List **values)
{
	bool found = false;
	ListCell *cell;

	foreach (cell, quals)
	{
		List *of_qual = NIL;

		if (!key_values_of_qual(lfirst(cell), place, &of_qual))
			continue;
		if (!found || list_length(of_qual) < list_length(*values))
			*values = of_qual;
		found = true;
	}
	return found;
}

bool
key_values_of_qual(Node *qual, const Place *place, List **values)
{
	*values = NIL;
	if (qual == NULL)
		return false;
	if (IsA(qual, ScalarArrayOpExpr))
		return values_of_any((ScalarArrayOpExpr *) qual, place, values);
	if (IsA(qual, OpExpr))
		return value_of_equality((OpExpr *) qual, place, true, values);
	if (IsA(qual, NullTest))
		return null_of_test((NullTest *) qual, place, values);
	if (is_notclause(qual))
		return value_of_not_distinct((Node *) get_notclausearg(qual), place, values);
	if (is_orclause(qual))
		return values_of_arms(((BoolExpr *) qual)->args, place, values);
	if (is_andclause(qual))
		return values_of_conjunction(((BoolExpr *) qual)->args, place, values);
	return false;
}
