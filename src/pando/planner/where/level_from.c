/*
 * level_from.c: where the rows of a level are: FROM and WHERE, and the sublinks of all
 * its expressions.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_proc.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/where/cte_once.h"
#include "pando/planner/where/exchange_item.h"
#include "pando/planner/where/hazard.h"
#include "pando/planner/where/level.h"
#include "pando/planner/where/place_rules.h"
#include "pando/planner/where/result_scope.h"
#include "pando/planner/where/row_ctid.h"

static Place *place_of_from(Level *level, List *items, List *quals);

/*
 * Of a WITH query that is referenced `levels` below the query that defines it. The WITH
 * query itself is one level below that one: what it is bound to is raised first.
 */
static Place *
place_lowered(Place *place, int levels)
{
	Place *result = place_raised(place);

	IncrementVarSublevelsUp((Node *) result->bound, levels, 1);
	return result;
}

/* The place of a FROM item that yields a result's columns. */
static Place *
place_of_result(Output *result, Place *place, Index varno, RangeTblEntry *rte,
				List *targetlist)
{
	ListCell *cell;

	place->relids = bms_make_singleton(varno);
	place->strict = place->not_null = place->weak = NIL;
	foreach (cell, targetlist)
	{
		TargetEntry *entry = lfirst(cell);
		Var *var;

		if (entry->resjunk)
			continue;
		if (!bms_is_member(entry->resno, result->strict) &&
			!bms_is_member(entry->resno, result->weak))
			continue;
		var = makeVar(varno, entry->resno, exprType((Node *) entry->expr),
					  exprTypmod((Node *) entry->expr),
					  exprCollation((Node *) entry->expr), 0);
		if (bms_is_member(entry->resno, result->strict))
			place->strict = lappend(place->strict, var);
		else
			place->weak = lappend(place->weak, var);
		if (bms_is_member(entry->resno, result->not_null))
			place->not_null = lappend(place->not_null, var);
	}
	return place;
}

static bool
same_place(Output *a, Output *b)
{
	return a->place->kind == b->place->kind && a->place->splits == b->place->splits &&
		   equal(a->place->bound, b->place->bound) && bms_equal(a->strict, b->strict) &&
		   bms_equal(a->not_null, b->not_null) && bms_equal(a->weak, b->weak);
}

/*
 * A recursive WITH query: what the non-recursive part yields is assumed for the query's
 * own name, until the whole yields what was assumed. Each round of the recursion then
 * finds its rows where it is.
 */
static Output *
analyse_recursive(CommonTableExpr *cte, Level *definer)
{
	Query *query = (Query *) cte->ctequery;
	SetOperationStmt *setop = (SetOperationStmt *) query->setOperations;
	RangeTblEntry *first;
	Level level = {0};
	Output *assumed;

	if (setop == NULL || !IsA(setop->larg, RangeTblRef))
		return output_coordinator("WITH RECURSIVE");
	level.query = query;
	level.parent = definer;
	first = rt_fetch(((RangeTblRef *) setop->larg)->rtindex, query->rtable);
	assumed = level_analyse(first->subquery, &level);
	assumed->place = place_raised(assumed->place);
	for (int round = 0; round < 8; round++)
	{
		Level rounds = *definer;
		Output *result;

		rounds.recursive_name = cte->ctename;
		rounds.recursive_result = assumed;
		result = level_analyse(query, &rounds);
		if (result->place->kind == PLACE_COORDINATOR || same_place(result, assumed))
			return result;
		assumed = result;
	}
	return output_coordinator("WITH RECURSIVE");
}

/*
 * What a WITH query puts out. It depends on nothing but the level that defines the query
 * and on whether it is part of a path (SEARCH, CYCLE), and is kept there: a chain of
 * queries that each read the one before twice would else be walked 2^n times.
 */
typedef struct WithOutput
{
	CommonTableExpr *cte;
	bool in_paths;
	Output *output;
} WithOutput;

