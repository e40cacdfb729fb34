/*
 * key_change.c: UPDATE that may give rows another value of the distribution column.
 *
 * Such a row moves, as PostgreSQL moves one to another partition: it is deleted where it
 * is and inserted where its new value belongs. The statement is made of steps (steps.h):
 *
 *     rows: SELECT new values, identity of t's row, RETURNING,
 *                  pando.same_shard(t, old key, new key) AS stays
 *           FROM (SELECT ... FROM t, f WHERE condition FOR UPDATE OF t)
 *     UPDATE t SET ... FROM rows WHERE stays AND <identity of t's row>
 *     DELETE FROM t USING rows WHERE NOT stays AND <identity of t's row>
 *         RETURNING pando.row_moved(...)
 *     INSERT INTO t SELECT new values FROM rows WHERE NOT stays
 *
 * All is computed before anything changes, RETURNING as well: the main query reads it
 * from the kept rows.
 *
 * The client needs no right but to what the statement names. So the steps use the table
 * with its owner's rights (RelationRights.checkAsUser), once the client's have been
 * checked. Policies, which the owner doesn't know, are conditions of the rows and a
 * column of theirs (policy_check.c).
 *
 * An UPDATE that reads nothing of its table asks no policies of SELECT, but whoever names
 * a row on a shard is asked them. Where rows have to be found first its steps are the
 * same, and no row moves.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "commands/trigger.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_func.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pando/metadata/firing.h"
#include "pando/plan/row_place.h"
#include "pando/planner/write/write_rules.h"
#include "pando/planner/query/carried.h"
#include "pando/planner/query/equality.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/write/computed_change.h"
#include "pando/planner/write/key_change.h"
#include "pando/planner/write/policy_check.h"
#include "pando/planner/write/row_identity.h"
#include "pando/planner/write/steps.h"
#include "pando/planner/write/target_policy.h"

typedef struct KeyChange
{
	Query *query; /* without columns of joins */
	const DistTable *target;
	Relation relation;
	bool moves;	 /* may rows move? */
	List *exprs; /* of the rows: over the statement's own level */
	int *values; /* for each column of the table: which of them is its new value; 0: none
				  */
	List *identity; /* int list: which of them are the row's identity */
	int line;		/* one with row_line(), where rows have no name */
	int old_key;
	Query *found;  /* the rows with these columns */
	int stays;	   /* a column of `rows` */
	Node *checked; /* what policies ask of the new row, or NULL */
	int returned;  /* columns of `rows` up to those of RETURNING */
	Step *rows;
	List *steps;
} KeyChange;

bool
key_may_change(Query *query, const DistTable *target)
{
	Distribution distribution;

	if (query->commandType != CMD_UPDATE || target->key == InvalidAttrNumber ||
		rows_are_known_to_stay(target->relid) || keeps_key(query, target, NIL))
		return false;
	if (keeps_key(query, target, keys_of_rows(query)))
		return false;
	distribution = distribution_of_query(query);
	return !can_stand_on_shards(query, target, &distribution);
}

bool
update_is_past_policies(Query *query, const DistTable *target)
{
	Distribution distribution;

	if (!update_is_blind(query))
		return false;
	if (target_is_read_unasked(query))
		return true;
	distribution = distribution_of_query(query);
	return !can_stand_on_shards(query, target, &distribution);
}

static void
refuse(const KeyChange *change, const char *why)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 change->moves ? errmsg("this change of the distribution column of table "
									"\"%s\" is not supported yet",
									RelationGetRelationName(change->relation))
						   : errmsg("this change of table \"%s\", whose row-level "
									"security is checked here, is not supported yet",
									RelationGetRelationName(change->relation)),
			 errdetail("%s.", why)));
}

/* ------------------------------------------------------------------------------------
 * The rows.
 */

static int
add_expr(KeyChange *change, Node *expr)
{
	change->exprs = lappend(change->exprs, expr);
	return list_length(change->exprs);
}

static Node *
assigned_value(const KeyChange *change, AttrNumber number)
{
	foreach_ptr (TargetEntry, entry, change->query->targetList)
	{
		if (!entry->resjunk && entry->resno == number)
			return (Node *) entry->expr;
	}
	return NULL;
}

