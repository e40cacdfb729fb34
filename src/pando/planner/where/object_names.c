/*
 * object_names.c: names of objects (regclass and the like), which are Oids inside.
 */
#include "pando/compat/compat.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "pando/base/type.h"
#include "pando/planner/where/object_names.h"

/* Names of objects, or an array of them. */
static bool
type_has_names(Oid type)
{
	return type_is_object_name(type) || type_is_object_name(get_element_type(type));
}

bool
cast_looks_up_object(const Node *node)
{
	CoercionForm form;
	const Node *from;

	if (IsA(node, CoerceViaIO))
		return type_has_names(((const CoerceViaIO *) node)->resulttype);
	if (IsA(node, RelabelType))
	{
		form = ((const RelabelType *) node)->relabelformat;
		from = (const Node *) ((const RelabelType *) node)->arg;
	}
	else if (IsA(node, ArrayCoerceExpr))
	{
		form = ((const ArrayCoerceExpr *) node)->coerceformat;
		from = (const Node *) ((const ArrayCoerceExpr *) node)->arg;
	}
	else if (IsA(node, FuncExpr) && list_length(((const FuncExpr *) node)->args) == 1)
	{
		form = ((const FuncExpr *) node)->funcformat;
		from = linitial(((const FuncExpr *) node)->args);
	}
	else
		return false;
	if (form != COERCE_EXPLICIT_CAST && form != COERCE_IMPLICIT_CAST)
		return false;
	return type_has_names(exprType(from)) != type_has_names(exprType(node));
}

List *
compared_names(Node *node)
{
	return IsA(node, ScalarArrayOpExpr) ? ((ScalarArrayOpExpr *) node)->args
										: ((OpExpr *) node)->args;
}

Expr **
compared_name(Node *argument)
{
	if (IsA(argument, RelabelType))
		return &((RelabelType *) argument)->arg;
	if (IsA(argument, ArrayCoerceExpr))
		return &((ArrayCoerceExpr *) argument)->arg;
	return NULL;
}

/* The kind of names that the argument is a cast of. */
static Oid
kind_of_names(Node *argument)
{
	Expr **name = compared_name(argument);
	Oid type;
	Oid element;

	if (name == NULL)
		return InvalidOid;
	type = exprType((Node *) *name);
	element = get_element_type(type);
	return OidIsValid(element) ? element : type;
}

bool
compares_names(const Node *node)
{
	List *args;
	Oid kind;
	RegProcedure function;

	if (!IsA(node, OpExpr) && !IsA(node, DistinctExpr) && !IsA(node, ScalarArrayOpExpr))
		return false;
	args = compared_names((Node *) node);
	kind = list_length(args) == 2 ? kind_of_names(linitial(args)) : InvalidOid;
	if (!type_is_object_name(kind) || kind_of_names(lsecond(args)) != kind)
		return false;
	function =
		get_opcode(IsA(node, ScalarArrayOpExpr) ? ((const ScalarArrayOpExpr *) node)->opno
												: ((const OpExpr *) node)->opno);
	return function == F_OIDEQ || function == F_OIDNE;
}

bool
has_name_columns(List *target_list)
{
	foreach_ptr (TargetEntry, entry, target_list)
	{
		if (!entry->resjunk && type_has_names(exprType((Node *) entry->expr)))
			return true;
	}
	return false;
}

bool
clauses_order_names(List *clauses, List *target_list)
{
	foreach_ptr (SortGroupClause, clause, clauses)
	{
		if (type_has_names(exprType(get_sortgroupclause_expr(clause, target_list))))
			return true;
	}
	return false;
}

bool
level_orders_names(const Query *query)
{
	foreach_ptr (WindowClause, window, query->windowClause)
	{
		if (clauses_order_names(window->orderClause, query->targetList))
			return true;
	}
	return clauses_order_names(query->sortClause, query->targetList);
}
