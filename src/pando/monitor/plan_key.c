/*
 * plan_key.c: the value of the distribution column that a statement is about.
 *
 * A fragment says by which key its shard group is chosen. A plan of shards on this node,
 * PostgreSQL's own or a task of another node, has the condition `key = value` at a scan,
 * or the value in the row that it inserts. All of its shards must be of one shard group;
 * reference tables don't count. A value that is computed in any other way than from a
 * constant or a parameter is not known.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_index.h"
#include "access/htup_details.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "pando/base/expr.h"
#include "pando/catalog/schema.h"
#include "pando/metadata/shard_relation.h"
#include "pando/metadata/table.h"
#include "pando/monitor/plan_key.h"
#include "pando/plan/fragment.h"
#include "pando/plan/plan_members.h"

typedef struct Search
{
	const QueryDesc *query;
	PlanKey *key;
	int index; /* of the shard group; -1: none yet */
	Oid shell; /* a table of it */
} Search;

static void
take_text(PlanKey *key, const char *text)
{
	int length = pg_mbcliplen(text, (int) strlen(text), PLAN_KEY_LENGTH - 1);

	memset(key->text, 0, PLAN_KEY_LENGTH);
	memcpy(key->text, text, length);
	key->known = true;
}

/* True: it is the value. */
static bool
take_value(Search *search, Expr *expr)
{
	Oid function;
	bool varlena;
	Datum value;
	bool isnull;

	while (IsA(expr, RelabelType))
		expr = ((RelabelType *) expr)->arg;
	if (!expr_value(expr, search->query->params, &value, &isnull) || isnull)
		return false;
	getTypeOutputInfo(exprType((Node *) expr), &function, &varlena);
	take_text(search->key, OidOutputFunctionCall(function, value));
	return true;
}

/* ------------------------------------------------------------------------------------
 * Fragments.
 */

static void
key_of_fragment(Search *search, const Fragment *fragment)
{
	const DistTable *anchor =
		OidIsValid(fragment->anchor) ? dist_table(fragment->anchor) : NULL;
	ListCell *column;
	ListCell *value;

	if (anchor == NULL || anchor->kind != TABLE_HASH)
		return;
	search->key->colocation = anchor->colocation;
	if (fragment->choice == SHARDS_BY_KEY && list_length(fragment->keys) == 1)
		(void) take_value(search, linitial(fragment->keys));
	if (fragment->choice != SHARDS_BY_ROW || list_length(fragment->insert_rows) != 1)
		return;
	forboth(column, fragment->insert_columns, value,
			(List *) linitial(fragment->insert_rows))
	{
		if (lfirst_int(column) == anchor->key)
			(void) take_value(search, lfirst(value));
	}
}

/* ------------------------------------------------------------------------------------
 * Plans of shards.
 */

/* The distribution column's number in the shard; InvalidAttrNumber: it is none of a table
 * that has one. */
static AttrNumber
key_of_relation(Search *search, Index relid)
{
	RangeTblEntry *rte = rt_fetch(relid, search->query->plannedstmt->rtable);
	const DistTable *table;
	int64 id;

	if (rte->rtekind != RTE_RELATION || !relation_is_shard(rte->relid, &id, NULL) ||
		shard_by_id(id, &table) == NULL || table->kind != TABLE_HASH)
		return InvalidAttrNumber;
	return get_attnum(rte->relid, get_attname(table->relid, table->key, false));
}

/* An index's column as the table's. */
static AttrNumber
column_of_index(Oid index, AttrNumber column)
{
	HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	Form_pg_index form;
	AttrNumber found = InvalidAttrNumber;

	if (!HeapTupleIsValid(tuple))
		return found;
	form = (Form_pg_index) GETSTRUCT(tuple);
	if (column > 0 && column <= form->indnatts)
		found = form->indkey.values[column - 1];
	ReleaseSysCache(tuple);
	return found;
}

/* `index`: whose columns the conditions name; InvalidOid: the relation's. */
static bool
search_conditions(Search *search, List *conditions, Index relid, AttrNumber key,
				  Oid index)
{
	foreach_ptr (OpExpr, condition, conditions)
	{
		if (!IsA(condition, OpExpr) || list_length(condition->args) != 2)
			continue;
		for (int side = 0; side < 2; side++)
		{
			Var *var = list_nth(condition->args, side);
			AttrNumber column;

			while (IsA(var, RelabelType))
				var = (Var *) ((RelabelType *) var)->arg;
			if (!IsA(var, Var) || var->varno != (OidIsValid(index) ? INDEX_VAR : relid))
				continue;
			column =
				OidIsValid(index) ? column_of_index(index, var->varattno) : var->varattno;
			if (column == key &&
				op_hashjoinable(condition->opno, exprType((Node *) var)) &&
				take_value(search, list_nth(condition->args, 1 - side)))
				return true;
		}
	}
	return false;
}

