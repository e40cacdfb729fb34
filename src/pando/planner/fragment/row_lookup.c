/*
 * row_lookup.c: rows that come from elsewhere, looked up by an outer query's values.
 *
 * In a correlated subquery that stays in a residual,
 *
 *     (SELECT ... FROM <fragment> WHERE fragment.a = outer.b AND ...)
 *
 * the fragment's rows come once, and each row of the outer query is after a few of them.
 * No index is there to find these. The custom path "Citus Row Lookup" above the
 * fragment's keeps the rows by the hash of the columns that such filters compare
 * (executor/row_lookup.c). The same is done for what reads intermediate results and
 * exchanged rows, here and in tasks on the nodes.
 *
 * The node finds all rows whose hash is right; the filters are evaluated all the same.
 * Those that nothing of the outer query enters stay with the node below, which thus gives
 * the same rows however often it is asked, and is asked once. What these cost is not this
 * path's: it is paid once, whichever plan is chosen, and a subplan's costs are those of
 * each of its evaluations.
 */
#include "pando/compat/compat.h"

#include "access/sysattr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"

#include "pando/plan/fragment.h"
#include "pando/planner/fragment/row_lookup.h"

/* column operator value, or the other way around */
typedef struct Key
{
	Var *column;
	Node *value;
	OpExpr *equality;
} Key;

/* ------------------------------------------------------------------------------------
 * Filters.
 */

/*
 * Numbers of the parameters that outer queries hand down for each of their rows. Of these
 * lists nothing is left when plans are made.
 */
static Bitmapset *
outer_params(const PlannerInfo *root)
{
	Bitmapset *result = NULL;

	for (root = root->parent_root; root != NULL; root = root->parent_root)
	{
		foreach_ptr (PlannerParamItem, item, root->plan_params)
			result = bms_add_member(result, item->paramId);
	}
	return result;
}

static bool
outer_value_walker(Node *node, void *outer)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind == PARAM_EXEC &&
			   bms_is_member(((Param *) node)->paramid, outer);
	return expression_tree_walker(node, outer_value_walker, outer);
}

/* May the filter come out otherwise for the same row? A subplan may read outer values. */
static bool
may_vary(Node *qual, Bitmapset *outer)
{
	return outer_value_walker(qual, outer) || contain_subplans(qual) ||
		   contain_volatile_functions(qual);
}

static Key *
key_of(OpExpr *equality, int side, Bitmapset *outer)
{
	Node *column = list_nth(equality->args, side);
	Node *value = list_nth(equality->args, 1 - side);
	Key *key;

	while (IsA(column, RelabelType))
		column = (Node *) ((RelabelType *) column)->arg;
	if (!IsA(column, Var) || ((Var *) column)->varattno <= 0 ||
		contain_var_clause(value) || !outer_value_walker(value, outer) ||
		contain_subplans(value) || contain_volatile_functions(value))
		return NULL;
	key = palloc(sizeof(Key));
	key->column = (Var *) column;
	key->value = value;
	key->equality = equality;
	return key;
}

/* The filter as a key; NULL if it isn't one. */
static Key *
key_of_filter(RelOptInfo *rel, RestrictInfo *info, Bitmapset *outer)
{
	OpExpr *equality = (OpExpr *) info->clause;
	RegProcedure left;
	RegProcedure right;
	Key *key;

	if (!IsA(equality, OpExpr) || list_length(equality->args) != 2 ||
		!restriction_is_securely_promotable(info, rel) || !op_strict(equality->opno) ||
		!op_hashjoinable(equality->opno, exprType(linitial(equality->args))) ||
		!get_op_hash_functions(equality->opno, &left, &right))
		return NULL;
	key = key_of(equality, 0, outer);
	return key != NULL ? key : key_of(equality, 1, outer);
}

static List *
keys_of_rel(RelOptInfo *rel, Bitmapset *outer)
{
	List *keys = NIL;

	foreach_ptr (RestrictInfo, info, rel->baserestrictinfo)
	{
		Key *key = key_of_filter(rel, info, outer);

		if (key != NULL)
			keys = lappend(keys, key);
	}
	return keys;
}

/* ------------------------------------------------------------------------------------
 * The plan.
 */

/* The hash functions of the columns and of the values they are compared with. */
static List *
hash_functions(List *keys)
{
	List *functions = NIL;

	foreach_ptr (Key, key, keys)
	{
		RegProcedure left;
		RegProcedure right;
		bool first = contain_var_clause(linitial(key->equality->args));

		if (!get_op_hash_functions(key->equality->opno, &left, &right))
			elog(ERROR, "operator %u has no hash functions", key->equality->opno);
		functions = lappend_oid(functions, first ? left : right);
		functions = lappend_oid(functions, first ? right : left);
		functions = lappend_oid(functions, key->equality->inputcollid);
	}
	return functions;
}

/* Of the child's filters those that are to be evaluated anew for each outer row. */
static List *
take_filters(Plan *child, Bitmapset *outer)
{
	List *taken = NIL;
	List *left = NIL;

	foreach_ptr (Node, qual, child->qual)
	{
		if (may_vary(qual, outer))
			taken = lappend(taken, qual);
		else
			left = lappend(left, qual);
	}
	child->qual = left;
	return taken;
}

