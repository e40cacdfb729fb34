/*
 * merge.c: MERGE into distributed and reference tables.
 *
 * Where each row of the source finds its match, and puts what it inserts, in its own
 * shard group, the statement is sent whole (where/level_merge.c). Any other is made of
 * steps (steps.h):
 *
 * - one for each WITH query that conditions or actions refer to;
 * - source: the source's rows, with a number each, read once;
 * - matched: SELECT number, identity of t's row, action, values
 *       FROM (SELECT *, CASE WHEN condition THEN 1 ... END AS action
 *             FROM (SELECT ... FROM t, source WHERE condition FOR UPDATE OF t))
 *   the rows to change are found and locked, and what becomes of them is computed here;
 * - unmatched: the same of the source's rows whose number isn't among those;
 * - one that fails if a row is to be changed twice;
 * - an UPDATE, DELETE or INSERT for each such action, of the rows that have it.
 *
 * All is computed before anything changes. A row is known by its ctid, by the primary key
 * where it has several copies, or by what it has in all columns, as in computed_change.c.
 *
 * Row-level security: a row that the policies of SELECT hide matches nothing; one that
 * those of UPDATE or DELETE hide, and that is to be changed, is an error. So the rows are
 * found as the table's owner, and both are asked here (policy_check.h); what is asked of
 * new rows the shards ask.
 */
#include "pando/compat/compat.h"

#include "access/sysattr.h"
#include "catalog/pg_class.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_func.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "pando/compat/query_text.h"
#include "pando/compat/rights.h"
#include "pando/base/expr.h"
#include "pando/plan/row_place.h"
#include "pando/planner/fragment/fragment_plan.h"
#include "pando/planner/write/write_rules.h"
#include "pando/planner/write/target_policy.h"
#include "pando/planner/fragment/fragment_make.h"
#include "pando/planner/query/carried.h"
#include "pando/planner/query/cte_use.h"
#include "pando/planner/query/equality.h"
#include "pando/planner/query/exists.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/query/merge_source.h"
#include "pando/planner/query/row_number.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/write/computed_change.h"
#include "pando/planner/write/merge.h"
#include "pando/planner/write/policy_check.h"
#include "pando/planner/write/row_identity.h"
#include "pando/planner/write/steps.h"
#include "pando/planner/write/triggered.h"

typedef struct Merge
{
	Query *query; /* with a source that is one subquery */
	const DistTable *table;
	Index target;
	Index source;
	List *steps; /* Step * */
	Step *rows;	 /* the source's */
	int number;	 /* its column with the number of a row */
	Step *matched;
	Step *unmatched;
	int nidentity; /* columns of `matched` after the number, followed by the action */
	int line;	   /* its column with row_line(), where rows have no name */
	List *columns; /* for each action the int list of columns that hold its values */
	bool secured;  /* by policies */
} Merge;

static Step *
add_step(Merge *merge, const char *name, Query *query)
{
	Step *step = palloc0(sizeof(Step));

	step->name = pstrdup(name);
	step->query = query;
	merge->steps = lappend(merge->steps, step);
	return step;
}

static void
refuse(const Merge *merge, const char *why)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("this MERGE into table \"%s\" cannot be made on its shards "
						   "and is not supported yet",
						   get_rel_name(merge->table->relid)),
					errdetail("%s.", why)));
}

/* ------------------------------------------------------------------------------------
 * Small queries and expressions.
 */

static Node *
int4_const(int value)
{
	return (Node *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
							  Int32GetDatum(value), false, true);
}

static Node *
is_action(Node *action, int number)
{
	return (Node *) make_opclause(Int4EqualOperator, BOOLOID, false, (Expr *) action,
								  (Expr *) int4_const(number), InvalidOid, InvalidOid);
}

static Query *
read_step(Step *step)
{
	return query_of_columns(step_rte(step));
}

