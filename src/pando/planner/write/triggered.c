/*
 * triggered.c: changes of tables whose triggers fire in the client's backend.
 *
 * PostgreSQL itself fires them, all kinds and in its order: the plan has its ModifyTable
 * on top of the rows to insert, or of those to change, which were found, locked and read
 * first. The executor's part (executor/triggers.c) has it take the shell for a foreign
 * table, so that it hands over each row that the triggers leave:
 *
 *     Citus Triggers
 *       -> Insert on t / Update on t / Delete on t
 *            -> Citus Read First
 *                 -> new values; of UPDATE and DELETE also the old row and its identity
 *
 * What is done with such a row is one more plan, of a statement like
 *
 *     INSERT INTO t VALUES ($1, ...)
 *     UPDATE t SET v = $2, ... WHERE <the row's identity> AND key = <its old value>
 *
 * which is planned like any statement of a client's, but fires nothing here. So each row
 * is changed before the triggers of the next one are fired, as PostgreSQL does it.
 *
 * Of a partitioned table ModifyTable changes the partitions, with their triggers; the
 * table itself has those of the statement. Which of them an old row is in is found out
 * when it is read (the column "leaf"); its change is one of the table.
 *
 * A row's identity is its ctid, or its primary key where it has several copies, as in
 * computed_change.c. Without one it is what it has in all columns: of rows that have the
 * same each copy changes one, whichever. RETURNING is computed here, from the row that
 * was handed over.
 */
#include "pando/compat/compat.h"

#include "access/attmap.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pando/compat/rights.h"
#include "pando/base/expr.h"
#include "pando/plan/fragment.h"
#include "pando/plan/row_place.h"
#include "pando/planner/fragment/plan_relations.h"
#include "pando/planner/fragment/fragment_plan.h"
#include "pando/planner/write/system_columns.h"
#include "pando/planner/write/write_rules.h"
#include "pando/planner/write/insert_select.h"
#include "pando/planner/fragment/planning.h"
#include "pando/planner/query/carried.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/where/relations.h"
#include "pando/planner/write/computed_change.h"
#include "pando/planner/write/modify.h"
#include "pando/planner/write/row_identity.h"
#include "pando/planner/write/target_policy.h"
#include "pando/planner/write/triggered.h"
#include "pando/planner/write/triggered_conflict.h"
#include "pando/planner/write/triggered_row.h"

/* What is planned fires nothing: its triggers have been fired, or are not to be. */
static bool fires_nothing = false;

static bool
assigns_acting_column(const DistTable *target, const List *tlist)
{
	foreach_ptr (TargetEntry, entry, tlist)
	{
		if (!entry->resjunk && bms_is_member(entry->resno, target->acting_columns))
			return true;
	}
	return bms_is_member(0, target->acting_columns);
}

/* Are actions of foreign keys done here for what a part of the statement changes? */
static bool
change_acts_here(CmdType command, const List *tlist, const DistTable *target)
{
	return (target->acts_here & (1 << command)) != 0 &&
		   (command != CMD_UPDATE || assigns_acting_column(target, tlist));
}

bool
change_fires_here(const Query *query, const DistTable *target)
{
	int changes = 1 << query->commandType;

	if (target == NULL || fires_nothing)
		return false;
	if (conflict_updates(query) && !keeps_key(query, target, NIL))
		return true;
	if (conflict_is_computed_here(query, target) ||
		change_acts_here(query->commandType, query->targetList, target))
		return true;
	if (query->onConflict != NULL && query->onConflict->action == ONCONFLICT_UPDATE)
	{
		changes |= 1 << CMD_UPDATE;
		if (change_acts_here(CMD_UPDATE, query->onConflict->onConflictSet, target))
			return true;
	}
	foreach_ptr (MergeAction, action, query->mergeActionList)
	{
		changes |= 1 << action->commandType;
		if (change_acts_here(action->commandType, action->targetList, target))
			return true;
	}
	return (target->fires_here & changes) != 0;
}

bool
statement_fires_here(const Query *query)
{
	if (query->commandType != CMD_SELECT &&
		change_fires_here(
			query, dist_table(rt_fetch(query->resultRelation, query->rtable)->relid)))
		return true;
	if (!query->hasModifyingCTE)
		return false;
	foreach_ptr (CommonTableExpr, cte, query->cteList)
	{
		if (statement_fires_here((Query *) cte->ctequery))
			return true;
	}
	return false;
}

static void
refuse(const DistTable *target, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s is not supported yet for table \"%s\", whose triggers fire "
					"for each row",
					what, get_rel_name(target->relid))));
}

