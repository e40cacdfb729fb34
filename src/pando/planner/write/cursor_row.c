/*
 * cursor_row.c: WHERE CURRENT OF.
 *
 * PostgreSQL looks into the execution of the cursor for the scan of the table, and for
 * the row that it is at. That scan is on other nodes, and ahead of the cursor. So each
 * row of a cursor whose query is simple enough carries the row's place in a junk column,
 * and
 *
 *     UPDATE t SET ... WHERE CURRENT OF c
 *
 * has the conditions of a row whose identity (row_identity.h) is that of the cursor's:
 *
 *     ... WHERE t.key = pando.cursor_row('c', 't', <key>) AND
 *               pando.row_ctid(t.tableoid, t.ctid) = pando.cursor_row('c', 't', <ctid>)
 *
 * The function (executor/cursor_row.c) is evaluated here, once. It has the row's newest
 * version found and locked on its node, so that it stays where it is. A row with several
 * copies is the one with its primary key.
 */
#include "pando/compat/compat.h"

#include "access/sysattr.h"
#include "access/htup_details.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_func.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "pando/compat/rights.h"
#include "pando/base/expr.h"
#include "pando/plan/cursor_row.h"
#include "pando/plan/row_place.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/write/computed_change.h"
#include "pando/planner/write/cursor_row.h"
#include "pando/planner/write/row_identity.h"
#include "pando/planner/write/target_policy.h"
#include "pando/planner/write/write_rules.h"

/* ------------------------------------------------------------------------------------
 * The cursor.
 */

/* Columns that are compared as well: they tell the shard, or which row it is. */
static List *
columns_compared(const DistTable *table)
{
	HeapTuple tuple;
	bool not_null;

	if (table_has_copies(table))
		return primary_key(table->relid);
	if (table->key == InvalidAttrNumber)
		return NIL;
	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(table->relid),
							Int16GetDatum(table->key));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "no column %d of relation %u", table->key, table->relid);
	not_null = ((Form_pg_attribute) GETSTRUCT(tuple))->attnotnull;
	ReleaseSysCache(tuple);
	return not_null ? list_make1_int(table->key) : NIL;
}

static const DistTable *
table_of_item(const RangeTblEntry *rte)
{
	const DistTable *table = rte->rtekind == RTE_RELATION ? dist_table(rte->relid) : NULL;

	return table != NULL && table->kind != TABLE_MANAGED_LOCAL ? table : NULL;
}

static void
add_column(Query *query, Node *expr, Oid relid, AttrNumber column, bool locked)
{
	query->targetList =
		lappend(query->targetList,
				makeTargetEntry((Expr *) expr, list_length(query->targetList) + 1,
								cursor_column_name(relid, column, locked), false));
}

/* Columns of the system are for those who may read all others. */
static void
add_columns(Query *query, Index varno, bool locked)
{
	RangeTblEntry *rte = rt_fetch(varno, query->rtable);
	const DistTable *table = table_of_item(rte);
	Oid role = entry_role(rte);
	RelationRights *rights = entry_rights_to_set(rte);

	if (table == NULL || pg_class_aclcheck(rte->relid, role, ACL_SELECT) != ACLCHECK_OK)
		return;
	foreach_int(column, columns_compared(table))
	{
		add_column(query, (Node *) var_of_attribute(varno, rte->relid, column),
				   rte->relid, column, locked);
		rights->selectedCols = bms_add_member(
			rights->selectedCols, column - FirstLowInvalidHeapAttributeNumber);
	}
	if (!table_has_copies(table))
		add_column(query, row_place_call(varno), rte->relid, TableOidAttributeNumber,
				   locked);
}

/* Is each of its rows made of one row of each FROM item? */
static bool
keeps_rows(const Query *query)
{
	return query->commandType == CMD_SELECT && query->setOperations == NULL &&
		   !query->hasAggs && !query->hasWindowFuncs && !query->hasTargetSRFs &&
		   !query->hasModifyingCTE && query->groupClause == NIL &&
		   query->groupingSets == NIL && query->havingQual == NULL &&
		   query->distinctClause == NIL && query->jointree->fromlist != NIL;
}

Query *
query_with_cursor_rows(Query *query)
{
	Node *item;
	Query *result;

	if (!keeps_rows(query))
		return NULL;
	result = copyObject(query);
	item = linitial(query->jointree->fromlist);
	if (query->rowMarks == NIL && IsA(item, RangeTblRef) &&
		list_length(query->jointree->fromlist) == 1)
		add_columns(result, ((RangeTblRef *) item)->rtindex, false);
	foreach_ptr (RowMarkClause, mark, query->rowMarks)
		add_columns(result, mark->rti, true);
	return query_has_cursor_rows(result) &&
				   list_length(result->targetList) > list_length(query->targetList)
			   ? result
			   : NULL;
}