static bool
changes_rows(const MergeAction *action)
{
	return action->commandType == CMD_UPDATE || action->commandType == CMD_DELETE;
}

/* Does the action change rows that have no name? */
static bool
is_by_line(const Merge *merge, const MergeAction *action)
{
	return changes_rows(action) && rows_have_no_name(merge->table);
}

static bool
has_action(const Merge *merge, CmdType command)
{
	foreach_ptr (MergeAction, action, merge->query->mergeActionList)
	{
		if (action->commandType == command)
			return true;
	}
	return false;
}

static bool
changes_any(const Merge *merge)
{
	return has_action(merge, CMD_UPDATE) || has_action(merge, CMD_DELETE);
}

/* ------------------------------------------------------------------------------------
 * Which action a row has, and its values.
 */

/* The number of the first action whose condition holds, from 1; 0: there is none. */
static Node *
action_of_row(const List *actions, bool matched)
{
	CaseExpr *choice = makeNode(CaseExpr);
	int number = 0;

	choice->casetype = INT4OID;
	choice->location = -1;
	choice->defresult = (Expr *) int4_const(0);
	foreach_ptr (MergeAction, action, (List *) actions)
	{
		CaseWhen *when;

		number++;
		if (merge_action_is_matched(action) != matched)
			continue;
		if (action->qual == NULL)
		{
			choice->defresult = (Expr *) int4_const(number);
			break;
		}
		when = makeNode(CaseWhen);
		when->expr = (Expr *) action->qual;
		when->result = (Expr *) int4_const(number);
		when->location = -1;
		choice->args = lappend(choice->args, when);
	}
	return choice->args == NIL ? (Node *) choice->defresult : (Node *) choice;
}

/* Columns with the values of each action's assignments, where it is the row's. */
static void
add_values(Merge *merge, Query *query, List *actions, bool matched, int column_of_action)
{
	Query *inner = ((RangeTblEntry *) linitial(query->rtable))->subquery;
	int number = 0;

	foreach_ptr (MergeAction, action, actions)
	{
		List *columns = NIL;

		number++;
		if (merge_action_is_matched(action) != matched)
			continue;
		foreach_ptr (TargetEntry, entry, action->targetList)
		{
			Node *mine =
				is_action((Node *) query_column(1, inner, column_of_action), number);

			columns = lappend_int(
				columns,
				steps_add_column(query, expr_if(mine, (Node *) entry->expr), "value"));
		}
		lfirst(list_nth_cell(merge->columns, number - 1)) = columns;
	}
}

/* ------------------------------------------------------------------------------------
 * The rows that match.
 */

/* SELECT exprs FROM t, source WHERE condition FOR UPDATE OF t */
static Query *
found_rows(const Merge *merge, List *exprs)
{
	Query *found = copyObject(merge->query);
	RangeTblEntry *rte = rt_fetch(merge->target, found->rtable);
	List *policies = rte->securityQuals;

	if (merge->secured)
	{
		entry_use_past_policies(rte, ACL_SELECT | ACL_UPDATE);
		level_take_policies(found, policies);
	}
	level_become_select(found);
	found->cteList = NIL;
	found->hasRecursive = false;
	lfirst(list_nth_cell(found->rtable, merge->source - 1)) =
		rte_of_query("source", read_step(merge->rows));
	found->jointree->fromlist =
		list_concat(from_one(merge->target)->fromlist, from_one(merge->source)->fromlist);
	found->targetList = columns_of(exprs);
	found->hasSubLinks = checkExprHasSubLink((Node *) found);
	rte->inFromCl = true;
	rte->rellockmode = AccessShareLock;
	if (changes_any(merge))
	{
		RowMarkClause *mark = makeNode(RowMarkClause);

		mark->rti = merge->target;
		mark->strength =
			has_action(merge, CMD_DELETE) ? LCS_FORUPDATE : LCS_FORNOKEYUPDATE;
		mark->waitPolicy = LockWaitBlock;
		rte->rellockmode = RowShareLock;
		found->rowMarks = list_make1(mark);
		found->hasForUpdate = true;
	}
	return found;
}

