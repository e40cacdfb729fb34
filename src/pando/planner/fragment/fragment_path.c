/*
 * fragment_path.c: fragments as FROM items of a residual query.
 *
 * A fragment stands in the residual query as
 *
 *     (SELECT * FROM pando.fragment(n) AS remote_scan(c1 type1, ...))
 *
 * where n is its number in the current *scope*. The subquery around it makes whole-row
 * references mean what they should: PostgreSQL expands them when it pulls the subquery
 * up. The function's support function tells the planner the number of rows; then
 * set_rel_pathlist_hook replaces the function scan by a CustomPath. The function itself
 * is never called. More arguments than n are values that the fragment is sent: of outer
 * rows, of subqueries, of volatile functions. PostgreSQL plans them like those of any
 * function; the scan evaluates them when it starts, and starts anew when they change.
 *
 * A scope lasts for one call of the planner hook. Planning can call itself (a function is
 * evaluated that plans a query), so scopes nest.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "parser/parse_func.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "pando/base/hook.h"
#include "pando/planner/fragment/fragment_plan.h"
#include "pando/planner/fragment/fragment_order.h"
#include "pando/planner/fragment/fragment_path.h"
#include "pando/planner/fragment/row_lookup.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/where/result_scope.h"

PG_FUNCTION_INFO_V1(fragment);
PG_FUNCTION_INFO_V1(fragment_support);

static List *scope; /* Fragment *, by number from 1 */

List *
fragment_scope_enter(void)
{
	List *outer = scope;

	scope = NIL;
	return outer;
}

void
fragment_scope_leave(List *outer)
{
	scope = outer;
}

List *
fragment_scope(void)
{
	return scope;
}

/* Oids of pando.fragment(), with arguments and without, once they were looked up. */
static Oid fragment_oid;
static Oid fragment_given_oid;

static Oid
fragment_function(int nargs)
{
	Oid arguments[] = {INT4OID, ANYOID};

	return LookupFuncName(list_make2(makeString("pando"), makeString("fragment")), nargs,
						  arguments, false);
}

Fragment *
fragment_of_call(Node *call)
{
	FuncExpr *function = (FuncExpr *) call;
	Const *number;

	if (scope == NIL || !IsA(call, FuncExpr) || function->funcresulttype != RECORDOID ||
		(function->funcid != fragment_oid && function->funcid != fragment_given_oid))
		return NULL;
	number = linitial_node(Const, function->args);
	if (DatumGetInt32(number->constvalue) < 1 ||
		DatumGetInt32(number->constvalue) > list_length(scope))
		elog(ERROR, "no fragment %d", DatumGetInt32(number->constvalue));
	return list_nth(scope, DatumGetInt32(number->constvalue) - 1);
}

/* pando.fragment(n) AS remote_scan(...) */
static RangeTblEntry *
call_rte(const Fragment *fragment, int number)
{
	RangeTblEntry *rte =
		rte_new(RTE_FUNCTION, "remote_scan", copyObject(fragment->column_names));
	RangeTblFunction *function = makeNode(RangeTblFunction);
	Const *argument = makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
								Int32GetDatum(number), false, true);
	FuncExpr *call;

	fragment_oid = fragment_function(1);
	call = makeFuncExpr(fragment_oid, RECORDOID, list_make1(argument), InvalidOid,
						InvalidOid, COERCE_EXPLICIT_CALL);
	call->funcretset = true;
	function->funcexpr = (Node *) call;
	function->funccolcount = list_length(fragment->column_types);
	function->funccolnames = copyObject(fragment->column_names);
	function->funccoltypes = list_copy(fragment->column_types);
	function->funccoltypmods = list_copy(fragment->column_typmods);
	function->funccolcollations = list_copy(fragment->column_collations);

	rte->functions = list_make1(function);
	rte->alias = makeAlias("remote_scan", NIL);
	return rte;
}