/* ------------------------------------------------------------------------------------
 * The rows, as ModifyTable wants them.
 */

/* All columns of the table, in their order. */
static Query *
rows_to_insert(Query *insert, TupleDesc desc)
{
	ListCell *cell;
	List *tlist = NIL;

	insert = copyObject(insert);
	cell = list_head(insert->targetList);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);
		TargetEntry *entry = cell != NULL ? lfirst(cell) : NULL;

		if (entry != NULL && !entry->resjunk && entry->resno == i + 1)
			cell = lnext(insert->targetList, cell);
		else
			entry = makeTargetEntry((Expr *) null_of_column(attr), i + 1, NULL, false);
		entry->resname = psprintf("column%d", i + 1);
		tlist = lappend(tlist, entry);
	}
	for (; cell != NULL; cell = lnext(insert->targetList, cell))
		tlist = lappend(tlist, lfirst(cell));
	insert->targetList = tlist;
	return select_of_insert(insert);
}

typedef struct Triggered
{
	TriggeredRow row;
	TriggeredChange change;
	Query *rows;
	List *columns; /* of an UPDATE: int list, those that the first ones of rows are for */
	int nvalues;   /* columns of rows that aren't junk */
	List *returning;
	/* Of ON CONFLICT DO UPDATE. */
	List *computed; /* conflict_computed() */
} Triggered;

/* ------------------------------------------------------------------------------------
 * The rows that are there.
 */

static AttrNumber
add_output(List **outputs, Node *expr)
{
	*outputs = lappend(*outputs, expr);
	return list_length(*outputs);
}

static void
find_rows_to_change(Triggered *triggered, Query *given)
{
	Query *query = triggered->row.query;
	Index varno = query->resultRelation;
	Carried returned = {.varno = OUTER_VAR, .kept = varno};
	List *outputs = NIL;
	List *identity = NIL;
	Query *finder;
	const char *why;

	outputs = list_copy(triggered->computed);
	if (query->commandType == CMD_UPDATE)
		foreach_ptr (TargetEntry, entry, query->targetList)
		{
			if (entry->resjunk)
				continue;
			(void) add_output(&outputs, (Node *) entry->expr);
			triggered->columns = lappend_int(triggered->columns, entry->resno);
		}
	triggered->nvalues = list_length(outputs);
	(void) add_output(&outputs, whole_row(varno, triggered->row.relation));
	if (rows_have_no_name(triggered->row.target))
		identity = list_make1_int(add_output(&outputs, row_place_call(varno)));
	else if (table_has_copies(triggered->row.target))
		foreach_int(number, primary_key(triggered->row.target->relid)) identity =
			lappend_int(
				identity,
				add_output(&outputs, (Node *) var_of_attribute(
										 varno, triggered->row.target->relid, number)));
	else
	{
		triggered->change.ctid = add_output(&outputs, row_ctid_call(varno, 0));
		identity = list_make1_int(triggered->change.ctid);
	}
	if (rt_fetch(varno, query->rtable)->relkind == RELKIND_PARTITIONED_TABLE)
	{
		triggered->change.place = add_output(&outputs, row_place_call(varno));
		triggered->row.placed = true;
		identity = lappend_int(identity, triggered->change.place);
		triggered->change.leaf =
			add_output(&outputs, (Node *) makeNullConst(OIDOID, -1, InvalidOid));
	}
	returned.exprs = outputs;
	triggered->returning =
		(List *) carried_columns((Node *) query->returningList, &returned);
	query->returningList = NIL;
	finder = finder_of_rows(
		&triggered->row, rt_fetch(given->resultRelation, given->rtable)->securityQuals);
	triggered->rows = rows_of_change(finder, triggered->row.target, lock_of_change(query),
									 returned.exprs, &why);
	if (triggered->rows == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("this change of table \"%s\", whose triggers fire for each "
						"row, is not supported yet",
						get_rel_name(triggered->row.target->relid)),
				 errdetail("%s.", why)));
	if (!rows_come_once(query))
		triggered->rows = rows_taken_once(triggered->rows, identity);
}

PlannedStmt *
plan_firing_nothing(Query *query, int cursor_options, ParamListInfo params)
{
	bool before = fires_nothing;
	PlannedStmt *stmt;

	fires_nothing = true;
	PG_TRY();
	{
		stmt = plan_any_query(query, cursor_options, params);
	}
	PG_FINALLY();
	{
		fires_nothing = before;
	}
	PG_END_TRY();
	return stmt;
}