/* What policies ask of a row before it is changed, by its action; NULL: nothing. */
static Node *
policies_of_action(const Merge *merge, Node *action, Node *of_update, Node *of_delete)
{
	CaseExpr *choice = makeNode(CaseExpr);
	int number = 0;

	foreach_ptr (MergeAction, one, merge->query->mergeActionList)
	{
		Node *asked = one->commandType == CMD_UPDATE   ? of_update
					  : one->commandType == CMD_DELETE ? of_delete
													   : NULL;
		CaseWhen *when;

		number++;
		if (asked == NULL)
			continue;
		when = makeNode(CaseWhen);
		when->expr = (Expr *) is_action(copyObject(action), number);
		when->result = (Expr *) copyObject(asked);
		when->location = -1;
		choice->args = lappend(choice->args, when);
	}
	choice->casetype = BOOLOID;
	choice->defresult = (Expr *) makeBoolConst(true, false);
	choice->location = -1;
	return choice->args != NIL ? (Node *) choice : NULL;
}

/* The check of that kind, over the rows. */
static Node *
carried_check(const Merge *merge, WCOKind kind, Carried *rows)
{
	return carried_columns(
		policy_check(merge->query->withCheckOptions, kind,
					 linitial(row_identity(merge->table, merge->target))),
		rows);
}

static void
find_matched(Merge *merge)
{
	Carried rows = {.varno = 1};
	List *identity = (List *) carried_columns(
		(Node *) row_identity(merge->table, merge->target), &rows);
	Node *line =
		rows_have_no_name(merge->table)
			? carried_columns(row_line(merge->target, merge->table->relid), &rows)
			: NULL;
	Node *number = carried_columns(
		(Node *) query_column(merge->source, merge->rows->query, merge->number), &rows);
	List *actions =
		(List *) carried_columns((Node *) merge->query->mergeActionList, &rows);
	Node *of_update = carried_check(merge, WCO_RLS_MERGE_UPDATE_CHECK, &rows);
	Node *of_delete = carried_check(merge, WCO_RLS_MERGE_DELETE_CHECK, &rows);
	Query *decided = query_over_query(found_rows(merge, rows.exprs), "found");
	int action = steps_add_column(decided, action_of_row(actions, true), "action");
	Query *matched;
	Node *asked;

	decided->hasSubLinks = checkExprHasSubLink((Node *) decided->targetList);
	matched = query_over_query(decided, "decided");
	matched->targetList = NIL;
	(void) steps_add_column(matched, number, "number");
	foreach_ptr (Node, expr, identity)
		(void) steps_add_column(matched, expr, "identity");
	merge->nidentity = list_length(identity);
	(void) steps_add_column(matched, (Node *) query_column(1, decided, action), "action");
	asked = policies_of_action(merge, (Node *) query_column(1, decided, action),
							   of_update, of_delete);
	if (asked != NULL)
		(void) steps_add_column(matched, asked, "asked");
	if (line != NULL)
		merge->line = steps_add_column(matched, line, "line");
	add_values(merge, matched, actions, true, action);
	matched->hasSubLinks = checkExprHasSubLink((Node *) matched->targetList);
	merge->matched = add_step(merge, "matched", matched);
	merge->matched->finds = merge->table->relid;
}

/* ------------------------------------------------------------------------------------
 * Those that don't.
 */

/* NOT EXISTS (SELECT FROM matched WHERE number = the row's) */
static Node *
has_no_match(const Merge *merge, Query *waiting)
{
	Query *match = read_step(merge->matched);
	Var *number = query_column(1, waiting, merge->number);

	number->varlevelsup = 1;
	return none_of(match, list_make1(same_value((Node *) query_column(1, match, 1),
												(Node *) number)));
}