static Plan *
plan_lookup(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
			List *clauses, List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	Plan *child = linitial(custom_plans);
	List *keys = linitial(path->custom_private);
	List *columns = NIL;

	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = take_filters(child, lsecond(path->custom_private));
	scan->custom_scan_tlist = copyObject(child->targetlist);
	scan->custom_plans = custom_plans;
	foreach_ptr (Key, key, keys)
	{
		columns = lappend_int(columns, key->column->varattno);
		scan->custom_exprs = lappend(scan->custom_exprs, copyObject(key->value));
	}
	scan->custom_private = list_make2(columns, hash_functions(keys));
	scan->flags = path->flags;
	scan->methods = plan_scan_methods(PLAN_ROW_LOOKUP);
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "Citus Row Lookup",
	.PlanCustomPath = plan_lookup,
};

/* ------------------------------------------------------------------------------------
 * The path.
 */

/* All columns of a function in FROM. */
static PathTarget *
all_columns(const RangeTblEntry *rte, Index varno)
{
	const RangeTblFunction *function = linitial(rte->functions);
	PathTarget *target = create_empty_pathtarget();
	ListCell *type;
	ListCell *typmod;
	ListCell *collation;

	forthree(type, function->funccoltypes, typmod, function->funccoltypmods, collation,
			 function->funccolcollations)
	{
		add_column_to_pathtarget(target,
								 (Expr *) makeVar(varno, list_length(target->exprs) + 1,
												  lfirst_oid(type), lfirst_int(typmod),
												  lfirst_oid(collation), 0),
								 0);
	}
	return target;
}

/* The path that is looked up in, with all columns: what only filters use is needed. */
static Path *
path_below(PlannerInfo *root, const Path *path, Index varno)
{
	Path *below;

	if (IsA(path, CustomPath))
	{
		CustomPath *copy = makeNode(CustomPath);

		*copy = *(const CustomPath *) path;
		below = &copy->path;
	}
	else
	{
		below = makeNode(Path);
		*below = *path;
	}
	below->pathtarget = set_pathtarget_cost_width(
		root, all_columns(root->simple_rte_array[varno], varno));
	return below;
}

/* Rows with the hash that is looked for. */
static double
rows_found(PlannerInfo *root, RelOptInfo *rel, List *keys)
{
	List *equalities = NIL;

	foreach_ptr (Key, key, keys)
		equalities = lappend(equalities, key->equality);
	return clamp_row_est(rel->tuples * clauselist_selectivity(root, equalities,
															  rel->relid, JOIN_INNER,
															  NULL));
}

static CustomPath *
lookup_path(PlannerInfo *root, RelOptInfo *rel, List *keys, Bitmapset *outer)
{
	CustomPath *lookup = makeNode(CustomPath);
	const Path *path = linitial(rel->pathlist);

	lookup->path.pathtype = T_CustomScan;
	lookup->path.parent = rel;
	lookup->path.pathtarget = rel->reltarget;
	lookup->path.parallel_safe = path->parallel_safe;
	lookup->path.rows = rel->rows;
	lookup->path.startup_cost =
		rel->baserestrictcost.startup + list_length(keys) * cpu_operator_cost;
	lookup->path.total_cost =
		lookup->path.startup_cost +
		rows_found(root, rel, keys) * (cpu_tuple_cost + rel->baserestrictcost.per_tuple) +
		rel->rows * rel->reltarget->cost.per_tuple;
	lookup->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	lookup->custom_paths = list_make1(path_below(root, path, rel->relid));
	lookup->custom_private = list_make2(keys, outer);
	lookup->methods = &path_methods;
	return lookup;
}

/* A row as a whole is not among the columns that are kept; a filter without columns would
 * stand in a node above the child. */
static bool
may_look_up(PlannerInfo *root, RelOptInfo *rel)
{
	const RangeTblEntry *rte = root->simple_rte_array[rel->relid];
	Bitmapset *columns = NULL;

	if (root->parent_root == NULL || root->rowMarks != NIL || rel->pathlist == NIL ||
		!bms_is_empty(rel->lateral_relids) || rte->funcordinality ||
		list_length(rte->functions) != 1 ||
		linitial_node(RangeTblFunction, rte->functions)->funccoltypes == NIL)
		return false;
	foreach_ptr (RestrictInfo, info, rel->baserestrictinfo)
	{
		if (info->pseudoconstant)
			return false;
		pull_varattnos((Node *) info->clause, rel->relid, &columns);
	}
	return bms_is_empty(rel->attr_needed[0 - rel->min_attr]) &&
		   !bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, columns);
}

void
row_lookup_offer(PlannerInfo *root, RelOptInfo *rel)
{
	Bitmapset *outer;
	List *keys;

	if (!may_look_up(root, rel))
		return;
	outer = outer_params(root);
	keys = keys_of_rel(rel, outer);
	if (keys == NIL)
		return;
	rel->pathlist = list_make1(lookup_path(root, rel, keys, outer));
	rel->partial_pathlist = NIL;
}