static void
choose_columns(KeyChange *change)
{
	Index varno = change->query->resultRelation;
	Oid relid = change->target->relid;
	TupleDesc desc = RelationGetDescr(change->relation);

	change->values = palloc0(sizeof(int) * (desc->natts + 1));
	for (AttrNumber number = 1; number <= desc->natts; number++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, number - 1);
		Node *value = assigned_value(change, number);

		if (attr->attisdropped || attr->attgenerated)
			continue;
		if (value == NULL)
			value = (Node *) var_of_attribute(varno, relid, number);
		change->values[number] = add_expr(change, value);
	}
	if (change->moves)
		change->old_key = add_expr(
			change, (Node *) var_of_attribute(varno, relid, change->target->key));
	if (rows_have_no_name(change->target))
		change->line = add_expr(change, row_line(varno, relid));
	foreach_ptr (Node, expr, row_identity(change->target, varno))
		change->identity = lappend_int(change->identity, add_expr(change, expr));
}

/* pando.same_shard(table, old key, new key), over the rows. */
static Node *
stays_call(const KeyChange *change)
{
	Oid types[] = {REGCLASSOID, ANYOID, ANYOID};
	Oid function = LookupFuncName(
		list_make2(makeString("pando"), makeString("same_shard")), 3, types, false);
	Node *table =
		(Node *) makeConst(REGCLASSOID, -1, InvalidOid, sizeof(Oid),
						   ObjectIdGetDatum(change->target->relid), false, true);

	return (Node *) makeFuncExpr(
		function, BOOLOID,
		list_make3(table, query_column(1, change->found, change->old_key),
				   query_column(1, change->found, change->values[change->target->key])),
		InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

/* ------------------------------------------------------------------------------------
 * RETURNING.
 */

typedef struct NewRow
{
	KeyChange *change;
	Index varno; /* of the table, in the expression */
	Index depth; /* while a sublink's query is looked at */
} NewRow;

static Node *new_row_mutator(Node *node, NewRow *row);

/* The column of a row as it will be. */
static Node *
new_value(NewRow *row, const Var *var)
{
	KeyChange *change = row->change;
	NewRow generated = {.change = change, .varno = 1};
	Node *value;

	if (var->varattno <= 0)
		refuse(change, "RETURNING has a system column");
	if (change->values[var->varattno] == 0)
		value = new_row_mutator(build_column_default(change->relation, var->varattno),
								&generated);
	else
		value = (Node *) query_column(1, change->found, change->values[var->varattno]);
	IncrementVarSublevelsUp(value, row->depth, 0);
	return value;
}

static Node *
new_row_mutator(Node *node, NewRow *row)
{
	Var *var = (Var *) node;
	Node *result;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		row->depth++;
		result = (Node *) query_tree_mutator((Query *) node, new_row_mutator, row, 0);
		row->depth--;
		return result;
	}
	if (!IsA(node, Var) || var->varlevelsup != row->depth)
		return expression_tree_mutator(node, new_row_mutator, row);
	if (var->varno == row->varno)
		return new_value(row, var);
	var = copyObject(var);
	var->varno = var->varnosyn = 1;
	return (Node *) var;
}

/* RETURNING over the table as it will be and, as OUTER_VAR, what is carried along. */
static List *
carry_returning(KeyChange *change)
{
	Query *query = change->query;
	Carried returned = {
		.varno = OUTER_VAR, .kept = query->resultRelation, .exprs = change->exprs};
	List *returning =
		(List *) expression_with_shell_oids((Node *) query->returningList, query);

	returning = (List *) carried_columns((Node *) returning, &returned);
	change->exprs = returned.exprs;
	return returning;
}

static void
add_returning(KeyChange *change, Query *rows, List *returning)
{
	NewRow row = {.change = change, .varno = change->query->resultRelation};

	if (change->checked != NULL)
		steps_add_column(rows, new_row_mutator(change->checked, &row), "checked");
	change->returned = list_length(rows->targetList);
	foreach_ptr (TargetEntry, entry, returning)
		steps_add_column(rows, new_row_mutator((Node *) entry->expr, &row), "returned");
	rows->hasSubLinks = checkExprHasSubLink((Node *) rows->targetList);
}

/* ------------------------------------------------------------------------------------
 * Steps.
 */

static Step *
add_step(KeyChange *change, const char *what, Query *query)
{
	Step *step = palloc0(sizeof(Step));

	/* A table's rows are changed by one part of a statement. */
	step->name = psprintf("%s %s", what,
						  quote_qualified_identifier(
							  get_namespace_name(RelationGetNamespace(change->relation)),
							  RelationGetRelationName(change->relation)));
	step->query = query;
	/* A row that moves is none that is deleted, or inserted; and UPDATE's have fired. */
	step->fires_nothing = true;
	change->steps = lappend(change->steps, step);
	return step;
}

static void
read_rows(KeyChange *change)
{
	Query *query = change->query;
	List *returning;
	Query *rows;
	const char *why;

	choose_columns(change);
	entry_use_past_policies(rt_fetch(query->resultRelation, query->rtable),
							ACL_SELECT | ACL_UPDATE);
	returning = carry_returning(change);
	change->found =
		rows_of_change(query, change->target, LCS_FORUPDATE, change->exprs, &why);
	if (change->found == NULL)
		refuse(change, why);
	if (!rows_come_once(query))
		change->found = rows_taken_once(change->found, change->identity);
	rows = query_over_query(change->found, "found");
	if (change->moves)
		change->stays = steps_add_column(rows, stays_call(change), "stays");
	add_returning(change, rows, returning);
	change->rows = add_step(change, "rows of", rows);
	change->rows->finds = change->target->relid;
}

/* The rows that stay, or the others. */
static Query *
kept_rows(KeyChange *change, bool stay)
{
	Query *rows = query_of_columns(step_rte(change->rows));
	Node *stays;

	if (!change->moves)
		return rows;
	stays = (Node *) query_column(1, rows, change->stays);
	rows->jointree->quals =
		stay ? stays : (Node *) makeBoolExpr(NOT_EXPR, list_make1(stays), -1);
	return rows;
}

static RangeTblEntry *
table_for(const KeyChange *change, AclMode rights)
{
	RangeTblEntry *rte =
		copyObject(rt_fetch(change->query->resultRelation, change->query->rtable));

	entry_clear(rte, ENTRY_ROWS);
	entry_use_past_policies(rte, rights);
	return rte;
}

/* Assignments of those columns of the table from the rows, which are at that number. */
static List *
values_from(const KeyChange *change, Index varno, Query *rows, bool all)
{
	List *tlist = NIL;

	for (AttrNumber number = 1; number <= RelationGetNumberOfAttributes(change->relation);
		 number++)
	{
		const char *name;

		if (change->values[number] == 0 ||
			(!all && assigned_value(change, number) == NULL))
			continue;
		name = get_attname(change->target->relid, number, false);
		tlist = lappend(tlist, makeTargetEntry((Expr *) query_column(
												   varno, rows, change->values[number]),
											   number, pstrdup(name), false));
	}
	return tlist;
}

/* The rows, which are sent to the shards, get no columns that the change doesn't need.
 * The last ones are kept where they are, if that many are needed there. */
static void
keep_used_columns(Query *change, int last)
{
	Query *rows = rt_fetch(2, change->rtable)->subquery;
	Carried used = {.varno = 2, .kept = 1};
	int count = list_length(rows->targetList);
	List *columns = NIL;

	change->targetList = (List *) carried_columns((Node *) change->targetList, &used);
	change->jointree->quals = carried_columns(change->jointree->quals, &used);
	for (int i = last; i > 0; i--)
		used.exprs = lappend(used.exprs, query_column(2, rows, count - i + 1));
	foreach_ptr (Var, var, used.exprs)
	{
		TargetEntry *entry = copyObject(list_nth(rows->targetList, var->varattno - 1));

		entry->resno = list_length(columns) + 1;
		columns = lappend(columns, entry);
	}
	rows->targetList = columns;
	lsecond(change->rtable) = rte_of_query("rows", rows);
}

/* The table's row, at 1, is the one that the rows, at 2, name. */
static List *
row_is_same(const KeyChange *change, Query *rows)
{
	List *values = NIL;

	foreach_int(column, change->identity) values =
		lappend(values, query_column(2, rows, column));
	return row_is(change->target, 1, values);
}

/* UPDATE or DELETE of the rows. */
static Query *
change_where_they_are(KeyChange *change, CmdType command, Query *rows)
{
	Query *result = query_new();
	List *quals = copyObject(repeatable_quals(change->query));

	ChangeVarNodes((Node *) quals, change->query->resultRelation, 1, 0);
	if (change->line != 0)
		rows = rows_numbered_by_line(rows, change->line);
	else
		quals = list_concat(row_is_same(change, rows), quals);
	result->commandType = command;
	result->resultRelation = 1;
	result->rtable = list_make2(
		table_for(change, ACL_SELECT | (command == CMD_UPDATE ? ACL_UPDATE : ACL_DELETE)),
		rte_of_query("rows", rows));
	if (command == CMD_UPDATE)
		result->targetList = values_from(change, 2, rows, false);
	else
		result->returningList = columns_of(list_make1(row_moved_call(1)));
	result->jointree = makeFromExpr(
		list_concat(from_one(1)->fromlist, from_one(2)->fromlist), quals_as_node(quals));
	keep_used_columns(result, change->line != 0 ? 2 : 0);
	return result;
}

static Query *
insert_elsewhere(KeyChange *change, Query *rows)
{
	Query *result = query_new();

	result->commandType = CMD_INSERT;
	result->resultRelation = 1;
	result->rtable =
		list_make2(table_for(change, ACL_INSERT), rte_of_query("rows", rows));
	result->targetList = values_from(change, 2, rows, true);
	result->jointree = from_one(2);
	return result;
}

static Query *
returned_rows(KeyChange *change)
{
	Query *result = query_new();
	Query *rows;
	int column = change->returned;

	if (change->query->returningList == NIL)
	{
		result->targetList = columns_of(NIL);
		return result;
	}
	rows = query_of_columns(step_rte(change->rows));
	result->rtable = rows->rtable;
	result->jointree = rows->jointree;
	foreach_ptr (TargetEntry, entry, change->query->returningList)
		steps_add_column(result, (Node *) query_column(1, rows, ++column),
						 entry->resname);
	return result;
}

/* Those of keys to a partitioned table are done on shards, which know of no UPDATE. */
static void
refuse_actions(const KeyChange *change, const Trigger *trigger)
{
	if (trigger_is_action(trigger) && TRIGGER_FOR_UPDATE(trigger->tgtype) &&
		(change->target->acts_here & (1 << CMD_UPDATE)) == 0)
		refuse(change, psprintf("The foreign key \"%s\" of table \"%s\" has an action",
								get_constraint_name(trigger->tgconstraint),
								get_rel_name(trigger->tgconstrrelid)));
}

static void
check(const KeyChange *change)
{
	/* A copy: what is looked up may have the relation read anew. */
	const TriggerDesc *triggers = CopyTriggerDesc(change->relation->trigdesc);

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		refuse_actions(change, &triggers->triggers[i]);
		if (!triggers->triggers[i].tgisinternal &&
			trigger_is_of_shards(triggers->triggers[i].tgoid))
			refuse(change, psprintf("The shards of table \"%s\" have the trigger \"%s\"",
									RelationGetRelationName(change->relation),
									triggers->triggers[i].tgname));
	}
}