static void
find_unmatched(Merge *merge)
{
	List *actions = copyObject(merge->query->mergeActionList);
	Query *waiting = read_step(merge->rows);
	Query *unmatched;
	int action;

	ChangeVarNodes((Node *) actions, merge->source, 1, 0);
	waiting->jointree->quals = has_no_match(merge, waiting);
	waiting->hasSubLinks = true;
	action = steps_add_column(waiting, action_of_row(actions, false), "action");
	unmatched = query_over_query(waiting, "decided");
	unmatched->targetList = NIL;
	(void) steps_add_column(unmatched, (Node *) query_column(1, waiting, action),
							"action");
	add_values(merge, unmatched, actions, false, action);
	unmatched->hasSubLinks = checkExprHasSubLink((Node *) unmatched->targetList);
	merge->unmatched = add_step(merge, "unmatched", unmatched);
}

/* ------------------------------------------------------------------------------------
 * A row is changed once.
 */

static void
refuse_second_changes(Merge *merge)
{
	Query *changes = read_step(merge->matched);
	Node *action = (Node *) query_column(1, changes, merge->nidentity + 2);
	Oid types[] = {INT8OID};
	Oid function = LookupFuncName(
		list_make2(makeString("pando"), makeString("refuse_second_change")), 1, types,
		false);
	List *is_change = NIL;
	List *identity = NIL;
	Node *number;
	int count = 0;

	foreach_ptr (MergeAction, one, merge->query->mergeActionList)
	{
		count++;
		if (changes_rows(one))
			is_change = lappend(is_change, is_action(copyObject(action), count));
	}
	changes->jointree->quals = list_length(is_change) == 1
								   ? linitial(is_change)
								   : (Node *) makeBoolExpr(OR_EXPR, is_change, -1);
	for (int i = 0; i < merge->nidentity; i++)
		identity = lappend_int(identity, i + 2);
	number = row_number_over(changes, identity);
	steps_add_column(changes,
					 (Node *) makeFuncExpr(function, BOOLOID, list_make1(number),
										   InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL),
					 "once");
	(void) add_step(merge, "changed once", changes);
}

PG_FUNCTION_INFO_V1(refuse_second_change);

/* pando.refuse_second_change(number of a change): true, or an error for any but the
 * first. */
Datum
refuse_second_change(PG_FUNCTION_ARGS)
{
	if (PG_GETARG_INT64(0) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_CARDINALITY_VIOLATION),
				 errmsg("%s command cannot affect row a second time", "MERGE"),
				 errhint("Ensure that not more than one source row matches any one "
						 "target row.")));
	PG_RETURN_BOOL(true);
}

/* ------------------------------------------------------------------------------------
 * Changes.
 */

/* The target's row is the one that the step's row names. */
static List *
same_row(const Merge *merge, Query *rows)
{
	List *values = NIL;

	for (int i = 0; i < merge->nidentity; i++)
		values = lappend(values, query_column(2, rows, i + 2));
	return row_is(merge->table, 1, values);
}

/* Those of the rows for which this holds, as the change of rows without a name reads
 * them. */
static Query *
rows_of_lines(const Merge *merge, Query *rows, List *quals)
{
	ChangeVarNodes((Node *) quals, 2, 1, 0);
	rows->jointree->quals = quals_as_node(quals);
	return rows_numbered_by_line(rows, merge->line);
}

/* Values that can't differ in anything if they are equal. */
static bool
is_plain_type(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID || type == UUIDOID ||
		   type == TEXTOID || type == VARCHAROID;
}

