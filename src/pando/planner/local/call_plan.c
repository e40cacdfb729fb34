/*
 * call_plan.c: queries that are one call of a distributed function, or of one that is the
 * coordinator's: SELECT f(1), SELECT * FROM f(1).
 *
 * Beside the call there is nothing in it that is not the same everywhere, so the whole
 * query can be run on another node, as text; the call's arguments are computed here. Its
 * plan is "Citus Call", which has PostgreSQL's own plan as well: whether the call may
 * leave this node is known when it runs (executor/call_scan.c).
 *
 * The arguments of the coordinator's functions may be subqueries: a query of its own
 * computes them.
 *
 * On the node that got it, the same kind of plan marks that a call is served.
 */
#include "pando/compat/compat.h"

#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "funcapi.h"
#include "nodes/makefuncs.h"
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
	if (query->commandType != CMD_SELECT || query->cteList != NIL ||
		query->setOperations != NULL || query->rowMarks != NIL ||
		query->hasModifyingCTE || list_length(query->rtable) > 1)
		return false;
	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		if (rte->rtekind != RTE_FUNCTION && rte->rtekind != RTE_RESULT)
			return false;
	}
	return true;
}

/* The only column is a record, of which the function says what it consists of. */
static Node *
record_of_call(Query *query)
{
	Node *call = list_length(query->targetList) == 1
					 ? (Node *) linitial_node(TargetEntry, query->targetList)->expr
					 : NULL;
	TupleDesc fields;

	if (call == NULL || !IsA(call, FuncExpr) || exprType(call) != RECORDOID ||
		get_expr_result_type(call, NULL, &fields) != TYPEFUNC_COMPOSITE)
		return NULL;
	for (int i = 0; i < fields->natts; i++)
	{
		Oid type = TupleDescAttr(fields, i)->atttypid;

		if (get_typtype(type) == TYPTYPE_PSEUDO || !value_can_be_sent(type))
			return NULL;
	}
	return call;
}