static Output *
output_of_cte(CommonTableExpr *cte, Level *definer)
{
	bool in_paths = hazard_in_paths > 0;
	WithOutput *known;

	foreach_ptr (WithOutput, one, definer->with_outputs)
	{
		if (one->cte == cte && one->in_paths == in_paths)
			return one->output;
	}
	known = palloc(sizeof(WithOutput));
	known->cte = cte;
	known->in_paths = in_paths;
	if (cte->cterecursive)
	{
		bool paths = cte->search_clause != NULL || cte->cycle_clause != NULL;

		hazard_in_paths += paths;
		known->output = analyse_recursive(cte, definer);
		hazard_in_paths -= paths;
	}
	else
		known->output = level_analyse((Query *) cte->ctequery, definer);
	definer->with_outputs = lappend(definer->with_outputs, known);
	return known->output;
}

static Place *
place_of_cte(Level *level, RangeTblEntry *rte, Index varno)
{
	Level *definer = level;
	CommonTableExpr *cte = NULL;
	Output *result;
	ListCell *cell;

	for (Index up = 0; up < rte->ctelevelsup && definer != NULL; up++)
		definer = definer->parent;
	if (definer == NULL)
		return place_coordinator("a WITH query of an outer query");
	foreach (cell, definer->query->cteList)
	{
		CommonTableExpr *candidate = lfirst(cell);

		if (strcmp(candidate->ctename, rte->ctename) == 0)
			cte = candidate;
	}
	if (cte == NULL)
		elog(ERROR, "WITH query \"%s\" not found", rte->ctename);
	if (cte_is_kept(cte))
		return place_coordinator("a WITH query that is computed once");
	/* Its text needs field names that a row does not have when it is read back. */
	if (cte->search_clause != NULL && cte->search_clause->search_breadth_first)
		return place_coordinator("WITH RECURSIVE with SEARCH BREADTH FIRST");

	if (rte->self_reference)
	{
		if (definer->recursive_name == NULL ||
			strcmp(definer->recursive_name, rte->ctename) != 0)
			return place_coordinator("WITH RECURSIVE");
		result = definer->recursive_result;
	}
	else
		result = output_of_cte(cte, definer);
	return place_of_result(result, place_lowered(result->place, rte->ctelevelsup), varno,
						   rte, query_output((Query *) cte->ctequery));
}

/* Functions, VALUES and the like have no shards; only what they call matters. */
static Place *
place_of_expressions(RangeTblEntry *rte, Node *expressions, Index varno)
{
	Place *place = place_anywhere(InvalidOid);
	const char *hazard = expression_hazard(expressions);

	if (hazard == NULL && rte->rtekind == RTE_FUNCTION)
	{
		ListCell *cell;

		foreach (cell, rte->functions)
		{
			Node *function = ((RangeTblFunction *) lfirst(cell))->funcexpr;

			/* A set can't become a value that is sent along. */
			if (is_result_read(function))
				continue;
			if (IsA(function, FuncExpr) && ((FuncExpr *) function)->funcretset &&
				func_volatile(((FuncExpr *) function)->funcid) != PROVOLATILE_IMMUTABLE)
				hazard = psprintf("set-returning function %s",
								  get_func_name(((FuncExpr *) function)->funcid));
		}
	}
	if (hazard != NULL)
		return place_coordinator(hazard);
	place->relids = bms_make_singleton(varno);
	place->varies = expression_varies(expressions);
	return place;
}

/* With sublinks in the arguments of functions, rows of VALUES and so on. */
typedef struct SubLinkScan
{
	List *sublinks; /* SubLink * of this level's expressions */
} SubLinkScan;

static bool
sublink_walker(Node *node, void *context)
{
	SubLinkScan *scan = context;

	if (node == NULL || IsA(node, Query))
		return false;
	if (IsA(node, SubLink))
	{
		scan->sublinks = lappend(scan->sublinks, node);
		return sublink_walker(((SubLink *) node)->testexpr, context);
	}
	return expression_tree_walker(node, sublink_walker, context);
}

static List *
sublinks_of(Node *node)
{
	SubLinkScan scan = {0};

	sublink_walker(node, &scan);
	return scan.sublinks;
}