/* Of rows that have no name all that are the same would move. */
static PlannedStmt *
plan_row_move(Query *change)
{
	const DistTable *target =
		dist_table(rt_fetch(change->resultRelation, change->rtable)->relid);

	if (rows_have_no_name(target))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("this change of the distribution column of table \"%s\" is not "
						"supported yet",
						get_rel_name(target->relid)),
				 errdetail("The table has several copies and no primary key, and its "
						   "triggers fire for each row.")));
	return plan_firing_nothing(change, 0, NULL);
}

/* Of change_of_row() of a row that stays where it is, or comes. */
static PlannedStmt *
plan_change_of_row(const TriggeredRow *row, Query *change)
{
	const DistTable *target = row->target;

	if (change->commandType == CMD_INSERT || !rows_have_no_name(target))
		return plan_firing_nothing(change, 0, NULL);
	change = query_without_target_policies(change);
	return fragment_planned_stmt(
		change, change_of_first_row_fragment(change, target, row_is_like_old(row)));
}

/* What is done where a row that is in the way is updated instead. */
static void
plan_conflict(Triggered *triggered)
{
	Query *update = conflict_update(triggered->row.query, triggered->row.relation);
	Triggered change = {.row = {.query = update,
								.target = triggered->row.target,
								.relation = triggered->row.relation,
								.checks = triggered->row.checks,
								.secured = triggered->row.secured}};

	triggered->change.conflict_columns =
		conflict_columns(triggered->row.query, triggered->row.relation);
	change.computed = conflict_computed(triggered->row.query, triggered->row.relation,
										&triggered->change.found_reads);
	find_rows_to_change(&change, copyObject(update));
	triggered->computed = change.computed;
	triggered->change.find = plan_any_query(change.rows, 0, NULL);
	triggered->change.found_ctid = change.change.ctid;
	triggered->change.found_place = change.change.place;
	triggered->change.update =
		plan_change_of_row(&change.row, change_of_row(&change.row, CMD_UPDATE, false));
	triggered->change.move = change_of_row(&change.row, CMD_UPDATE, true);
}

/* ------------------------------------------------------------------------------------
 * The plan.
 */

/* ModifyTable finds the old row and the partition among its input's columns by their
 * names. */
static void
name_columns(const Triggered *triggered, Plan *plan)
{
	int number = 0;

	if (triggered->row.query->commandType == CMD_INSERT)
		return;
	foreach_ptr (TargetEntry, entry, plan->targetlist)
	{
		number++;
		entry->resjunk = number > triggered->nvalues;
		entry->resname = number == triggered->nvalues + 1	? pstrdup("wholerow")
						 : number == triggered->change.leaf ? pstrdup("tableoid")
															: NULL;
	}
}

/*
 * The node that ModifyTable reads. It hands on its input's columns; ModifyTable wants to
 * see that dropped and generated columns get NULL.
 */
static Plan *
plan_read_first(const Triggered *triggered, Plan *input, bool reads)
{
	CustomScan *scan = fragment_scan_above(input, PLAN_READ_FIRST);
	TupleDesc desc = RelationGetDescr(triggered->row.relation);

	scan->custom_private = list_make1(makeBoolean(reads));
	if (triggered->row.query->commandType != CMD_INSERT)
		return &scan->scan.plan;
	/* Without what the rows were sorted by. */
	scan->scan.plan.targetlist = list_truncate(scan->scan.plan.targetlist, desc->natts);
	foreach_ptr (TargetEntry, entry, scan->scan.plan.targetlist)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, entry->resno - 1);

		if (attr->attisdropped || attr->attgenerated)
			entry->expr = (Expr *) null_of_column(attr);
	}
	return &scan->scan.plan;
}

/* As PostgreSQL's planner leaves it. */
/* The rows that PostgreSQL changes are those of shells. */
static Node *
shell_tableoid_mutator(Node *node, void *context)
{
	Node *column = node != NULL ? row_tableoid_column(node) : NULL;

	if (column != NULL)
		return copyObject(column);
	return expression_tree_mutator(node, shell_tableoid_mutator, context);
}

static List *
planned_returning(List *returning)
{
	returning = (List *) shell_tableoid_mutator((Node *) returning, NULL);
	foreach_ptr (TargetEntry, entry, returning)
		entry->expr = expression_planner(entry->expr);
	return returning;
}

/* Numbers of the table's columns in a partition, where they are others. */
static AttrMap *
columns_of_leaf(Relation table, Oid relid)
{
	Relation leaf = table_open(relid, NoLock);
	AttrMap *map =
		compat_attrmap_by_name(RelationGetDescr(leaf), RelationGetDescr(table));

	table_close(leaf, NoLock);
	return map;
}