/* An assignment of what the distribution column has already. */
static bool
action_keeps_key(const Merge *merge, const TargetEntry *entry)
{
	const DistTable *table = merge->table;
	Equalities *equalities = equalities_create();
	Var *key;

	if (table->key == InvalidAttrNumber || entry->resno != table->key)
		return false;
	key = makeVar(merge->target, table->key, table->key_type, table->key_typmod,
				  table->key_collation, 0);
	if (equal(equality_strip((Node *) entry->expr), key))
		return true;
	equalities_add(equalities, quals_flat(merge->query->jointree->quals));
	return is_plain_type(table->key_type) &&
		   exprType((Node *) entry->expr) == table->key_type &&
		   equalities_same(equalities, (Node *) key, equality_strip((Node *) entry->expr),
						   hash_family_of_type(table->key_type));
}

static List *
assignments(const Merge *merge, const MergeAction *action, Query *rows, List *columns)
{
	List *result = NIL;
	ListCell *cell;
	ListCell *column;

	forboth(cell, action->targetList, column, columns)
	{
		TargetEntry *entry = flatCopyTargetEntry(lfirst(cell));

		if (action->commandType == CMD_UPDATE && action_keeps_key(merge, entry))
			entry->expr = (Expr *) makeVar(1, entry->resno, merge->table->key_type,
										   merge->table->key_typmod,
										   merge->table->key_collation, 0);
		else
			entry->expr = (Expr *) query_column(2, rows, lfirst_int(column));
		result = lappend(result, entry);
	}
	return result;
}

/* The target, as the statements that change the rows found know it. */
static RangeTblEntry *
target_of_changes(const Merge *merge)
{
	RangeTblEntry *rte = copyObject(rt_fetch(merge->target, merge->query->rtable));

	rte->securityQuals = NIL;
	return rte;
}

/* What policies ask of new rows; shards on other nodes ask it themselves. */
static void
take_checks(const Merge *merge, Query *change)
{
	WCOKind kind =
		change->commandType == CMD_INSERT ? WCO_RLS_INSERT_CHECK : WCO_RLS_UPDATE_CHECK;

	change->withCheckOptions =
		copyObject(policy_options(merge->query->withCheckOptions, kind));
	ChangeVarNodes((Node *) change->withCheckOptions, merge->target, 1, 0);
	change->hasSubLinks = checkExprHasSubLink((Node *) change->withCheckOptions);
}

static Query *
change_of_action(const Merge *merge, const MergeAction *action, int number)
{
	bool inserts = action->commandType == CMD_INSERT;
	bool by_line = is_by_line(merge, action);
	Query *rows = read_step(inserts ? merge->unmatched : merge->matched);
	int action_column = inserts ? 1 : merge->nidentity + 2;
	Query *change = query_new();
	List *quals =
		list_make1(is_action((Node *) query_column(2, rows, action_column), number));
	List *from = from_one(2)->fromlist;

	if (by_line)
		rows = rows_of_lines(merge, rows, quals);
	change->commandType = action->commandType;
	change->override = action->override;
	change->hasRowSecurity = merge->query->hasRowSecurity;
	change->resultRelation = 1;
	change->rtable = list_make2(target_of_changes(merge), rte_of_query("rows", rows));
	if (action->commandType != CMD_DELETE)
		take_checks(merge, change);
	change->targetList =
		assignments(merge, action, rows, list_nth(merge->columns, number - 1));
	if (!inserts)
	{
		from = list_concat(from_one(1)->fromlist, from);
		quals = by_line ? NIL : list_concat(same_row(merge, rows), quals);
	}
	change->jointree = makeFromExpr(from, quals_as_node(quals));
	return change;
}

static void
add_changes(Merge *merge)
{
	int number = 0;

	foreach_ptr (MergeAction, action, merge->query->mergeActionList)
	{
		Step *step;

		number++;
		if (action->commandType == CMD_NOTHING)
			continue;
		step = add_step(merge,
						psprintf("%s of action %d",
								 action->commandType == CMD_INSERT	 ? "insert"
								 : action->commandType == CMD_UPDATE ? "update"
																	 : "delete",
								 number),
						change_of_action(merge, action, number));
		step->counts = true;
		step->by_line = is_by_line(merge, action);
	}
}

