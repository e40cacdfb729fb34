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
#include "pando/planner/cut.h"
#include "pando/planner/flatten.h"
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
	Bitmapset *system; /* numbers of system columns, without their sign */
	List *calls;	   /* is_shard_call(), as if of the first relation of a query */
	Bitmapset *columns;
} ColumnUse;

/* A call for a row of the relation, as it is in a query of the relation alone. */
static Node *
call_inside(Node *call)
{
	call = copyObject(call);
	foreach_ptr (Var, column, ((FuncExpr *) call)->args)
	{
		column->varno = column->varnosyn = 1;
		column->varlevelsup = 0;
	}
	return call;
}

static bool
is_call_for(Node *node, Index varno, Index depth)
{
	return is_shard_call(node) && shard_call_column(node)->varno == (int) varno &&
		   shard_call_column(node)->varlevelsup == depth;
}

static bool
use_walker(Node *node, void *context)
{
	ColumnUse *use = context;

	if (node == NULL)
		return false;
	if (is_call_for(node, use->varno, use->depth))
	{
		use->calls = list_append_unique(use->calls, call_inside(node));
		return false;
	}
	if (IsA(node, Var))
	{
		Var *var = (Var *) node;

		if (var->varno != use->varno || var->varlevelsup != use->depth)
			return false;
		if (var->varattno == InvalidAttrNumber)
			use->whole_row = true;
		else if (var->varattno < 0)
			use->system = bms_add_member(use->system, -var->varattno);
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

static ColumnUse
use_of_columns(Query *level, Index varno)
{
	ColumnUse use = {.varno = varno};

	query_tree_walker(level, use_walker, &use, QTW_IGNORE_JOINALIASES);
	return use;
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
		char *known = strVal(lfirst(name));

		/* That of a dropped column is as the catalog has it: no other can be like that.
		 */
		if (known[0] == '\0')
			known = psprintf("........pg.dropped.%d........", number);
		query->targetList =
			lappend(query->targetList,
					makeTargetEntry((Expr *) column_or_null(lfirst(column), use), number,
									pstrdup(known), false));
	}
	ChangeVarNodes((Node *) rte->securityQuals, varno, 1, 0);
	IncrementVarSublevelsUp((Node *) rte->tablesample, 1, 0);
	query->hasSubLinks = checkExprHasSubLink((Node *) query);
	return query;
}

Query *
relation_as_query(Query *level, Index varno)
{
	ColumnUse use = use_of_columns(level, varno);

	return use.system == NULL && use.calls == NIL ? query_of_use(level, varno, &use)
												  : NULL;
}

/* ------------------------------------------------------------------------------------
 * The table becomes a subquery where it stands.
 */

typedef struct SystemColumns
{
	Index varno;
	Index depth;
	AttrNumber column[1 - FirstLowInvalidHeapAttributeNumber]; /* by number, unsigned */
	List *calls;
	AttrNumber first_call; /* column */
} SystemColumns;

static Node *
redirect_mutator(Node *node, void *context)
{
	SystemColumns *system = context;
	Var *var = (Var *) node;

	if (node == NULL)
		return NULL;
	if (is_call_for(node, system->varno, system->depth))
	{
		AttrNumber column = system->first_call;
		Node *inside = call_inside(node);

		foreach_ptr (Node, call, system->calls)
		{
			if (equal(call, inside))
				break;
			column++;
		}
		return (Node *) makeVar(system->varno, column, exprType(node), -1,
								exprCollation(node), system->depth);
	}
	if (IsA(node, Var) && var->varno == (int) system->varno &&
		var->varlevelsup == system->depth && var->varattno < 0)
	{
		var = copyObject(var);
		var->varattno = var->varattnosyn = system->column[-var->varattno];
		return (Node *) var;
	}
	if (IsA(node, Query))
	{
		Node *result;

		system->depth++;
		result = (Node *) query_tree_mutator((Query *) node, redirect_mutator, context,
											 QTW_IGNORE_JOINALIASES);
		system->depth--;
		return result;
	}
	return expression_tree_mutator(node, redirect_mutator, context);
}

/* One more column of the query; returns its number. */
static AttrNumber
add_column(Query *rows, Node *expr, const char *name)
{
	AttrNumber number = list_length(rows->targetList) + 1;

	rows->targetList = lappend(
		rows->targetList, makeTargetEntry((Expr *) expr, number, pstrdup(name), false));
	return number;
}

/* System columns that the level uses become columns of the query. */
static void
add_system_columns(Query *level, Index varno, Query *rows, const ColumnUse *use)
{
	SystemColumns system = {.varno = varno, .calls = use->calls};
	int number = 0;

	if (use->whole_row)
		level_fix_whole_rows(level, varno);
	while ((number = bms_next_member(use->system, number)) >= 0)
	{
		const FormData_pg_attribute *column = SystemAttributeDefinition(-number);
		Var *var = makeVar(1, -number, column->atttypid, -1, column->attcollation, 0);

		system.column[number] = add_column(rows, (Node *) var, NameStr(column->attname));
	}
	system.first_call = list_length(rows->targetList) + 1;
	foreach_ptr (Node, call, use->calls)
		add_column(rows, copyObject(call), "place");
	query_tree_mutator(level, redirect_mutator, &system,
					   QTW_DONT_COPY_QUERY | QTW_IGNORE_JOINALIASES);
}

Query *
relation_become_subquery(Query *level, Index varno)
{
	ColumnUse use = use_of_columns(level, varno);
	RowMarkClause *mark = get_parse_rowmark(level, varno);
	RangeTblEntry *rte;
	Query *rows;

	/* It tells whether an outer join left the table out. */
	if ((use.system != NULL || use.calls != NIL) && use.whole_row)
		use.system = bms_add_member(use.system, -SelfItemPointerAttributeNumber);
	rows = query_of_use(level, varno, &use);
	if (use.system != NULL || use.calls != NIL)
		add_system_columns(level, varno, rows, &use);
	if (mark != NULL)
	{
		mark = copyObject(mark);
		mark->rti = 1;
		mark->pushedDown = true;
		rows->rowMarks = list_make1(mark);
	}
	rte = rt_fetch(varno, level->rtable);
	rte_become_subquery(rte, rows);
	/* Its columns have their names inside. */
	if (rte->alias != NULL)
		rte->alias = makeAlias(rte->alias->aliasname, NIL);
	rte->eref = makeAlias(rte->eref->aliasname, NIL);
	foreach_ptr (TargetEntry, entry, rows->targetList)
		rte->eref->colnames =
			lappend(rte->eref->colnames, makeString(pstrdup(entry->resname)));
	rte->lateral = contain_vars_of_level((Node *) rows, 1);
	return rows;
}
