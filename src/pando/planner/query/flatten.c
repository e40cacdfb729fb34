/*
 * flatten.c: a query in the form that the planner's analysis reads.
 *
 * The core's flatten_join_alias_vars() works on the expressions of one level; here it is
 * applied to every level of a copy, outermost first: a subquery's references to joins of
 * outer levels are replaced from there.
 */
#include "pando/compat/compat.h"

#include "access/sysattr.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "pando/base/expr.h"
#include "pando/metadata/table.h"
#include "pando/plan/row_place.h"
#include "pando/planner/query/each_level.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/query/join_tree.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"

#define FLATTEN(field)                                                                   \
	(field) = (void *) compat_flatten_join_alias_vars(query, (Node *) (field))

static void
flatten_range_table(Query *query)
{
	ListCell *cell;

	foreach (cell, query->rtable)
	{
		RangeTblEntry *rte = lfirst(cell);

		FLATTEN(rte->functions);
		FLATTEN(rte->values_lists);
		FLATTEN(rte->tablefunc);
		FLATTEN(rte->tablesample);
		FLATTEN(rte->securityQuals);
		if (rte->rtekind == RTE_SUBQUERY)
			FLATTEN(rte->subquery);
	}
}

static bool
flatten_level(Query *query, void *context)
{
	bool joins = false;

	foreach_ptr (RangeTblEntry, rte, query->rtable)
		joins |= rte->rtekind == RTE_JOIN;
	if (!joins)
		return false;

	FLATTEN(query->targetList);
	FLATTEN(query->returningList);
	FLATTEN(query->jointree);
	FLATTEN(query->onConflict);
	FLATTEN(query->mergeActionList);
	FLATTEN(query->havingQual);
	FLATTEN(query->limitOffset);
	FLATTEN(query->limitCount);
	FLATTEN(query->withCheckOptions);
	FLATTEN(query->windowClause);
	FLATTEN(query->cteList);
	flatten_range_table(query);
	return false;
}

Query *
query_without_join_columns(Query *query)
{
	query = copyObject(query);
	(void) query_each_level(query, flatten_level, NULL);
	return query;
}

RowExpr *
whole_row_of_columns(RangeTblEntry *rte, const Var *var, int levels_up)
{
	RowExpr *row = makeNode(RowExpr);
	List *names;

	expandRTE(rte, var->varno, levels_up, -1, var->vartype != RECORDOID, &names,
			  &row->args);
	row->row_typeid = var->vartype;
	row->row_format = COERCE_IMPLICIT_CAST;
	row->colnames = var->vartype == RECORDOID ? names : NIL;
	row->location = -1;
	return row;
}

/* The value, NULL where an outer join left the variable's table out. */
static Node *
where_joined(const Var *var, Node *value)
{
	Var *place = makeVar(var->varno, SelfItemPointerAttributeNumber, TIDOID, -1,
						 InvalidOid, var->varlevelsup);

	return expr_if(expr_is_not_null((Node *) place), value);
}

typedef struct WholeRows
{
	RangeTblEntry *rte;
	bool outer_joins;
	int varno;
	int depth;
} WholeRows;

static Node *
whole_row_mutator(Node *node, void *context)
{
	WholeRows *rows = context;
	Var *var = (Var *) node;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && var->varno == rows->varno &&
		(int) var->varlevelsup == rows->depth && var->varattno == InvalidAttrNumber)
	{
		Node *row = expr_row(whole_row_of_columns(rows->rte, var, rows->depth));

		return rows->outer_joins ? where_joined(var, row) : row;
	}
	if (IsA(node, Query))
	{
		Query *result;

		rows->depth++;
		result = query_tree_mutator((Query *) node, whole_row_mutator, context,
									QTW_IGNORE_JOINALIASES);
		rows->depth--;
		return (Node *) result;
	}
	return expression_tree_mutator(node, whole_row_mutator, context);
}

void
level_fix_whole_rows(Query *query, Index varno)
{
	WholeRows rows = {.rte = rt_fetch(varno, query->rtable), .varno = varno};

	rows.outer_joins = rows.rte->rtekind == RTE_RELATION &&
					   join_tree_has_outer((Node *) query->jointree);
	query_tree_mutator(query, whole_row_mutator, &rows,
					   QTW_DONT_COPY_QUERY | QTW_IGNORE_JOINALIASES);
}

