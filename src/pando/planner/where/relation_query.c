/*
 * relation_query.c: a table of a query level as a query of its own.
 */
#include "pando/compat/compat.h"

#include "access/sysattr.h"
#include "catalog/heap.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "pando/plan/row_place.h"
#include "pando/planner/query/column_use.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/group_by.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/part.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/where/relation_query.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

/* A call for a row of the relation, as it is in a query of the relation alone. */
static Node *
call_inside(Node *call)
{
	call = copyObject(call);
	foreach_ptr (Var, column, ((FuncExpr *) call)->args)
	{
		if (!IsA(column, Var))
			continue;
		column->varno = column->varnosyn = 1;
		column->varlevelsup = 0;
	}
	return call;
}

/* Qualifications that rows of the table meet by themselves. */
static List *
own_quals(Query *level, Index varno, bool secured)
{
	List *items = NIL;
	List *quals = NIL;
	List *result = NIL;

	if (join_tree_has_outer((Node *) level->jointree))
		return NIL;
	join_tree_flatten((Node *) level->jointree, &items, &quals);
	foreach_ptr (Node, qual, quals)
	{
		Relids relids = pull_varnos(NULL, qual);

		if (bms_membership(relids) != BMS_SINGLETON || !bms_is_member(varno, relids) ||
			expression_refers_outside(qual) || checkExprHasSubLink(qual) ||
			expression_varies(qual) || (secured && contain_leaked_vars(qual)))
			continue;
		qual = copyObject(qual);
		ChangeVarNodes(qual, varno, 1, 0);
		result = lappend(result, qual);
	}
	return result;
}

static Node *
column_or_null(Node *column, const ColumnUse *use)
{
	if (IsA(column, Var) &&
		(use->whole_row || bms_is_member(((Var *) column)->varattno, use->columns)))
		return column;
	return (Node *) makeNullConst(INT4OID, -1, InvalidOid);
}

static Query *
query_of_use(Query *level, Index varno, const ColumnUse *use)
{
	RangeTblEntry *rte = copyObject(rt_fetch(varno, level->rtable));
	Query *query = query_from_rte(rte);
	List *names;
	List *columns;
	ListCell *name;
	ListCell *column;

	query->hasRowSecurity = level->hasRowSecurity;
	query->jointree->quals =
		quals_as_node(own_quals(level, varno, rte->securityQuals != NIL));
	expandRTE(rte, 1, 0, -1, true, &names, &columns);
	forboth(name, names, column, columns)
	{
		AttrNumber number = list_length(query->targetList) + 1;

		query->targetList = lappend(
			query->targetList,
			makeTargetEntry((Expr *) column_or_null(lfirst(column), use), number,
							column_name_or_gone(strVal(lfirst(name)), number), false));
	}
	ChangeVarNodes((Node *) rte->securityQuals, varno, 1, 0);
	IncrementVarSublevelsUp((Node *) rte->tablesample, 1, 0);
	query->hasSubLinks = checkExprHasSubLink((Node *) query);
	return query;
}

Query *
relation_as_query(Query *level, Index varno)
{
	ColumnUse use = column_use(level, varno);

	return use.system ? NULL : query_of_use(level, varno, &use);
}

/* ------------------------------------------------------------------------------------
 * The table becomes a subquery where it stands.
 */

typedef struct Redirection
{
	Index varno;
	Index depth;
	Query *rows; /* gets a column for each that is used */
} Redirection;

static Node *
redirect_mutator(Node *node, void *context)
{
	Redirection *to = context;
	Var *var = (Var *) node;
	Node *inside = NULL;
	const char *name = "place";

	if (node == NULL)
		return NULL;
	if (is_shard_call_for(node, to->varno, to->depth))
		inside = call_inside(node);
	else if (IsA(node, Var) && var->varno == (int) to->varno &&
			 var->varlevelsup == to->depth && var->varattno < 0)
	{
		inside = (Node *) makeVar(1, var->varattno, var->vartype, -1, var->varcollid, 0);
		name = NameStr(SystemAttributeDefinition(var->varattno)->attname);
	}
	if (inside != NULL)
		return (Node *) makeVar(to->varno, part_column(to->rows, inside, name),
								exprType(inside), -1, exprCollation(inside), to->depth);
	if (IsA(node, Query))
	{
		Node *result;

		to->depth++;
		result = (Node *) query_tree_mutator((Query *) node, redirect_mutator, context,
											 QTW_IGNORE_JOINALIASES);
		to->depth--;
		return result;
	}
	return expression_tree_mutator(node, redirect_mutator, context);
}

/* System columns that the level uses become columns of the query. */
static void
redirect_system_columns(Query *level, Index varno, Query *rows, bool whole_row)
{
	Redirection to = {.varno = varno, .rows = rows};

	if (whole_row)
		level_fix_whole_rows(level, varno);
	query_tree_mutator(level, redirect_mutator, &to,
					   QTW_DONT_COPY_QUERY | QTW_IGNORE_JOINALIASES);
}

Query *
relation_become_subquery(Query *level, Index varno)
{
	ColumnUse use;
	RowMarkClause *mark = get_parse_rowmark(level, varno);
	RangeTblEntry *rte;
	Query *rows;

	/* What can't be named is for the node to refuse. */
	(void) level_group_by_determined(level);
	use = column_use(level, varno);

	rows = query_of_use(level, varno, &use);
	if (use.system)
		redirect_system_columns(level, varno, rows, use.whole_row);
	if (mark != NULL)
	{
		mark = copyObject(mark);
		mark->rti = 1;
		mark->pushedDown = true;
		rows->rowMarks = list_make1(mark);
	}
	rte = rt_fetch(varno, level->rtable);
	rte_become_subquery(rte, rows);
	/* There may be more columns than the table had. */
	rte->eref = makeAlias(rte->eref->aliasname, NIL);
	foreach_ptr (TargetEntry, entry, rows->targetList)
		rte->eref->colnames =
			lappend(rte->eref->colnames, makeString(pstrdup(entry->resname)));
	rte->lateral = contain_vars_of_level((Node *) rows, 1);
	return rows;
}
