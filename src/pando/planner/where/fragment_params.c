/*
 * fragment_params.c: what a fragment's text gets as values from this node.
 *
 * PostgreSQL evaluates a stable function of constants once per statement, or so that it
 * can't be told. Many nodes would each evaluate their own: now() would differ, and
 * current_setting() would read another server's settings. So these are evaluated here,
 * once per execution, and sent as values; so are casts between an object's name and its
 * Oid, which is another on each node. For the same reason a template's text never depends
 * on them, and can stay prepared on the nodes.
 *
 * An expression is taken as a whole where it is *closed*: it refers to no column,
 * aggregate, sublink or set, and calls no volatile function. Immutable expressions of
 * constants stay where they are. Of immutable expressions of Params only the Params are
 * taken: evaluating more here could raise an error that no row would have raised there.
 * Long constants are taken as well, for they would be in the text of each task.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "pando/base/expr.h"
#include "pando/planner/where/object_names.h"
#include "pando/planner/where/fragment_params.h"

/* Bytes of a constant that is not to be in a statement's text more often than once. */
#define LONG_CONSTANT (1024 * 1024)

/* What a walk over an expression finds. */
typedef struct Closure
{
	bool has_stable;
	bool has_param; /* or a long constant */
	int case_depth; /* CASE x WHEN and array coercions around: they bind CaseTestExprs */
} Closure;

bool
value_can_be_sent(Oid type)
{
	return type == UNKNOWNOID || get_typtype(type) != TYPTYPE_PSEUDO;
}

static bool
is_long(const Const *constant)
{
	if (constant->constisnull || constant->constlen >= 0 ||
		!value_can_be_sent(constant->consttype))
		return false;
	return datumGetSize(constant->constvalue, false, constant->constlen) > LONG_CONSTANT;
}

static bool
function_volatility_check(Oid function, void *context)
{
	Closure *closure = context;
	char volatility = func_volatile(function);

	if (volatility == PROVOLATILE_STABLE)
		closure->has_stable = true;
	return volatility == PROVOLATILE_VOLATILE || get_func_retset(function);
}

static bool open_walker(Node *node, Closure *closure);

/* Walks the parts of a node in which it binds CaseTestExprs. */
static bool
binding_walker(Node *node, Node *unbound, Closure *closure)
{
	bool open;

	if (open_walker(unbound, closure))
		return true;
	closure->case_depth++;
	open = expression_tree_walker(node, open_walker, closure);
	closure->case_depth--;
	return open;
}

/* True if the expression is not closed. */
static bool
open_walker(Node *node, Closure *closure)
{
	if (node == NULL)
		return false;
	if (compares_names(node))
	{
		foreach_ptr (Node, argument, compared_names(node))
		{
			if (open_walker((Node *) *compared_name(argument), closure))
				return true;
		}
		return false;
	}
	switch (nodeTag(node))
	{
		case T_Var:
		case T_Aggref:
		case T_GroupingFunc:
		case T_WindowFunc:
		case T_SubLink:
		case T_Query:
		case T_NextValueExpr:
		case T_SetToDefault:
		case T_CurrentOfExpr:
		case T_CoerceToDomainValue:
		case T_InferenceElem:
		case T_TargetEntry:
			return true;
		case T_CaseTestExpr:
			return closure->case_depth == 0;
		case T_Const:
			closure->has_param |= is_long((Const *) node);
			return false;
		case T_Param:
			closure->has_param = true;
			return ((Param *) node)->paramkind != PARAM_EXTERN;
		case T_SQLValueFunction:
			closure->has_stable = true;
			return false;
		case T_XmlExpr:
			/* May depend on the xmloption setting. */
			closure->has_stable = true;
			break;
		case T_RelabelType:
		case T_FuncExpr:
			if (cast_looks_up_object(node))
				closure->has_stable = true;
			break;
		case T_CaseExpr:
			if (((CaseExpr *) node)->arg)
				return binding_walker(node, (Node *) ((CaseExpr *) node)->arg, closure);
			break;
		case T_ArrayCoerceExpr:
			if (cast_looks_up_object(node))
				closure->has_stable = true;
			return binding_walker(node, (Node *) ((ArrayCoerceExpr *) node)->arg,
								  closure);
		default:
			break;
	}
	if (check_functions_in_node(node, function_volatility_check, closure))
		return true;
	return expression_tree_walker(node, open_walker, closure);
}