RangeTblEntry *
fragment_rte(Fragment *fragment)
{
	RangeTblEntry *rte =
		rte_new(RTE_SUBQUERY, "remote_scan", copyObject(fragment->column_names));
	Query *query;

	scope = lappend(scope, fragment);
	query = query_from_rte(call_rte(fragment, list_length(scope)));
	query->targetList = fragment_column_vars(fragment, 1);

	rte->subquery = query;
	return rte;
}

void
fragment_rte_give(RangeTblEntry *rte, List *arguments)
{
	Query *query = rte->subquery;
	RangeTblEntry *inner = linitial(query->rtable);
	FuncExpr *call =
		(FuncExpr *) linitial_node(RangeTblFunction, inner->functions)->funcexpr;

	if (arguments == NIL)
		return;
	arguments = copyObject(arguments);
	IncrementVarSublevelsUp((Node *) arguments, 1, 0);
	call->funcid = fragment_given_oid = fragment_function(2);
	call->args = list_concat(call->args, arguments);
	query->hasSubLinks = checkExprHasSubLink((Node *) arguments);
}

/* ------------------------------------------------------------------------------------
 * Path and plan.
 */

/* A column that the scan doesn't have, to be replaced by fragment_scan_finish(). */
static TargetEntry *
whole_row_entry(Index relid, int resno)
{
	Var *var = makeVar(relid, InvalidAttrNumber, RECORDOID, -1, InvalidOid, 0);

	return makeTargetEntry((Expr *) var, resno, pstrdup("row"), false);
}

static Node *
whole_row_mutator(Node *node, List *columns)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && ((Var *) node)->varattno > list_length(columns))
	{
		RowExpr *row = makeNode(RowExpr);

		row->row_typeid = RECORDOID;
		row->row_format = COERCE_IMPLICIT_CAST;
		row->location = -1;
		foreach_ptr (TargetEntry, tle, columns)
		{
			Node *column = (Node *) tle->expr;

			row->args =
				lappend(row->args, makeVar(INDEX_VAR, tle->resno, exprType(column),
										   exprTypmod(column), exprCollation(column), 0));
			row->colnames = lappend(row->colnames, makeString(pstrdup(tle->resname)));
		}
		return (Node *) row;
	}
	return expression_tree_mutator(node, whole_row_mutator, columns);
}

void
fragment_scan_finish(CustomScan *scan)
{
	Plan *plan = &scan->scan.plan;
	TargetEntry *last;

	if (scan->custom_scan_tlist == NIL)
		return;
	last = llast_node(TargetEntry, scan->custom_scan_tlist);
	if (((Var *) last->expr)->varattno != InvalidAttrNumber)
		return;
	scan->custom_scan_tlist =
		list_truncate(scan->custom_scan_tlist, list_length(scan->custom_scan_tlist) - 1);
	plan->targetlist =
		(List *) whole_row_mutator((Node *) plan->targetlist, scan->custom_scan_tlist);
	plan->qual = (List *) whole_row_mutator((Node *) plan->qual, scan->custom_scan_tlist);
}

static Plan *
plan_fragment_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
				   List *clauses, List *custom_plans)
{
	Fragment *fragment = linitial(path->custom_private);
	CustomScan *scan = fragment_custom_scan(fragment);

	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = extract_actual_clauses(clauses, false);
	scan->custom_scan_tlist = fragment_column_vars(fragment, rel->relid);
	scan->custom_exprs = lsecond(path->custom_private);
	/* A level that locks or changes rows keeps the whole row for a second look. */
	if (root->rowMarks != NIL)
		scan->custom_scan_tlist = lappend(
			scan->custom_scan_tlist,
			whole_row_entry(rel->relid, list_length(scan->custom_scan_tlist) + 1));
	scan->flags = path->flags;
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "Citus Adaptive",
	.PlanCustomPath = plan_fragment_path,
};

static CustomPath *
fragment_path(PlannerInfo *root, RelOptInfo *rel, Fragment *fragment, List *arguments)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	/* A column computed here may use columns of FROM items before it. */
	path->path.param_info = get_baserel_parampathinfo(root, rel, rel->lateral_relids);
	path->path.rows = path->path.param_info ? path->path.param_info->ppi_rows : rel->rows;
	fragment_cost(fragment, &path->path.startup_cost, &path->path.total_cost);
	path->path.startup_cost += rel->baserestrictcost.startup;
	path->path.total_cost +=
		rel->baserestrictcost.startup + rel->baserestrictcost.per_tuple * fragment->rows;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_private = list_make2(fragment, arguments);
	path->methods = &path_methods;
	return path;
}