/* ------------------------------------------------------------------------------------
 * Triggers of the statement: they fire once, in an order of their own, whatever the steps
 * are. A change of no row fires them where it stands: what is to come before the
 * statement fires at the first change of its kind, what comes after at the last.
 */

static void
add_no_change(Merge *merge, CmdType kind, const char *when)
{
	Query *change = query_new();

	if (!has_action(merge, kind))
		return;
	change->commandType = kind;
	change->resultRelation = 1;
	change->rtable = list_make1(target_of_changes(merge));
	change->jointree = from_one(1);
	change->jointree->quals = makeBoolConst(false, false);
	if (!change_fires_here(change, merge->table))
		return;
	if (kind == CMD_INSERT)
	{
		change->jointree->fromlist = NIL;
		change->targetList = NIL;
	}
	add_step(merge, psprintf("%s %d", when, kind), change);
}

static void
fire_before(Merge *merge)
{
	add_no_change(merge, CMD_INSERT, "before");
	add_no_change(merge, CMD_UPDATE, "before");
	add_no_change(merge, CMD_DELETE, "before");
}

static void
fire_after(Merge *merge)
{
	add_no_change(merge, CMD_DELETE, "after");
	add_no_change(merge, CMD_UPDATE, "after");
	add_no_change(merge, CMD_INSERT, "after");
}

/* ------------------------------------------------------------------------------------
 * The statement.
 */

static bool
refers_to_with_queries(const Merge *merge)
{
	List *parts =
		list_make2(merge->query->jointree->quals, merge->query->mergeActionList);

	return cte_each_use_in((Node *) parts, NULL, NULL, NULL) > 0;
}

/* Conditions and actions are computed in several steps: what they read in WITH is read
 * before, once. */
static void
read_with_queries(Merge *merge)
{
	Query *query = merge->query;

	while (query->cteList != NIL)
	{
		CommonTableExpr *cte = linitial(query->cteList);
		Query *rows = query_of_columns(rte_of_cte(cte, 0));

		rows->cteList = list_make1(cte);
		rows->hasRecursive = cte->cterecursive;
		query->cteList = list_delete_first(query->cteList);
		cte_each_use(query, cte->ctename, step_read_instead,
					 add_step(merge, psprintf("with %s", cte->ctename), rows));
	}
	query->hasRecursive = false;
}

static void
read_source(Merge *merge, RangeTblEntry *source)
{
	Query *query = query_over_query(source->subquery, "source");

	merge->number = steps_add_column(query, row_number_over(query, NIL), "number");
	query->cteList = merge->query->cteList;
	query->hasRecursive = merge->query->hasRecursive;
	query->hasModifyingCTE = merge->query->hasModifyingCTE;
	merge->rows = add_step(merge, "source", query);
}

/* (SELECT column FROM subselect) */
static Node *
column_of_subselect(const Merge *merge, const SubLink *several, int column)
{
	Query *subselect = copyObject((Query *) several->subselect);
	SubLink *one = makeNode(SubLink);
	Query *query;

	if (contain_volatile_functions((Node *) subselect))
		refuse(merge, "It assigns several columns from one subquery, which is volatile");
	IncrementVarSublevelsUp((Node *) subselect, 1, 1);
	query = query_over_query(subselect, "assigned");
	query->targetList = list_make1(list_nth(query->targetList, column - 1));
	((TargetEntry *) linitial(query->targetList))->resno = 1;
	one->subLinkType = EXPR_SUBLINK;
	one->subselect = (Node *) query;
	one->location = -1;
	return (Node *) one;
}

typedef struct Alone
{
	const Merge *merge;
	List *assignments; /* of the action */
} Alone;