Node *
fragment_param(Node *expr, List **params)
{
	Param *param;
	Oid type = exprType(expr);
	Oid collation = exprCollation(expr);
	RelabelType *cast;
	int number = 1;

	bool varies = contain_volatile_functions(expr);

	foreach_ptr (Node, seen, *params)
	{
		if (!varies && equal(seen, expr))
			break;
		number++;
	}
	if (number > list_length(*params))
		*params = lappend(*params, copyObject(expr));

	if (type == UNKNOWNOID)
		type = TEXTOID;
	param = expr_param(PARAM_EXTERN, number, type, -1, get_typcollation(type));
	cast = makeRelabelType((Expr *) param, param->paramtype, -1, param->paramcollid,
						   COERCE_EXPLICIT_CAST);
	cast->location = -1;

	if (OidIsValid(collation) && collation != param->paramcollid)
	{
		CollateExpr *collate = makeNode(CollateExpr);

		collate->arg = (Expr *) cast;
		collate->collOid = collation;
		collate->location = -1;
		return (Node *) collate;
	}
	return (Node *) cast;
}

static Node *extract_mutator(Node *node, List **params);

/* Names are sent as names. */
static Node *
extract_from_names(Node *node, List **params)
{
	node = copyObject(node);
	foreach_ptr (Node, argument, compared_names(node))
	{
		Expr **name = compared_name(argument);

		*name = (Expr *) extract_mutator((Node *) *name, params);
	}
	return node;
}

static Node *
extract_mutator(Node *node, List **params)
{
	if (node == NULL)
		return NULL;
	if (compares_names(node))
		return extract_from_names(node, params);
	switch (nodeTag(node))
	{
		case T_Query:
			return (Node *) query_tree_mutator((Query *) node, extract_mutator, params,
											   0);
		case T_Const:
			return is_long((Const *) node) ? fragment_param(node, params)
										   : copyObject(node);
		case T_Var:
		case T_RangeTblRef:
		case T_InferenceElem:
			return copyObject(node);
		case T_RangeTblFunction:
		{
			/* A call that may give several columns or rows must stay a call in FROM. */
			RangeTblFunction *function = copyObject((RangeTblFunction *) node);

			if (expression_returns_set(function->funcexpr) ||
				type_is_rowtype(exprType(function->funcexpr)))
				function->funcexpr =
					expression_tree_mutator(function->funcexpr, extract_mutator, params);
			else
				function->funcexpr = extract_mutator(function->funcexpr, params);
			return (Node *) function;
		}
		case T_Param:
			if (((Param *) node)->paramkind == PARAM_EXTERN)
			{
				if (!value_can_be_sent(((Param *) node)->paramtype))
					ereport(ERROR,
							(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							 errmsg("a parameter of type %s cannot be used in a query on "
									"distributed tables",
									format_type_be(((Param *) node)->paramtype))));
				return fragment_param(node, params);
			}
			return ((Param *) node)->paramkind == PARAM_EXEC
					   ? fragment_param(node, params)
					   : copyObject(node);
		case T_TargetEntry:
		case T_FromExpr:
		case T_JoinExpr:
		case T_List:
		case T_CommonTableExpr:
		case T_CaseWhen:
		case T_NamedArgExpr:
		case T_OnConflictExpr:
		case T_MergeAction:
		case T_SetOperationStmt:
		case T_TableSampleClause:
		case T_TableFunc:
		case T_WithCheckOption:
			/* Parts of a statement that are not values. */
			break;
		default:
		{
			Closure closure = {0};

			if (!open_walker(node, &closure))
			{
				if (closure.has_stable && value_can_be_sent(exprType(node)))
					return fragment_param(node, params);
				if (!closure.has_stable && !closure.has_param)
					return copyObject(node);
			}
			break;
		}
	}
	return expression_tree_mutator(node, extract_mutator, params);
}

Query *
fragment_params_extract(const Query *query, List **params)
{
	return query_tree_mutator((Query *) query, extract_mutator, params, 0);
}