static void
use_fragment_path(PlannerInfo *root, RelOptInfo *rel, Fragment *fragment, List *arguments)
{
	List *order = fragment_order_for(fragment, root->query_pathkeys, rel->relid);

	/* The core went by the columns' types. */
	rel->reltarget->width = Min(rel->reltarget->width, fragment->width);
	rel->pathlist = NIL;
	rel->partial_pathlist = NIL;
	add_path(rel, &fragment_path(root, rel, fragment, arguments)->path);
	if (order != NIL)
	{
		CustomPath *sorted =
			fragment_path(root, rel, fragment_ordered(fragment, order), arguments);

		sorted->path.pathkeys = root->query_pathkeys;
		fragment_order_cost(fragment, root, sorted);
		add_path(rel, &sorted->path);
	}
}

/* The core's estimate was made before the number of rows could be known to it. */
static void
take_rows(RelOptInfo *rel, double rows)
{
	double factor = clamp_row_est(rows) / Max(rel->tuples, 1);
	ListCell *cell;

	rel->tuples = clamp_row_est(rows);
	rel->rows = clamp_row_est(rel->rows * factor);
	foreach (cell, rel->pathlist)
	{
		Path *path = lfirst(cell);

		path->rows = clamp_row_est(path->rows * factor);
		path->total_cost *= factor;
	}
}

/*
 * estimate_num_groups() expects of two columns of one relation a tenth of its rows as
 * groups at most, of columns of several tables no such thing. A fragment that joins is
 * one relation to it, which is taken for the tenth of a larger one.
 */
static void
expect_groups_of_join(RelOptInfo *rel)
{
	rel->tuples *= 10;
}

/* Does it read rows that came from elsewhere, on the node where it is called? */
static bool
reads_rows(Node *call)
{
	char *name = is_funcclause(call) ? get_func_name(((FuncExpr *) call)->funcid) : NULL;

	return name != NULL && (strcmp(name, "exchange_rows") == 0 ||
							strcmp(name, "read_intermediate_result") == 0);
}

static void
fragment_pathlist(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	hook_pathlist_next(PATHLIST_FRAGMENT, root, rel, rti, rte);
	if (rte->rtekind == RTE_FUNCTION && list_length(rte->functions) == 1)
	{
		RangeTblFunction *function = linitial(rte->functions);
		Fragment *fragment = fragment_of_call(function->funcexpr);
		double rows = result_read_rows(function->funcexpr);

		if (fragment)
			use_fragment_path(root, rel, fragment,
							  list_copy_tail(((FuncExpr *) function->funcexpr)->args, 1));
		else if (rows >= 0)
			take_rows(rel, rows);
		if (fragment || rows >= 0 || reads_rows(function->funcexpr))
			row_lookup_offer(root, rel);
		if (fragment && fragment->mixed)
			expect_groups_of_join(rel);
	}
}

void
fragment_path_init(void)
{
	hook_pathlist(PATHLIST_FRAGMENT, fragment_pathlist);
}

/* pando.fragment(int): stands in a query tree only. */
Datum
fragment(PG_FUNCTION_ARGS)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("pando.fragment() stands for rows in a distributed plan and "
						   "cannot be called")));
	PG_RETURN_NULL();
}

/* Tells the planner how many rows a fragment has. */
Datum
fragment_support(PG_FUNCTION_ARGS)
{
	Node *request = (Node *) PG_GETARG_POINTER(0);

	if (IsA(request, SupportRequestRows))
	{
		SupportRequestRows *rows = (SupportRequestRows *) request;
		Fragment *found = fragment_of_call(rows->node);

		if (found)
		{
			rows->rows = clamp_row_est(found->rows);
			PG_RETURN_POINTER(request);
		}
	}
	PG_RETURN_POINTER(NULL);
}
