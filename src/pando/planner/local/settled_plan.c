/*
 * settled_plan.c: one plan for prepared statements of other nodes that reach one row.
 *
 * PostgreSQL plans a prepared statement five times for the values at hand before it
 * compares that with a plan for all values. A node prepares a statement here for each
 * shard and each client, so that of a client's first thousands of statements a good part
 * would be planned. Where the statement is for one row (lookup_plan.c), values change
 * neither the plan nor its cost: the first plan counts for all five. PostgreSQL still
 * compares the two kinds, and takes the cheaper one.
 */
#include "pando/compat/compat.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "commands/prepare.h"
#include "executor/executor.h"
#include "nodes/plannodes.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "tcop/pquery.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "pando/base/hook.h"
#include "pando/base/statement_caches.h"
#include "pando/planner/query/equality.h"
#include "pando/planner/local/lookup_plan.h"
#include "pando/planner/local/settled_plan.h"
#include "pando/remote/session.h"

#define CUSTOM_PLANS 5 /* see choose_custom_plan() */

/* Text of the statement that was just planned, if its values did not matter. */
static const char *settled_source = NULL;

/* The column of the scanned relation that the condition gives a value; NULL: none. */
static const Var *
column_of_equality(Node *qual)
{
	OpExpr *clause = (OpExpr *) qual;
	Node *left;
	Node *right;

	if (!IsA(qual, OpExpr) || list_length(clause->args) != 2 ||
		get_mergejoin_opfamilies(clause->opno) == NIL)
		return NULL;
	left = equality_strip(linitial(clause->args));
	right = equality_strip(lsecond(clause->args));
	if (IsA(left, Var) && IsA(right, Const))
		return (const Var *) left;
	if (IsA(right, Var) && IsA(left, Const))
		return (const Var *) right;
	return NULL;
}

/* Do the conditions name one value of the table's primary key? */
static bool
name_one_key(Oid relid, List *quals)
{
	Relation rel = table_open(relid, NoLock); /* planning has locked it */
	Bitmapset *key = RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_PRIMARY_KEY);
	bool found;

	table_close(rel, NoLock);
	if (key == NULL)
		return false;
	foreach_ptr (Node, qual, quals)
	{
		const Var *column = column_of_equality(qual);

		if (column != NULL)
			key = bms_del_member(key,
								 column->varattno - FirstLowInvalidHeapAttributeNumber);
	}
	found = bms_is_empty(key);
	bms_free(key);
	return found;
}

/* A table of a page is read as a whole where a large one's index would be. */
static bool
reads_for_one_row(const PlannedStmt *stmt)
{
	const Plan *plan = stmt->planTree;

	while (IsA(plan, ModifyTable) || IsA(plan, LockRows))
		plan = plan->lefttree;
	return IsA(plan, SeqScan) && stmt->subplans == NIL &&
		   name_one_key(
			   rt_fetch(((const SeqScan *) plan)->scan.scanrelid, stmt->rtable)->relid,
			   plan->qual);
}

static PlannedStmt *
settled_planner(Query *query, const char *source, int cursor_options,
				ParamListInfo params)
{
	PlannedStmt *stmt =
		hook_planner_next(PLANNER_SETTLED, query, source, cursor_options, params);

	settled_source = params != NULL && statement_caches != STATEMENT_CACHES_NEVER &&
							 (plan_is_lookup(stmt) || reads_for_one_row(stmt))
						 ? source
						 : NULL;
	return stmt;
}

/* The text is that of the prepared statement that is about to run: it has its plan. */
static void
settle(const char *source)
{
	const char *name = ActivePortal != NULL ? ActivePortal->prepStmtName : NULL;
	PreparedStatement *prepared;
	CachedPlanSource *plans;

	if (name == NULL ||
		strncmp(name, SESSION_STATEMENT_PREFIX, strlen(SESSION_STATEMENT_PREFIX)) != 0)
		return;
	prepared = FetchPreparedStatement(name, false);
	if (prepared == NULL)
		return;
	plans = prepared->plansource;
	if (plans->query_string != source || plans->num_custom_plans != 1)
		return;
	plans->num_custom_plans = CUSTOM_PLANS;
	plans->total_custom_cost *= CUSTOM_PLANS;
}

static void
settled_start(QueryDesc *query, int eflags)
{
	const char *source = settled_source;

	settled_source = NULL;
	if (source != NULL)
		settle(source);
	hook_start_next(START_SETTLED, query, eflags);
}

void
settled_plan_init(void)
{
	hook_planner(PLANNER_SETTLED, settled_planner);
	hook_start(START_SETTLED, settled_start);
}
