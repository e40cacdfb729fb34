/*
 * per_node.c: partial aggregates per node instead of per shard.
 *
 * Where a group has rows in many shards, partial aggregates of each shard are hardly
 * fewer than the rows. Then the tasks yield rows, and each node groups those of all its
 * tasks:
 *
 *     WITH task_rows (c1, c2) AS NOT MATERIALIZED (task UNION ALL task ...)
 *     SELECT c1, sum(c2) FROM task_rows GROUP BY c1
 *
 * which PostgreSQL plans as one aggregate over an Append. It knows nothing of the columns
 * of a UNION ALL, though; the node's column_stats.c tells it the number of
 * distinct values, found from one of the shards. However tasks are put together,
 * on one node or in one session, the residual combines what comes.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "pando/planner/fragment/column_stats.h"
#include "pando/planner/fragment/estimate.h"
#include "pando/planner/fragment/fragment_make.h"
#include "pando/planner/fragment/fragment_path.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/query/part.h"
#include "pando/planner/residual/aggregate/per_node.h"
#include "pando/planner/residual/part_fragment.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/where/result_scope.h"

/* Fewer rows than this are not worth a thought. */
#define FEW_ROWS 2000

/* So many times the rows of nodes must those of tasks be. */
#define WORTHWHILE 1.3

/* The expression as a column of the tasks' rows; constants stay as they are. */
static Expr *
row_column(Query *rows, Expr *expr)
{
	Node *node = (Node *) expr;

	if (IsA(node, Const))
		return copyObject(expr);
	return (Expr *) makeVar(1, part_column(rows, node, "c"), exprType(node),
							exprTypmod(node), exprCollation(node), 0);
}

static Expr *
over_rows(Query *rows, Expr *expr)
{
	Aggref *aggref;

	if (!IsA(expr, Aggref))
		return row_column(rows, expr);
	aggref = copyObject((Aggref *) expr);
	foreach_ptr (TargetEntry, argument, aggref->args)
	{
		argument->expr = row_column(rows, argument->expr);
	}
	if (aggref->aggfilter != NULL)
		aggref->aggfilter = row_column(rows, aggref->aggfilter);
	return (Expr *) aggref;
}

/* SELECT ... FROM task_rows GROUP BY ... */
static Query *
query_over(Query *part, Query *rows)
{
	Query *over = query_new();

	over->hasAggs = part->hasAggs;
	over->groupClause = copyObject(part->groupClause);
	foreach_ptr (TargetEntry, entry, part->targetList)
	{
		TargetEntry *column = flatCopyTargetEntry(entry);

		column->expr = over_rows(rows, entry->expr);
		over->targetList = lappend(over->targetList, column);
	}
	over->jointree = from_one(1);
	return over;
}

/* The rows' columns, named c1, c2, ..., as a WITH query; NULL if one has no real type. */
static RangeTblEntry *
rows_rte(Query *rows)
{
	RangeTblEntry *rte = rte_new(RTE_CTE, TASK_ROWS, NIL);

	rte->ctename = pstrdup(TASK_ROWS);
	foreach_ptr (TargetEntry, entry, rows->targetList)
	{
		Node *expr = (Node *) entry->expr;

		if (get_typtype(exprType(expr)) == TYPTYPE_PSEUDO)
			return NULL;
		rte->coltypes = lappend_oid(rte->coltypes, exprType(expr));
		rte->coltypmods = lappend_int(rte->coltypmods, exprTypmod(expr));
		rte->colcollations = lappend_oid(rte->colcollations, exprCollation(expr));
		rte->eref->colnames =
			lappend(rte->eref->colnames, makeString(psprintf("c%d", entry->resno)));
	}
	return rte;
}

/* The text around the tasks': before and after them. */
static List *
text_around(Query *over, const RangeTblEntry *rte)
{
	StringInfoData head;
	StringInfoData tail;
	List *relations;
	Template *template = template_from_query(over, &relations);
	const char *separator = "";

	initStringInfo(&head);
	initStringInfo(&tail);
	appendStringInfo(&head, "WITH %s (", rte->ctename);
	foreach_ptr (String, name, rte->eref->colnames)
	{
		appendStringInfo(&head, "%s%s", separator, strVal(name));
		separator = ", ";
	}
	appendStringInfoString(&head, ") AS NOT MATERIALIZED (");
	appendStringInfoChar(&tail, ')');
	foreach_ptr (String, piece, template->texts)
	{
		appendStringInfo(&tail, " %s", strVal(piece));
	}
	return list_make2(makeString(head.data), makeString(tail.data));
}

static bool
is_worthwhile(const Distribution *distribution, const Estimate *estimate, double *rows)
{
	int tasks = estimate_tasks(distribution);
	int nodes = estimate_nodes(distribution);

	*rows = estimate_groups(estimate->input, estimate->groups, nodes);
	return nodes < tasks && estimate->rows > FEW_ROWS &&
		   estimate->rows > WORTHWHILE * *rows;
}

/* NULL: the rows can't be taken apart like that. */
static Fragment *
fragment_per_node(Query *part, const Distribution *distribution)
{
	Query *rows = copyObject(part);
	Query *over;
	RangeTblEntry *rte;
	Fragment *fragment;

	level_clear(rows, LEVEL_ROWS);
	rows->targetList = NIL;
	over = query_over(part, rows);
	rte = rows_rte(rows);
	if (rte == NULL || rows->targetList == NIL)
		return NULL;
	over->rtable = list_make1(rte);
	fragment = fragment_from_query(rows, distribution);
	fragment->column_names = fragment->column_types = fragment->column_typmods =
		fragment->column_collations = NIL;
	fragment_set_columns(fragment, over->targetList);
	fragment->per_node = text_around(over, rte);
	fragment->subplans = results_of_query(rows);
	return fragment;
}

RangeTblEntry *
part_fragment_of_groups(Query *part, const Distribution *distribution)
{
	Estimate estimate = estimate_per_task(part, estimate_tasks(distribution));
	Fragment *fragment;
	double rows;

	if (!is_worthwhile(distribution, &estimate, &rows))
		return part_fragment_estimated(part, distribution, estimate);
	fragment = fragment_per_node(part, distribution);
	if (fragment == NULL)
		return part_fragment_estimated(part, distribution, estimate);
	estimate.rows = rows;
	fragment_take_estimate(fragment, estimate);
	return fragment_rte(fragment);
}