static bool
search_scan(Search *search, const Scan *scan)
{
	AttrNumber key;

	if (scan->scanrelid == 0)
		return false;
	key = key_of_relation(search, scan->scanrelid);
	if (key == InvalidAttrNumber)
		return false;
	if (IsA(scan, IndexScan) &&
		search_conditions(search, ((const IndexScan *) scan)->indexqualorig,
						  scan->scanrelid, key, InvalidOid))
		return true;
	if (IsA(scan, BitmapHeapScan) &&
		search_conditions(search, ((const BitmapHeapScan *) scan)->bitmapqualorig,
						  scan->scanrelid, key, InvalidOid))
		return true;
	if (IsA(scan, IndexOnlyScan) &&
		search_conditions(search, ((const IndexOnlyScan *) scan)->indexqual,
						  scan->scanrelid, key, ((const IndexOnlyScan *) scan)->indexid))
		return true;
	return search_conditions(search, scan->plan.qual, scan->scanrelid, key, InvalidOid);
}

/* The only row of an INSERT. */
static bool
search_row(Search *search, const ModifyTable *change)
{
	const Plan *row = outerPlan(change);
	AttrNumber key;

	if (change->operation != CMD_INSERT || row == NULL || !IsA(row, Result) ||
		outerPlan(row) != NULL)
		return false;
	key = key_of_relation(search, linitial_int(change->resultRelations));
	return key != InvalidAttrNumber && key <= list_length(row->targetlist) &&
		   take_value(search, list_nth_node(TargetEntry, row->targetlist, key - 1)->expr);
}

static bool search_plan(Search *search, const Plan *plan);

static bool
search_plans(Search *search, const List *plans)
{
	foreach_ptr (const Plan, plan, plans)
	{
		if (search_plan(search, plan))
			return true;
	}
	return false;
}

static bool
search_plan(Search *search, const Plan *plan)
{
	if (plan == NULL)
		return false;
	check_stack_depth();
	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_SampleScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
		case T_TidScan:
		case T_TidRangeScan:
			return search_scan(search, (const Scan *) plan);
		case T_ModifyTable:
			if (search_row(search, (const ModifyTable *) plan))
				return true;
			break;
		default:
			break;
	}
	return search_plans(search, plan_members(plan)) ||
		   search_plan(search, outerPlan(plan)) || search_plan(search, innerPlan(plan));
}

/* Notes a relation; false: there are several shard groups. */
static bool
note_relation(Search *search, Oid relid)
{
	const DistTable *table;
	const Shard *shard;
	int64 id;

	if (!relation_is_shard(relid, &id, NULL) || (shard = shard_by_id(id, &table)) == NULL)
	{
		search->key->distributed |= dist_table(relid) != NULL;
		return true;
	}
	search->key->distributed = true;
	if (table->kind == TABLE_REFERENCE)
		return true;
	if (search->index >= 0 &&
		(search->index != shard->index || search->key->colocation != table->colocation))
		return false;
	search->index = shard->index;
	search->key->colocation = table->colocation;
	search->shell = table->relid;
	return true;
}

static void
key_of_shards(Search *search)
{
	const PlannedStmt *stmt = search->query->plannedstmt;
	const DistTable *table = dist_table(search->shell);
	Oid schema = get_rel_namespace(search->shell);

	search->key->here = true;
	if (table != NULL && table->kind == TABLE_SINGLE)
	{
		if (catalog_schema_colocation(schema) != table->colocation)
			return;
		take_text(search->key, get_namespace_name(schema));
		search->key->schema = true;
		return;
	}
	if (!search_plan(search, stmt->planTree))
		(void) search_plans(search, stmt->subplans);
}

void
plan_key(const QueryDesc *query, PlanKey *key)
{
	const PlannedStmt *stmt = query->plannedstmt;
	const Plan *top = stmt->planTree;
	Search search = {.query = query, .key = key, .index = -1};

	*key = (PlanKey){false};
	memset(key->text, 0, PLAN_KEY_LENGTH);
	foreach_ptr (RangeTblEntry, rte, stmt->rtable)
	{
		if (rte->rtekind == RTE_RELATION && !note_relation(&search, rte->relid))
			return;
	}
	if (plan_is_kind(top, PLAN_FRAGMENT))
		key_of_fragment(&search, fragment_unpack(((CustomScan *) top)->custom_private));
	else if (search.index >= 0)
		key_of_shards(&search);
}