/* The columns of a FROM item, as Vars; joins get their lists. */
static void
list_columns(Query *query, Node *item, List **names, List **vars)
{
	JoinExpr *join = (JoinExpr *) item;
	RangeTblEntry *rte;
	List *right_names = NIL;
	List *right_vars = NIL;
	AttrNumber number = 0;

	*names = *vars = NIL;
	if (IsA(item, RangeTblRef))
	{
		int varno = ((RangeTblRef *) item)->rtindex;

		expandRTE(rt_fetch(varno, query->rtable), varno, 0, -1, false, names, vars);
		return;
	}
	rte = rt_fetch(join->rtindex, query->rtable);
	rte->joinleftcols = rte->joinrightcols = NIL;
	list_columns(query, join->larg, names, vars);
	list_columns(query, join->rarg, &right_names, &right_vars);
	number = 0;
	foreach_ptr (Var, var, *vars)
		rte->joinleftcols = lappend_int(
			rte->joinleftcols, IsA(join->larg, JoinExpr) ? ++number : var->varattno);
	number = 0;
	foreach_ptr (Var, var, right_vars)
		rte->joinrightcols = lappend_int(
			rte->joinrightcols, IsA(join->rarg, JoinExpr) ? ++number : var->varattno);
	*names = list_concat(*names, right_names);
	*vars = list_concat(*vars, right_vars);
	join->usingClause = NIL;
	join->join_using_alias = NULL;
	join->alias = NULL;
	rte->joinmergedcols = 0;
	rte->joinaliasvars = list_copy(*vars);
	rte->join_using_alias = NULL;
	rte->alias = NULL;
	rte->eref = makeAlias(rte->eref->aliasname, list_copy(*names));
}

void
level_join_columns_refresh(Query *query)
{
	List *names;
	List *vars;

	foreach_ptr (Node, item, query->jointree->fromlist)
		list_columns(query, item, &names, &vars);
}

/* ------------------------------------------------------------------------------------
 * tableoid
 */

typedef struct Levels
{
	Query *query; /* the innermost */
	bool given;	  /* is looked at, not only passed through */
	bool all;	  /* tables of all kinds */
	struct Levels *outer;
} Levels;

static Levels
inner_level(Query *query, Levels *outer)
{
	return (Levels){.query = query, .given = outer->given && !outer->all, .outer = outer};
}

/* The level whose table has this tableoid; NULL: it is something else, or stays. */
static Query *
level_of_tableoid(Node *node, const Levels *levels)
{
	const Var *var = (const Var *) node;
	const RangeTblEntry *rte;
	const DistTable *table;

	if (!IsA(node, Var) || var->varattno != TableOidAttributeNumber)
		return NULL;
	for (Index up = var->varlevelsup; up > 0 && levels != NULL; up--)
		levels = levels->outer;
	if (levels == NULL || !levels->given)
		return NULL;
	rte = rt_fetch(var->varno, levels->query->rtable);
	if (rte->rtekind != RTE_RELATION || (levels->all && has_subclass(rte->relid)))
		return NULL;
	table = dist_table(rte->relid);
	return levels->all || (table != NULL && table->kind == TABLE_REFERENCE)
			   ? levels->query
			   : NULL;
}

/* The table's Oid, NULL where an outer join left the table out. */
static Node *
shell_oid(Query *level, const Var *var)
{
	Oid relid = rt_fetch(var->varno, level->rtable)->relid;
	Node *oid = (Node *) makeConst(OIDOID, -1, InvalidOid, sizeof(Oid),
								   ObjectIdGetDatum(relid), false, true);

	return join_tree_has_outer((Node *) level->jointree) ? where_joined(var, oid) : oid;
}

static bool
tableoid_walker(Node *node, Levels *levels)
{
	if (node == NULL || is_shard_call(node))
		return false;
	if (IsA(node, Query))
	{
		Levels inner = inner_level((Query *) node, levels);

		return query_tree_walker((Query *) node, tableoid_walker, &inner,
								 QTW_IGNORE_JOINALIASES);
	}
	return level_of_tableoid(node, levels) != NULL ||
		   expression_tree_walker(node, tableoid_walker, levels);
}

static Node *
tableoid_mutator(Node *node, Levels *levels)
{
	Query *level;

	if (node == NULL || is_shard_call(node))
		return copyObject(node);
	if (IsA(node, Query))
	{
		Levels inner = inner_level((Query *) node, levels);

		return (Node *) query_tree_mutator((Query *) node, tableoid_mutator, &inner,
										   QTW_IGNORE_JOINALIASES);
	}
	level = level_of_tableoid(node, levels);
	return level != NULL ? shell_oid(level, (Var *) node)
						 : expression_tree_mutator(node, tableoid_mutator, levels);
}

void
query_give_shell_oids(Query *query)
{
	Levels levels = {.query = query, .given = true};

	if (query_tree_walker(query, tableoid_walker, &levels, QTW_IGNORE_JOINALIASES))
		query_tree_mutator(query, tableoid_mutator, &levels,
						   QTW_DONT_COPY_QUERY | QTW_IGNORE_JOINALIASES);
}

Node *
expression_with_shell_oids(Node *expr, Query *level)
{
	Levels levels = {.query = level, .given = true, .all = true};

	return tableoid_mutator(expr, &levels);
}
