/*
 * call_plan.c: queries that are one call of a distributed function: SELECT f(1), SELECT *
 * FROM f(1).
 *
 * Beside the call there is nothing in it that is not the same everywhere, so the whole
 * query can be run on another node, as text; the call's arguments are computed here. Its
 * plan is "Citus Call", which has PostgreSQL's own plan as well: whether the call may
 * leave this node is known when it runs (executor/call_scan.c).
 *
 * On the node that got it, the same kind of plan marks that a call is served.
 */
#include "pando/compat/compat.h"

#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "parser/parse_coerce.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "pando/metadata/function.h"
#include "pando/plan/fragment.h"
#include "pando/plan/template.h"
#include "pando/planner/fragment/fragment_make.h"
#include "pando/planner/fragment/fragment_plan.h"
#include "pando/planner/fragment/planning.h"
#include "pando/planner/local/call_plan.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/where/fragment_params.h"
#include "pando/transaction/xact.h"

typedef struct CallScan
{
	FuncExpr *call;
	DistFunction function;
	bool other; /* there is more than the call */
} CallScan;

static bool
is_not_constant(Oid function, void *context)
{
	return func_volatile(function) != PROVOLATILE_IMMUTABLE;
}

static bool
call_walker(Node *node, void *context)
{
	CallScan *scan = context;
	const DistFunction *function;

	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) &&
		(function = dist_function(((FuncExpr *) node)->funcid)) != NULL)
	{
		scan->other |= scan->call != NULL;
		scan->call = (FuncExpr *) node;
		scan->function = *function;
		return scan->other;
	}
	if (IsA(node, Param) || IsA(node, SubLink) || IsA(node, SQLValueFunction) ||
		IsA(node, NextValueExpr) || IsA(node, CurrentOfExpr) ||
		check_functions_in_node(node, is_not_constant, NULL))
		scan->other = true;
	return expression_tree_walker(node, call_walker, scan);
}

/* Is the query nothing but SELECT ... [FROM one function]? */
static bool
has_shape_of_call(Query *query)
{
	if (query->commandType != CMD_SELECT || query->hasSubLinks || query->cteList != NIL ||
		query->setOperations != NULL || query->rowMarks != NIL ||
		query->hasModifyingCTE || list_length(query->rtable) > 1)
		return false;
	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		if (rte->rtekind != RTE_FUNCTION && rte->rtekind != RTE_RESULT)
			return false;
	}
	return !has_record_columns(query->targetList, true);
}

/* Can the columns be read here as the node gives them? */
static bool
columns_can_come(Query *query)
{
	foreach_ptr (TargetEntry, entry, query->targetList)
	{
		Oid type = exprType((Node *) entry->expr);

		if (entry->resjunk || (type != VOIDOID && (get_typtype(type) == TYPTYPE_PSEUDO ||
												   !value_can_be_sent(type))))
			return false;
	}
	return true;
}

/* Where the argument's number is among those of the call; NULL: it isn't given. */
static Node *
argument_of_call(const FuncExpr *call, int number)
{
	int position = 0;

	foreach_ptr (Node, argument, call->args)
	{
		if (IsA(argument, NamedArgExpr))
		{
			if (((NamedArgExpr *) argument)->argnumber == number)
				return (Node *) ((NamedArgExpr *) argument)->arg;
		}
		else if (position == number)
			return argument;
		position++;
	}
	return NULL;
}

/* The value whose shard group has the call's rows, of the anchor's key type. */
static Node *
key_of_call(const CallScan *scan, const DistTable *anchor)
{
	Node *argument = argument_of_call(scan->call, scan->function.argument);
	Oid type;

	if (argument == NULL || contain_volatile_functions(argument))
		return NULL;
	type = exprType(argument);
	if (type == anchor->key_type)
		return copyObject(argument);
	if (!can_coerce_type(1, &type, &anchor->key_type, COERCION_IMPLICIT))
		return NULL;
	return coerce_type(NULL, copyObject(argument), type, anchor->key_type, -1,
					   COERCION_IMPLICIT, COERCE_IMPLICIT_CAST, -1);
}

static bool
arguments_can_be_sent(const FuncExpr *call)
{
	foreach_ptr (Node, argument, call->args)
	{
		if (!value_can_be_sent(exprType(argument)))
			return false;
	}
	return true;
}

/* The query's text, with the call's arguments as $1 and on. */
static char *
text_of_call(Query *query, List **params)
{
	Query *copy = copyObject(query);
	CallScan scan = {0};
	List *relations = NIL;
	Template *template;

	(void) query_tree_walker(copy, call_walker, &scan, 0);
	foreach_ptr (Node, argument, scan.call->args)
	{
		if (IsA(argument, NamedArgExpr))
		{
			NamedArgExpr *named = (NamedArgExpr *) argument;

			named->arg = (Expr *) fragment_param((Node *) named->arg, params);
		}
		else
			lfirst(list_nth_cell(scan.call->args, argument_at.i)) =
				fragment_param(argument, params);
	}
	template = template_from_query(copy, &relations);
	return template_text(template, NIL, NIL, NULL, NIL);
}

static PlannedStmt *
plan_with_call(PlannedStmt *stmt, Oid function, Oid anchor, const char *text,
			   List *values)
{
	CustomScan *scan = fragment_scan_above(stmt->planTree, PLAN_CALL);

	scan->custom_private =
		list_make2(list_make2_oid(function, anchor), makeString(pstrdup(text)));
	scan->custom_exprs = plan_expressions(values);
	stmt->planTree = &scan->scan.plan;
	if (OidIsValid(anchor))
		stmt->relationOids = lappend_oid(stmt->relationOids, anchor);
	return stmt;
}

PlannedStmt *
plan_call(Query *query, const char *source, int cursor_options, ParamListInfo params)
{
	CallScan scan = {0};
	const DistTable *anchor;
	List *values = NIL;
	List *keys = NIL;
	char *text = "";
	PlannedStmt *stmt;

	if (!has_shape_of_call(query) || query_tree_walker(query, call_walker, &scan, 0) ||
		scan.call == NULL)
		return NULL;
	if (xact_is_for_node())
	{
		if (plan_explained)
			return NULL;
		anchor = NULL;
	}
	else
	{
		anchor = dist_function_anchor(&scan.function);
		if (scan.other || anchor == NULL || !columns_can_come(query) ||
			!arguments_can_be_sent(scan.call) || (cursor_options & CURSOR_OPT_SCROLL))
			return NULL;
		if (anchor->kind == TABLE_HASH)
		{
			Node *key = key_of_call(&scan, anchor);

			if (key == NULL)
				return NULL;
			keys = list_make1(key);
		}
		text = text_of_call(query, &values);
	}
	stmt = plan_locally(query, source, cursor_options & ~CURSOR_OPT_PARALLEL_OK, params);
	if (stmt->parallelModeNeeded)
		return stmt;
	return plan_with_call(stmt, scan.call->funcid,
						  anchor != NULL ? anchor->relid : InvalidOid, text,
						  list_concat(keys, values));
}