static Node *
alone_mutator(Node *node, void *context)
{
	const Alone *alone = context;
	const Param *param = (const Param *) node;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Param) || param->paramkind != PARAM_MULTIEXPR)
		return expression_tree_mutator(node, alone_mutator, context);
	foreach_ptr (TargetEntry, entry, alone->assignments)
	{
		const SubLink *several = (const SubLink *) entry->expr;

		if (entry->resjunk && IsA(several, SubLink) &&
			several->subLinkId == param->paramid >> 16)
			return column_of_subselect(alone->merge, several, param->paramid & 0xFFFF);
	}
	elog(ERROR, "no subquery gives what is assigned");
}

/* SET (a, b) = (SELECT ...): the subquery stands for each column by itself. */
static void
assign_columns_alone(Merge *merge)
{
	foreach_ptr (MergeAction, action, merge->query->mergeActionList)
	{
		Alone alone = {merge, action->targetList};
		List *kept = NIL;

		foreach_ptr (TargetEntry, entry, action->targetList)
		{
			if (!entry->resjunk)
				kept = lappend(kept, alone_mutator((Node *) entry, &alone));
		}
		action->targetList = kept;
	}
}

/* They are to be the client's. */
static void
check_policies(const Merge *merge)
{
	if (query_without_target_policies(merge->query) == merge->query)
		refuse(merge, "Its row-level security is that of another role");
	/* A statement that names rows asks the policies of SELECT. */
	if (changes_any(merge) &&
		target_is_unread(rt_fetch(merge->target, merge->query->rtable)))
		refuse(merge, "Its row-level security has policies for other rows");
}

static void
check(const Merge *merge)
{
	Query *query = merge->query;

	if (merge->secured)
		check_policies(merge);
	if (query->returningList != NIL)
		refuse(merge, "It has a RETURNING list");
	if (merge_changes_unmatched(query))
		refuse(merge, "It changes rows that have no match in the source");
	if (changes_any(merge) && rows_have_no_name(merge->table) &&
		change_fires_here(query, merge->table))
		refuse(merge, "The table has triggers, several copies and no primary key");
	if (query->hasModifyingCTE && refers_to_with_queries(merge))
		refuse(merge, "Its conditions or actions refer to a WITH query beside a change");
}

static PlannedStmt *
plan_computed_here(Query *query, const DistTable *target, ParamListInfo params)
{
	Merge merge = {.table = target, .target = query->resultRelation};
	Query *main = query_new();
	RangeTblEntry *source;

	merge.query = query_without_join_columns(query);
	merge.secured = rt_fetch(merge.target, merge.query->rtable)->securityQuals != NIL ||
					merge.query->withCheckOptions != NIL;
	check(&merge);
	assign_columns_alone(&merge);
	source = merge_source_become_subquery(merge.query);
	merge.source = list_length(merge.query->rtable);
	for (int i = 0; i < list_length(merge.query->mergeActionList); i++)
		merge.columns = lappend(merge.columns, NIL);
	fire_before(&merge);
	if (refers_to_with_queries(&merge))
		read_with_queries(&merge);
	read_source(&merge, source);
	find_matched(&merge);
	if (has_action(&merge, CMD_INSERT))
		find_unmatched(&merge);
	if (changes_any(&merge))
		refuse_second_changes(&merge);
	add_changes(&merge);
	fire_after(&merge);
	main->targetList = columns_of(NIL);
	return plan_steps(merge.steps, main, query, 0, params);
}

PlannedStmt *
plan_merge(Query *query, const DistTable *target, ParamListInfo params)
{
	Query *bare = query_without_target_policies(query);
	Distribution distribution = distribution_of_query(bare);
	Fragment *fragment;

	if (change_fires_here(bare, target) ||
		!can_stand_on_shards(bare, target, &distribution))
		return plan_computed_here(query, target, params);
	fragment = fragment_from_query(bare, &distribution);
	fragment->anchor = target->relid;
	return fragment_planned_stmt(query, fragment);
}