PlannedStmt *
plan_key_change(Query *given, Query *query, const DistTable *target, bool moves,
				int cursor_options, ParamListInfo params)
{
	KeyChange change = {.query = query_without_join_columns(copyObject(query)),
						.target = target,
						.moves = moves,
						.relation = table_open(target->relid, NoLock)};
	const TargetEntry *assigned = linitial(query->targetList);
	PlannedStmt *stmt;
	Step *step;

	if (change.moves)
		check(&change);
	change.checked = policy_check(
		given->withCheckOptions, WCO_RLS_UPDATE_CHECK,
		(Node *) var_of_attribute(query->resultRelation, target->relid, assigned->resno));
	level_take_policies(change.query,
						rt_fetch(given->resultRelation, given->rtable)->securityQuals);
	read_rows(&change);
	step = add_step(&change, "update",
					change_where_they_are(&change, CMD_UPDATE, kept_rows(&change, true)));
	step->counts = true;
	step->keeps_shard = true;
	step->by_line = change.line != 0;
	if (change.moves)
	{
		add_step(&change, "delete",
				 change_where_they_are(&change, CMD_DELETE, kept_rows(&change, false)))
			->by_line = change.line != 0;
		add_step(&change, "insert", insert_elsewhere(&change, kept_rows(&change, false)))
			->counts = true;
	}
	stmt =
		plan_steps(change.steps, returned_rows(&change), query, cursor_options, params);
	table_close(change.relation, NoLock);
	return stmt;
}
