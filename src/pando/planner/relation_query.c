/*
 * relation_query.c: a table of a query level as a query of its own.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "pando/planner/cut.h"
#include "pando/planner/from_item.h"
#include "pando/planner/hazard.h"
#include "pando/planner/join_tree.h"
#include "pando/planner/relation_query.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

typedef struct ColumnUse
{
	Index varno;
	Index depth;
	bool whole_row;
	bool system;
	Bitmapset *columns;
} ColumnUse;

static bool
use_walker(Node *node, void *context)
{
	ColumnUse *use = context;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		Var *var = (Var *) node;

		if (var->varno != use->varno || var->varlevelsup != use->depth)
			return false;
		if (var->varattno == InvalidAttrNumber)
			use->whole_row = true;
		else if (var->varattno < 0)
			use->system = true;
		else
			use->columns = bms_add_member(use->columns, var->varattno);
		return false;
	}
	if (IsA(node, Query))
	{
		use->depth++;
		query_tree_walker((Query *) node, use_walker, context, QTW_IGNORE_JOINALIASES);
		use->depth--;
		return false;
	}
	return expression_tree_walker(node, use_walker, context);
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

Query *
relation_as_query(Query *level, Index varno)
{
	ColumnUse use = {.varno = varno};
	RangeTblEntry *rte = copyObject(rt_fetch(varno, level->rtable));
	Query *query = query_from_rte(rte);
	List *names;
	List *columns;
	ListCell *name;
	ListCell *column;

	query_tree_walker(level, use_walker, &use, QTW_IGNORE_JOINALIASES);
	if (use.system)
		return NULL;
	query->hasRowSecurity = level->hasRowSecurity;
	query->jointree->quals =
		quals_as_node(own_quals(level, varno, rte->securityQuals != NIL));
	expandRTE(rte, 1, 0, -1, true, &names, &columns);
	forboth(name, names, column, columns)
	{
		AttrNumber number = list_length(query->targetList) + 1;

		query->targetList =
			lappend(query->targetList,
					makeTargetEntry((Expr *) column_or_null(lfirst(column), &use), number,
									pstrdup(strVal(lfirst(name))), false));
	}
	ChangeVarNodes((Node *) rte->securityQuals, varno, 1, 0);
	query->hasSubLinks = checkExprHasSubLink((Node *) query);
	return query;
}