bool
query_has_cursor_rows(const Query *query)
{
	const TargetEntry *last = query->targetList != NIL ? llast(query->targetList) : NULL;

	return last != NULL && last->resname != NULL && !last->resjunk &&
		   cursor_column_is_named(last->resname);
}

void
plan_hide_cursor_rows(PlannedStmt *stmt, const Query *original)
{
	foreach_ptr (TargetEntry, entry, stmt->planTree->targetlist)
	{
		if (entry->resno > list_length(original->targetList) && entry->resname != NULL &&
			cursor_column_is_named(entry->resname))
			entry->resjunk = true;
	}
	/* Who may read the whole table has them. */
	stmt->dependsOnRole = true;
}

/* ------------------------------------------------------------------------------------
 * The change.
 */

typedef struct Change
{
	const DistTable *target;
	Index varno;
	int lock; /* LockClauseStrength of the row that is found, or CURSOR_ROW_PAST_POLICIES
			   */
} Change;

/* pando.cursor_row(): what the column of the cursor's row is. */
static Node *
value_in_cursor(const CurrentOfExpr *cursor, const Change *change, AttrNumber column,
				Node *like)
{
	Oid types[] = {TEXTOID, OIDOID, INT4OID, INT4OID, ANYELEMENTOID};
	Oid type = exprType(like);
	Node *name;

	if (cursor->cursor_name != NULL)
		name = (Node *) makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
								  CStringGetTextDatum(cursor->cursor_name), false, false);
	else
	{
		Param *param = expr_param(PARAM_EXTERN, cursor->cursor_param, REFCURSOROID, -1,
								  get_typcollation(REFCURSOROID));

		name = (Node *) makeRelabelType((Expr *) param, TEXTOID, -1,
										DEFAULT_COLLATION_OID, COERCE_IMPLICIT_CAST);
	}
	return (Node *) makeFuncExpr(
		LookupFuncName(list_make2(makeString("pando"), makeString("cursor_row")),
					   lengthof(types), types, false),
		type,
		list_make5(name,
				   makeConst(OIDOID, -1, InvalidOid, sizeof(Oid),
							 ObjectIdGetDatum(change->target->relid), false, true),
				   makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
							 Int32GetDatum(column), false, true),
				   makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
							 Int32GetDatum(change->lock), false, true),
				   makeNullConst(type, -1, exprCollation(like))),
		exprCollation(like), exprCollation(like), COERCE_EXPLICIT_CALL);
}

static Node *
conditions(const CurrentOfExpr *cursor, const Change *change)
{
	const DistTable *target = change->target;
	List *identity = row_identity(target, change->varno);
	List *columns =
		table_has_copies(target)
			? columns_compared(target)
			: list_make2_int(SelfItemPointerAttributeNumber, TableOidAttributeNumber);
	List *values = NIL;
	List *quals = NIL;
	ListCell *expr;
	ListCell *column;

	if (rows_have_no_name(target))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("WHERE CURRENT OF on table \"%s\" is not supported yet",
							   get_rel_name(target->relid)),
						errdetail("The table has several copies and no primary key.")));
	forboth(expr, identity, column, columns) values = lappend(
		values, value_in_cursor(cursor, change, lfirst_int(column), lfirst(expr)));
	quals = row_is(target, change->varno, values);
	if (!table_has_copies(target))
	{
		foreach_int(number, columns_compared(target))
		{
			Node *var = (Node *) var_of_attribute(change->varno, target->relid, number);

			quals = lcons(same_value(var, value_in_cursor(cursor, change, number, var)),
						  quals);
		}
	}
	return quals_as_node(quals);
}

static Node *
conditions_mutator(Node *node, Change *change)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, CurrentOfExpr))
		return conditions((CurrentOfExpr *) node, change);
	return expression_tree_mutator(node, conditions_mutator, change);
}

static bool
cursor_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return IsA(node, CurrentOfExpr) ||
		   expression_tree_walker(node, cursor_walker, context);
}

Query *
query_with_cursor_conditions(Query *query)
{
	RangeTblEntry *rte = rt_fetch(query->resultRelation, query->rtable);
	Change change = {.target = table_of_item(rte),
					 .varno = query->resultRelation,
					 .lock = lock_of_change(query)};

	if (change.target == NULL || !cursor_walker(query->jointree->quals, NULL))
		return query;
	/* Policies for UPDATE, which a lock asks for, are not those for DELETE. */
	if (query->commandType == CMD_DELETE && rte->securityQuals != NIL)
		change.lock = LCS_NONE;
	if (target_is_unread(rte) && target_has_policies(rte))
		change.lock = CURSOR_ROW_PAST_POLICIES;
	query = copyObject(query);
	query->jointree->quals = conditions_mutator(query->jointree->quals, &change);
	return query;
}