static Bitmapset *
columns_in_leaf(const Bitmapset *columns, const AttrMap *map)
{
	Bitmapset *result = NULL;
	int column = -1;

	while ((column = bms_next_member(columns, column)) >= 0)
	{
		int number = column + FirstLowInvalidHeapAttributeNumber;

		if (number > 0)
			number = map->attnums[number - 1];
		result = bms_add_member(result, number - FirstLowInvalidHeapAttributeNumber);
	}
	return result;
}

/* The partitions, with what is asked of the table; the rights are asked for it alone. */
static List *
add_leaves(const Triggered *triggered, PlannedStmt *stmt, const RangeTblEntry *table)
{
	List *positions = NIL;
	List *relids = find_all_inheritors(table->relid, RowExclusiveLock, NULL);

	foreach_oid(relid, relids)
	{
		RangeTblEntry *leaf;
		AttrMap *map;

		if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
			continue;
		map = columns_of_leaf(triggered->row.relation, relid);
		leaf = copyObject((RangeTblEntry *) table);
		leaf->relid = relid;
		leaf->relkind = get_rel_relkind(relid);
		leaf->inh = false;
		entry_rights_to_set(leaf)->requiredPerms = 0;
		entry_rights_to_set(leaf)->updatedCols =
			columns_in_leaf(entry_rights(table)->updatedCols, map);
		entry_set_generated(leaf, columns_in_leaf(entry_generated(table), map));
		leaf->alias = NULL;
		leaf->eref->aliasname = get_rel_name(relid);
		plan_add_entries(stmt, list_make1(leaf));
		positions = lappend_int(positions, list_length(stmt->rtable));
	}
	return positions;
}

/* What ModifyTable does for one of its relations. */
static void
add_relation(const Triggered *triggered, ModifyTable *modify, List *returning, Oid relid)
{
	AttrMap *map = columns_of_leaf(triggered->row.relation, relid);
	List *columns = NIL;
	bool whole_row;

	foreach_int(column, triggered->columns) columns =
		lappend_int(columns, map->attnums[column - 1]);
	modify->fdwPrivLists = lappend(modify->fdwPrivLists, NIL);
	if (triggered->row.query->commandType == CMD_UPDATE)
		modify->updateColnosLists = lappend(modify->updateColnosLists, columns);
	if (returning != NIL)
		modify->returningLists =
			lappend(modify->returningLists,
					map_variable_attnos((Node *) returning, modify->nominalRelation, 0,
										map, get_rel_type_id(relid), &whole_row));
}

/* Params that the executor sets once the row that is in the way has been found. */
static List *
params_of_computed(Triggered *triggered, PlannedStmt *stmt)
{
	List *params = NIL;

	foreach_ptr (Node, value, triggered->computed)
	{
		Param *stands =
			expr_param(PARAM_EXEC, list_length(stmt->paramExecTypes), exprType(value),
					   exprTypmod(value), exprCollation(value));

		stmt->paramExecTypes = lappend_oid(stmt->paramExecTypes, stands->paramtype);
		triggered->change.found_params =
			lappend_int(triggered->change.found_params, stands->paramid);
		params = lappend(params, stands);
	}
	return params;
}

static ModifyTable *
modify_table(Triggered *triggered, PlannedStmt *stmt, Index target, List *leaves)
{
	ModifyTable *modify = makeNode(ModifyTable);
	List *returning = planned_returning(triggered->returning);
	Plan *plan = &modify->plan;

	plan->lefttree = stmt->planTree;
	plan->startup_cost = plan->lefttree->startup_cost;
	plan->total_cost = plan->lefttree->total_cost;
	plan->plan_rows = triggered->returning ? plan->lefttree->plan_rows : 0;
	plan->extParam = bms_copy(plan->lefttree->extParam);
	plan->allParam = bms_copy(plan->lefttree->allParam);
	modify->operation = triggered->row.query->commandType;
	modify->canSetTag = true;
	modify->nominalRelation = target;
	modify->rootRelation = leaves != NIL ? target : 0;
	modify->resultRelations = leaves != NIL ? leaves : list_make1_int(target);
	modify->onConflictAction = ONCONFLICT_NONE;
	if (conflict_updates(triggered->row.query))
		conflict_set(modify, triggered->row.query, target,
					 params_of_computed(triggered, stmt));
	ChangeVarNodes((Node *) returning, triggered->row.query->resultRelation, target, 0);
	foreach_int(position, modify->resultRelations) add_relation(
		triggered, modify, returning, rt_fetch(position, stmt->rtable)->relid);
	plan->targetlist = copyObject(returning);
	stmt->paramExecTypes = lappend_oid(stmt->paramExecTypes, InvalidOid);
	modify->epqParam = list_length(stmt->paramExecTypes) - 1;
	return modify;
}

