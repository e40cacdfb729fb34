/*
 * query_facts.c: what is asked of every query tree, found in one walk.
 *
 * A question that each statement is asked gets its answer here, not a walk of its own;
 * one that ends most walks early, or is asked of few statements, is better off by itself.
 * What a level holds apart from its expressions is found more cheaply by each_level.c.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/syscache.h"

#include "pando/plan/row_place.h"
#include "pando/planner/query/query_facts.h"
#include "pando/planner/query/query_shape.h"

typedef struct Level
{
	Query *query;
	struct Level *outer;
	Index depth;
	bool aliases; /* looks at what the columns of a join stand for */
	QueryFacts *facts;
} Level;

static bool
look_at_function(Oid function, void *context)
{
	QueryFacts *facts = context;
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	form = (Form_pg_proc) GETSTRUCT(tuple);
	if (form->provolatile == PROVOLATILE_VOLATILE)
	{
		facts->varies = true;
		facts->may_write |= function >= FirstNormalObjectId;
	}
	facts->procedural |=
		form->prolang != INTERNALlanguageId && form->prolang != ClanguageId;
	facts->serial |= form->proparallel != PROPARALLEL_SAFE;
	ReleaseSysCache(tuple);
	return false;
}

static void
look_at_column(const Var *var, const Level *level)
{
	if (var->varlevelsup > level->depth)
	{
		level->facts->outer_columns = true;
		return;
	}
	for (Index up = var->varlevelsup; up > 0; up--)
		level = level->outer;
	if (rt_fetch(var->varno, level->query->rtable)->rtekind == RTE_JOIN)
		level->facts->join_columns = true;
}

static bool look_at_query(Query *query, Level *outer, QueryFacts *facts);

static bool
facts_walker(Node *node, void *context)
{
	Level *level = context;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
			if (!level->aliases)
				look_at_column((Var *) node, level);
			return false;
		case T_Const:
			return false;
		case T_Query:
			return look_at_query((Query *) node, level, level->facts);
		case T_Aggref:
			if (((Aggref *) node)->agglevelsup > level->depth)
				level->facts->outer_columns = true;
			break;
		case T_NextValueExpr:
			level->facts->varies = true;
			return false;
		default:
			break;
	}
	if (is_row_place(node))
		level->facts->places = true;
	(void) check_functions_in_node(node, look_at_function, level->facts);
	return expression_tree_walker(node, facts_walker, level);
}

/* What no expression of the level shows: the casts of merged columns. */
static void
look_at_joins(Level *level)
{
	level->aliases = true;
	foreach_ptr (RangeTblEntry, rte, level->query->rtable)
	{
		if (rte->rtekind == RTE_JOIN)
			(void) expression_tree_walker((Node *) rte->joinaliasvars, facts_walker,
										  level);
	}
	level->aliases = false;
}

static bool
look_at_query(Query *query, Level *outer, QueryFacts *facts)
{
	Level level = {.query = query, .outer = outer, .facts = facts};

	level.depth = outer != NULL ? outer->depth + 1 : 0;
	facts->locks |= query->rowMarks != NIL;
	facts->limits |=
		clause_limits(query->limitCount) || clause_limits(query->limitOffset);
	look_at_joins(&level);
	return query_tree_walker(query, facts_walker, &level, QTW_IGNORE_JOINALIASES);
}

static bool
may_read_tables(Oid function, void *context)
{
	HeapTuple tuple;
	Form_pg_proc form;
	bool result;

	if (function < FirstNormalObjectId)
		return false;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	result = form->provolatile != PROVOLATILE_IMMUTABLE &&
			 form->proparallel == PROPARALLEL_SAFE &&
			 form->prolang != INTERNALlanguageId && form->prolang != ClanguageId;
	ReleaseSysCache(tuple);
	return result;
}

static bool
tables_in_functions_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, tables_in_functions_walker, context,
								 QTW_IGNORE_JOINALIASES);
	return check_functions_in_node(node, may_read_tables, NULL) ||
		   expression_tree_walker(node, tables_in_functions_walker, context);
}

bool
query_may_read_in_functions(Query *query)
{
	return tables_in_functions_walker((Node *) query, NULL);
}

QueryFacts
query_facts(Query *query)
{
	QueryFacts facts = {0};

	(void) look_at_query(query, NULL, &facts);
	return facts;
}