static Place *
place_of_relation(RangeTblEntry *rte, Index varno)
{
	Place *place;

	if (rte->securityQuals != NIL)
		return place_coordinator(
			psprintf("row-level security of table %s", get_rel_name(rte->relid)));
	place = place_table(rte->relid, varno);
	if (rte->tablesample != NULL)
	{
		const char *hazard = expression_hazard((Node *) rte->tablesample);

		if (hazard == NULL && sublinks_of((Node *) rte->tablesample) != NIL)
			hazard = "a subquery in TABLESAMPLE";
		if (hazard != NULL)
			return place_coordinator(hazard);
		place->varies = place->kind == PLACE_ANYWHERE;
	}
	/* A row's copies have ctids of their own. */
	if (place->kind == PLACE_ANYWHERE && relation_ctid_is_used(rte))
		place->varies = true;
	return place;
}

static Place *
place_of_item(Level *level, Index varno)
{
	RangeTblEntry *rte = rt_fetch(varno, level->query->rtable);
	Output *result;
	Place *place;

	switch (rte->rtekind)
	{
		case RTE_RELATION:
			return place_of_relation(rte, varno);
		case RTE_SUBQUERY:
			result = level_analyse(rte->subquery, level);
			place = place_raised(result->place);
			return place_of_result(result, place, varno, rte, rte->subquery->targetList);
		case RTE_CTE:
			return place_of_cte(level, rte, varno);
		case RTE_FUNCTION:
			place = exchange_place(rte, varno);
			if (place != NULL)
				return place;
			/* FALLTHROUGH */
		case RTE_VALUES:
		case RTE_TABLEFUNC:
			if (sublinks_of((Node *) rte->functions) != NIL ||
				sublinks_of((Node *) rte->values_lists) != NIL ||
				sublinks_of((Node *) rte->tablefunc) != NIL)
				return place_coordinator("a subquery in a function of the FROM clause");
			return place_of_expressions(
				rte,
				rte->rtekind == RTE_FUNCTION ? (Node *) rte->functions
				: rte->rtekind == RTE_VALUES ? (Node *) rte->values_lists
											 : (Node *) rte->tablefunc,
				varno);
		case RTE_RESULT:
			place = place_anywhere(InvalidOid);
			place->relids = bms_make_singleton(varno);
			return place;
		default:
			return place_coordinator("a transition table");
	}
}

/*
 * `column IN (SELECT key ...)`: both are keys, and the row's matches are next to it.
 * Where no match is not the same as NULL, there must be no NULL on either side: it would
 * be compared with rows of all shards.
 */
static bool
compares_keys(SubLink *sublink, Output *inner, Place *rows, bool strictly)
{
	List *tests = NIL;
	ListCell *cell;

	if (sublink->subLinkType != ANY_SUBLINK || !inner->place->splits)
		return false;
	tests = make_ands_implicit((Expr *) sublink->testexpr);
	foreach (cell, tests)
	{
		OpExpr *test = lfirst(cell);
		Node *param;
		int column;

		if (!IsA(test, OpExpr) || list_length(test->args) != 2)
			continue;
		param = equality_strip(lsecond(test->args));
		if (!IsA(param, Param) || ((Param *) param)->paramkind != PARAM_SUBLINK)
			continue;
		column = ((Param *) param)->paramid;
		if (equality_family(test->opno, linitial(test->args), test->inputcollid) ==
				rows->key_family &&
			rows->key_family == inner->place->key_family &&
			place_has_key(rows, linitial(test->args), true) &&
			(bms_is_member(column, inner->strict) ||
			 bms_is_member(column, inner->weak)) &&
			(!strictly || (place_key_not_null(rows, linitial(test->args)) &&
						   bms_is_member(column, inner->not_null))))
			return true;
	}
	return false;
}

/* Does the query refer to columns of the level above it? */
static bool
is_correlated(Query *query)
{
	return contain_vars_of_level((Node *) query, 1);
}

/*
 * Adds one sublink to the rows that it is evaluated for. `is_filter`: it stands alone as
 * an AND-ed qualification, so that NULL and false are the same.
 */
static Place *
attach_sublink(Level *level, Place *rows, SubLink *sublink, bool is_filter)
{
	Query *query = (Query *) sublink->subselect;
	Output *inner = level_analyse(query, level);
	Place *place = place_raised(inner->place);

	/* Evaluated for each outer row, which is in one place only. */
	if (place->kind == PLACE_ANYWHERE && is_correlated(query))
		place->varies = false;
	if (rows->kind == PLACE_SHARDS && place->kind == PLACE_SHARDS &&
		rows->colocation == place->colocation &&
		compares_keys(sublink, inner, rows, !is_filter))
		return rows;
	return place_with_sublink(rows, place);
}