/* Can the columns be read here as the node gives them? */
static bool
columns_can_come(Query *query)
{
	if (record_of_call(query) != NULL)
		return true;
	foreach_ptr (TargetEntry, entry, query->targetList)
	{
		Oid type = exprType((Node *) entry->expr);

		/* A cursor stays where it was opened. */
		if (entry->resjunk || type == REFCURSOROID ||
			(type != VOIDOID &&
			 (get_typtype(type) == TYPTYPE_PSEUDO || !value_can_be_sent(type))))
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
has_side_effects(Oid function, void *context)
{
	return function >= FirstNormalObjectId &&
		   func_volatile(function) == PROVOLATILE_VOLATILE;
}

static bool
side_effect_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return check_functions_in_node(node, has_side_effects, NULL) ||
		   expression_tree_walker(node, side_effect_walker, NULL);
}

/* They may be computed twice, when the call turns out to run here. */
static bool
arguments_can_be_sent(const FuncExpr *call)
{
	foreach_ptr (Node, argument, call->args)
	{
		if (!value_can_be_sent(exprType(argument)) ||
			exprType(argument) == REFCURSOROID || side_effect_walker(argument, NULL))
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
			lfirst(list_nth_cell(scan.call->args, foreach_current_index(argument))) =
				fragment_param(argument, params);
	}
	copy->hasSubLinks = false;
	template = template_from_query(copy, &relations);
	return template_text(template, NIL, NIL, NULL, NIL);
}

/* The query that computes the values; NULL: nobody may do that twice. */
static Query *
query_of_values(const Query *query, List *values)
{
	Query *made = makeNode(Query);
	List *targets = NIL;

	if (contain_volatile_functions((Node *) values))
		return NULL;
	foreach_ptr (Expr, value, values)
		targets = lappend(targets,
						  makeTargetEntry(value, list_length(targets) + 1, NULL, false));
	made->commandType = CMD_SELECT;
	made->canSetTag = true;
	made->hasSubLinks = query->hasSubLinks;
	made->jointree = makeFromExpr(NIL, NULL);
	made->targetList = targets;
	return made;
}

/* `computed`: computes the values, which the plan doesn't have then. */
static PlannedStmt *
plan_with_call(PlannedStmt *stmt, Oid function, Oid anchor, const char *text,
			   Node *record, List *values, Query *computed)
{
	CustomScan *scan = fragment_scan_above(stmt->planTree, PLAN_CALL);

	scan->custom_private =
		list_make4(list_make2_oid(function, anchor), makeString(pstrdup(text)),
				   copyObject(record), computed);
	scan->custom_exprs = plan_expressions(values);
	stmt->planTree = &scan->scan.plan;
	if (OidIsValid(anchor))
		stmt->relationOids = lappend_oid(stmt->relationOids, anchor);
	return stmt;
}

/* Can the query run on another node? */
static bool
may_leave(Query *query, const CallScan *scan, int cursor_options)
{
	return !xact_is_for_node() && !scan->other && columns_can_come(query) &&
		   arguments_can_be_sent(scan->call) && (cursor_options & CURSOR_OPT_SCROLL) == 0;
}

/* PL/pgSQL takes the expression out of the plan of such a query, and evaluates it. */
static bool
is_expression(Query *query)
{
	return query->rtable == NIL ||
		   linitial_node(RangeTblEntry, query->rtable)->rtekind == RTE_RESULT;
}

/* Of one that is the coordinator's, which doesn't get it if NULL is returned. */
static PlannedStmt *
plan_for_coordinator(Query *query, const char *source, int cursor_options,
					 ParamListInfo params)
{
	Query *without = copyObject(query);
	CallScan found = {0};
	CallScan rest = {0};
	List *values = NIL;
	Query *computed;
	Node *record = record_of_call(query);
	char *text;
	PlannedStmt *stmt;

	(void) query_tree_walker(without, call_walker, &found, 0);
	if (node_is_coordinator() || !columns_can_come(query) ||
		!arguments_can_be_sent(found.call) || (cursor_options & CURSOR_OPT_SCROLL))
		return NULL;
	/* What is beside the arguments. */
	found.call->args = NIL;
	if (query_tree_walker(without, call_walker, &rest, 0) || rest.other)
		return NULL;
	text = text_of_call(query, &values);
	computed = query_of_values(query, values);
	if (computed == NULL)
		return NULL;
	stmt = plan_locally(query, source, cursor_options & ~CURSOR_OPT_PARALLEL_OK, params);
	return stmt->parallelModeNeeded ? stmt
									: plan_with_call(stmt, found.call->funcid, InvalidOid,
													 text, record, NIL, computed);
}

bool
is_call_for_coordinator(Query *query)
{
	CallScan scan = {0};

	return has_shape_of_call(query) && !query_tree_walker(query, call_walker, &scan, 0) &&
		   scan.call != NULL && scan.function.coordinators && !node_is_coordinator();
}

PlannedStmt *
plan_call(Query *query, const char *source, int cursor_options, ParamListInfo params)
{
	CallScan scan = {0};
	const DistTable *anchor;
	Node *record;
	List *values = NIL;
	List *keys = NIL;
	char *text = "";
	bool leaves;
	PlannedStmt *stmt;

	if (!has_shape_of_call(query) || query_tree_walker(query, call_walker, &scan, 0) ||
		scan.call == NULL || (plan_explained && xact_is_for_node()) ||
		(is_expression(query) && !xact_plans_for_client(source)))
		return NULL;
	if (scan.function.coordinators && !xact_is_for_node())
		return plan_for_coordinator(query, source, cursor_options, params);
	if (query->hasSubLinks)
		return NULL;
	leaves = may_leave(query, &scan, cursor_options);
	anchor = leaves || scan.function.forced ? dist_function_anchor(&scan.function) : NULL;
	if (anchor != NULL && anchor->kind == TABLE_HASH)
	{
		Node *key = key_of_call(&scan, anchor);

		if (key == NULL)
			anchor = NULL;
		else
			keys = list_make1(key);
	}
	if (anchor == NULL && !xact_is_for_node())
		return NULL;
	record = record_of_call(query);
	if (leaves)
		text = text_of_call(query, &values);
	stmt = plan_locally(query, source, cursor_options & ~CURSOR_OPT_PARALLEL_OK, params);
	if (stmt->parallelModeNeeded)
		return stmt;
	return plan_with_call(stmt, scan.call->funcid,
						  anchor != NULL ? anchor->relid : InvalidOid, text, record,
						  list_concat(keys, values), NULL);
}