static void
check(Triggered *triggered)
{
	const Query *query = triggered->row.query;

	if (write_system_columns((Query *) query).others && query->returningList != NIL)
	{
		List *columns = NIL;

		columns = pull_vars_of_level((Node *) query->returningList, 0);
		foreach_ptr (Var, var, columns)
		{
			if (IsA(var, Var) && var->varno == query->resultRelation &&
				var->varattno < 0 && var->varattno != TableOidAttributeNumber)
				refuse(triggered->row.target, "a system column in RETURNING");
		}
	}
}

static void
find_rows(Triggered *triggered, Query *given)
{
	if (triggered->row.query->commandType != CMD_INSERT)
	{
		find_rows_to_change(triggered, given);
		return;
	}
	triggered->rows =
		rows_to_insert(triggered->row.query, RelationGetDescr(triggered->row.relation));
	triggered->returning = triggered->row.query->returningList;
}

PlannedStmt *
plan_triggered(Query *given, Query *query, const DistTable *target, int cursor_options,
			   ParamListInfo params)
{
	Triggered triggered = {
		.row = {.query = query_without_join_columns(query), .target = target}};
	RangeTblEntry *rte = copyObject(rt_fetch(query->resultRelation, query->rtable));
	List *leaves = NIL;
	PlannedStmt *stmt;
	CustomScan *scan;
	Index position;
	bool reads;

	check(&triggered);
	triggered.row.relation = table_open(target->relid, NoLock);
	triggered.row.past = update_is_past(query);
	triggered.row.policies =
		copyObject(rt_fetch(given->resultRelation, given->rtable)->securityQuals);
	triggered.row.checks = copyObject(given->withCheckOptions);
	ChangeVarNodes((Node *) triggered.row.policies, query->resultRelation, 1, 0);
	ChangeVarNodes((Node *) triggered.row.checks, query->resultRelation, 1, 0);
	find_rows(&triggered, given);
	reads = query->commandType != CMD_INSERT || query_dist_relations(triggered.rows).any;
	stmt =
		plan_any_query(triggered.rows, cursor_options & ~CURSOR_OPT_PARALLEL_OK, params);
	triggered.change.plan = plan_change_of_row(
		&triggered.row, change_of_row(&triggered.row, query->commandType, false));
	if (query->commandType == CMD_UPDATE)
	{
		if (triggered.change.leaf != 0)
			triggered.change.gone = change_of_row(&triggered.row, CMD_DELETE, false);
		triggered.change.move = change_of_row(&triggered.row, CMD_UPDATE, true);
	}
	if (conflict_updates(query))
	{
		triggered.row.query = query_with_conflict_policies(
			triggered.row.query, given, target, &triggered.row.secured);
		plan_conflict(&triggered);
	}
	name_columns(&triggered, stmt->planTree);
	stmt->planTree = plan_read_first(&triggered, stmt->planTree, reads);

	plan_add_relations(stmt, query);
	plan_add_plan(stmt, triggered.change.plan);
	stmt->dependsOnRole = true;
	if (conflict_updates(query))
	{
		plan_add_plan(stmt, triggered.change.find);
		plan_add_plan(stmt, triggered.change.update);
	}
	rte->securityQuals = NIL;
	plan_add_entries(stmt, list_make1(rte));
	position = list_length(stmt->rtable);
	if (triggered.change.leaf != 0)
		leaves = add_leaves(&triggered, stmt, rte);
	if (leaves == NIL)
		triggered.change.leaf = 0;
	stmt->planTree = &modify_table(&triggered, stmt, position, leaves)->plan;
	stmt->resultRelations = lcons_int(position, list_copy(leaves));
	table_close(triggered.row.relation, NoLock);

	scan = fragment_scan_above(stmt->planTree, PLAN_TRIGGERS);
	scan->custom_private = triggered_change_pack(&triggered.change);
	stmt->planTree = &scan->scan.plan;
	stmt->commandType = query->commandType;
	stmt->hasReturning = query->returningList != NIL;
	stmt->hasModifyingCTE = false;
	stmt->canSetTag = query->canSetTag;
	stmt->queryId = query->queryId;
	stmt->stmt_location = query->stmt_location;
	stmt->stmt_len = query->stmt_len;
	return stmt;
}

void
triggered_init(void)
{
	triggered_change_planner = plan_row_move;
}