/* Checks an expression that is evaluated for the rows: functions and sublinks. */
static Place *
attach_expression(Level *level, Place *rows, Node *expr, bool is_filter)
{
	const char *hazard;
	ListCell *cell;

	if (expr == NULL || rows->kind == PLACE_COORDINATOR)
		return rows;
	if (is_filter && IsA(expr, List))
	{
		foreach (cell, (List *) expr)
			rows = attach_expression(level, rows, lfirst(cell), true);
		return rows;
	}
	hazard = expression_hazard(expr);
	if (hazard != NULL)
		return place_coordinator(hazard);
	if (!level->query->hasSubLinks)
		return rows;
	foreach (cell, sublinks_of(expr))
	{
		rows =
			attach_sublink(level, rows, lfirst(cell), is_filter && expr == lfirst(cell));
		if (rows->kind == PLACE_COORDINATOR)
			return rows;
	}
	return rows;
}

static Place *
place_of_outer_join(Level *level, JoinExpr *join, List *above)
{
	JoinType type = join_type_reduced(join, above);
	List *quals = quals_flat(join->quals);
	Equalities *equalities;
	Place *place;

	if (type == JOIN_FULL)
	{
		equalities = equalities_create();
		equalities_add(equalities, quals);
		place = place_full_join(place_of_from(level, list_make1(join->larg), NIL),
								place_of_from(level, list_make1(join->rarg), NIL),
								equalities);
	}
	else
	{
		Node *kept = type == JOIN_LEFT ? join->larg : join->rarg;
		Node *other = type == JOIN_LEFT ? join->rarg : join->larg;

		place = place_left_join(place_of_from(level, list_make1(kept), above),
								place_of_from(level, list_make1(other), quals));
	}
	/* In an outer join's condition NULL is false as well, so sublinks are filters. */
	return attach_expression(level, place, (Node *) quals, true);
}

/*
 * The place of the inner join of FROM items, for rows for which all of `above` hold.
 * Those qualifications are the caller's to check; the joins' own are checked here.
 */
static Place *
place_of_from(Level *level, List *from, List *above)
{
	List *quals = list_copy(above);
	List *items = NIL;
	List *places = NIL;
	Equalities *equalities;
	Place *result;
	ListCell *cell;

	foreach (cell, from)
		join_tree_flatten(lfirst(cell), &items, &quals);
	equalities = equalities_create();
	equalities_add(equalities, quals);
	foreach (cell, items)
	{
		Node *item = lfirst(cell);
		Place *place;

		if (IsA(item, RangeTblRef))
			place = place_of_item(level, ((RangeTblRef *) item)->rtindex);
		else
			place = place_of_outer_join(level, (JoinExpr *) item, quals);
		place_restrict(place, equalities, quals);
		places = lappend(places, place);
	}
	result = place_join(places, equalities);
	place_restrict(result, equalities, quals);
	quals = list_copy_tail(quals, list_length(above));
	return attach_expression(level, result, (Node *) quals, true);
}

Place *
level_place(Level *level)
{
	return place_closed(place_of_from(level, list_make1(level->query->jointree), NIL));
}

Place *
place_of_rows(Query *query)
{
	Level level = {.query = query};

	return level_place(&level);
}

Place *
level_attach_expressions(Level *level, Place *place)
{
	Query *query = level->query;
	ListCell *cell;

	place = attach_expression(level, place, (Node *) query->targetList, false);
	place = attach_expression(level, place, query->havingQual, false);
	place = attach_expression(level, place, query->limitCount, false);
	place = attach_expression(level, place, query->limitOffset, false);
	place = attach_expression(level, place, (Node *) query->returningList, false);
	place = attach_expression(level, place, (Node *) query->onConflict, false);
	foreach (cell, query->windowClause)
	{
		WindowClause *window = lfirst(cell);

		place = attach_expression(level, place, window->startOffset, false);
		place = attach_expression(level, place, window->endOffset, false);
	}
	return place;
}
