/*
 * computed_change.c: UPDATE and DELETE with what no shard can compute.
 *
 *     UPDATE t SET v = nextval('s') FROM f WHERE t.x = f.x RETURNING f.y
 *
 * is made of two steps: the rows that are to be changed are found and locked, and what
 * they become is computed here, as in any SELECT; then each is changed where it is.
 *
 *     UPDATE t SET v = source.v
 *     FROM (SELECT id, nextval('s') AS v, y
 *           FROM (SELECT <identity of t's row> AS id, f.y FROM t, f WHERE t.x = f.x
 *                 FOR NO KEY UPDATE OF t)) source
 *     WHERE <identity of t's row> = source.id RETURNING source.y
 *
 * The identity is the row's ctid: the row is locked, so that it stays where it is. Where
 * a row has several copies it is the primary key, and without one what it has in all
 * columns, with a number among the rows that have the same. What WHERE says of t alone
 * stays.
 *
 * SET (a, b) = (SELECT ...) joins the rows that were found in a query between.
 *
 * Row-level security: what a client locks has to pass the policies of SELECT and UPDATE.
 * A DELETE finds its rows as the table's owner, with its policies as conditions, and if
 * it reads no column, so that no policies of SELECT are asked, it is made as the owner,
 * too. Such an UPDATE has steps (key_change.c).
 */
#include "pando/compat/compat.h"

#include "access/genam.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_func.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "pando/compat/rights.h"
#include "pando/plan/row_place.h"
#include "pando/planner/write/system_columns.h"
#include "pando/planner/write/write_rules.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/residual/broadcast.h"
#include "pando/planner/query/carried.h"
#include "pando/planner/write/computed_change.h"
#include "pando/planner/query/cte_use.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/where/hazard.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/query/row_number.h"
#include "pando/planner/write/row_identity.h"
#include "pando/planner/write/target_policy.h"
#include "pando/planner/write/steps.h"

typedef struct Computing
{
	Query *query;	  /* without columns of joins */
	Index target;	  /* its number in the range table */
	Index source;	  /* that of the FROM item that takes the place of all others */
	Carried rows;	  /* what the source needs of the rows that are found */
	List *outputs;	  /* of the source: expressions over those */
	List *subselects; /* SubLink *, of SET (...) = (SELECT ...) */
	LockClauseStrength lock;
	bool copied;	/* several rows of FROM may match a row that has several copies */
	bool nameless;	/* rows_have_no_name() */
	List *identity; /* numbers of outputs */
	int line;		/* another: row_line() of rows without a name */
} Computing;

/* The source's column with the value of an expression of the statement's own level. */
static Var *
source_column(Computing *computing, Node *expr)
{
	Node *output = carried_columns(expr, &computing->rows);

	computing->outputs = lappend(computing->outputs, output);
	return makeVar(computing->source, list_length(computing->outputs), exprType(output),
				   exprTypmod(output), exprCollation(output), 0);
}

/* ------------------------------------------------------------------------------------
 * Which row is changed.
 */

static Var *
identity_column(Computing *computing, Node *expr)
{
	Var *column = source_column(computing, expr);

	computing->identity = lappend_int(computing->identity, column->varattno);
	return column;
}

static List *
same_row(Computing *computing, const DistTable *target)
{
	List *values = NIL;
	Node *line;

	if (computing->nameless)
	{
		line = row_line(computing->target, target->relid);
		(void) identity_column(computing,
							   linitial(row_identity(target, computing->target)));
		computing->line = source_column(computing, line)->varattno;
		return NIL; /* change_of_numbered_rows() */
	}
	foreach_ptr (Node, expr, row_identity(target, computing->target))
		values = lappend(values, identity_column(computing, expr));
	return row_is(target, computing->target, values);
}

/* ------------------------------------------------------------------------------------
 * The source.
 */

/* What reads the level's WITH queries is `by` levels further from them now. */
static void
move_below(RangeTblEntry *rte, int depth, void *by)
{
	rte->ctelevelsup += *(int *) by;
}

LockClauseStrength
lock_of_change(const Query *query)
{
	return query->commandType == CMD_UPDATE ? LCS_FORNOKEYUPDATE : LCS_FORUPDATE;
}

/* The rows to change, which are locked. */
static Query *
rows_to_change(Computing *computing)
{
	Query *rows = copyObject(computing->query);
	RangeTblEntry *rte = rt_fetch(computing->target, rows->rtable);
	RowMarkClause *mark = makeNode(RowMarkClause);
	int by = computing->subselects != NIL ? 2 : 1;

	mark->rti = computing->target;
	mark->strength = computing->lock;
	mark->waitPolicy = LockWaitBlock;
	rte->rellockmode = RowShareLock;
	level_become_select(rows);
	rows->targetList = columns_of(computing->rows.exprs);
	rows->rowMarks = list_make1(mark);
	rows->hasForUpdate = true;
	rows->hasSubLinks = checkExprHasSubLink((Node *) rows);
	rows->hasRecursive = false;
	cte_each_use(rows, NULL, move_below, &by);
	rows->cteList = NIL;
	return rows;
}

/* A subselect with the number of each row as its last column. */
static Query *
numbered(Query *subselect)
{
	int by = 1;
	Query *query;

	cte_each_use_in((Node *) subselect, NULL, move_below, &by);
	IncrementVarSublevelsUp((Node *) subselect, 1, 1);
	query = query_over_query(subselect, "given");
	(void) steps_add_column(query, row_number_over(query, NIL), "number");
	return query;
}

/* Appends a FROM item, and returns a reference to it. */
static Node *
add_item(Query *query, RangeTblEntry *rte)
{
	RangeTblRef *ref = makeNode(RangeTblRef);

	query->rtable = lappend(query->rtable, rte);
	ref->rtindex = list_length(query->rtable);
	return (Node *) ref;
}

/* ... LEFT JOIN LATERAL subselect ON pando.refuse_second_row(number) */
static void
join_subselect(Query *query, Query *subselect)
{
	RangeTblEntry *rte = rte_of_query("given", subselect);
	RangeTblEntry *join_rte = rte_new(RTE_JOIN, "unnamed_join", NIL);
	JoinExpr *join = makeNode(JoinExpr);
	Oid types[] = {INT8OID};
	Oid function =
		LookupFuncName(list_make2(makeString("pando"), makeString("refuse_second_row")),
					   1, types, false);
	TargetEntry *column;
	Var *number = NULL;

	rte->lateral = true;
	join->jointype = JOIN_LEFT;
	join->larg = linitial(query->jointree->fromlist);
	join->rarg = add_item(query, rte);
	foreach_ptr (TargetEntry, entry, subselect->targetList)
	{
		number = makeVarFromTargetEntry(list_length(query->rtable), entry);
		column = makeTargetEntry((Expr *) number, list_length(query->targetList) + 1,
								 entry->resname, false);
		query->targetList = lappend(query->targetList, column);
	}
	join->quals = (Node *) makeFuncExpr(function, BOOLOID, list_make1(number), InvalidOid,
										InvalidOid, COERCE_EXPLICIT_CALL);
	join_rte->jointype = JOIN_LEFT;
	query->rtable = lappend(query->rtable, join_rte);
	join->rtindex = list_length(query->rtable);
	query->jointree->fromlist = list_make1(join);
}

PG_FUNCTION_INFO_V1(refuse_second_row);

/* pando.refuse_second_row(number of a row): true, or an error for any but the first. */
Datum
refuse_second_row(PG_FUNCTION_ARGS)
{
	if (PG_GETARG_INT64(0) > 1)
		ereport(
			ERROR,
			(errcode(ERRCODE_CARDINALITY_VIOLATION),
			 errmsg("more than one row returned by a subquery used as an expression")));
	PG_RETURN_BOOL(true);
}

/* The rows to change with the columns of subselects after theirs. OFFSET keeps it a query
 * of its own: a subselect is evaluated once for a row. */
static Query *
rows_with_subselects(Query *rows, List *subselects)
{
	Query *query = query_over_query(rows, "found");

	foreach_ptr (Query, subselect, subselects)
		join_subselect(query, numbered(subselect));
	level_join_columns_refresh(query);
	query->limitOffset = (Node *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
											Int64GetDatum(0), false, FLOAT8PASSBYVAL);
	return query;
}

static int
column_count(const Query *query)
{
	int count = 0;

	foreach_ptr (TargetEntry, entry, query->targetList)
		count += !entry->resjunk;
	return count;
}

/* What stands for a column of a subselect becomes that column. */
static Node *
given_mutator(Node *node, Computing *computing)
{
	const Param *param = (const Param *) node;
	int column = list_length(computing->rows.exprs);

	if (node == NULL)
		return NULL;
	if (!IsA(node, Param) || param->paramkind != PARAM_MULTIEXPR)
		return expression_tree_mutator(node, given_mutator, computing);
	foreach_ptr (SubLink, sublink, computing->subselects)
	{
		if (sublink->subLinkId == param->paramid >> 16)
			break;
		column += column_count((Query *) sublink->subselect) + 1;
	}
	return (Node *) makeVar(1, column + (param->paramid & 0xFFFF), param->paramtype,
							param->paramtypmod, param->paramcollid, 0);
}

static Query *
source_query(Computing *computing)
{
	List *subselects = NIL;
	Query *rows;
	Query *source;

	foreach_ptr (SubLink, sublink, computing->subselects)
		subselects =
			lappend(subselects, carried_columns(sublink->subselect, &computing->rows));
	rows = rows_to_change(computing);
	if (subselects != NIL)
		rows = rows_with_subselects(rows, subselects);
	source = query_over_query(rows, "found");
	source->targetList =
		columns_of((List *) given_mutator((Node *) computing->outputs, computing));
	source->hasSubLinks = checkExprHasSubLink((Node *) source->targetList);
	source->cteList = copyObject(computing->query->cteList);
	source->hasRecursive = computing->query->hasRecursive;
	return source;
}

Query *
rows_numbered_by_line(Query *rows, int line)
{
	Query *numbered = query_over_query(rows, "rows");
	TargetEntry *entry = list_nth(numbered->targetList, line - 1);
	int last = steps_add_column(numbered, (Node *) copyObject(entry->expr), "line");

	(void) steps_add_column(numbered, row_number_over(numbered, list_make1_int(last)),
							"number");
	return numbered;
}

/*
 * The same for the change. A row that has several copies comes once: each might take what
 * another row of FROM gives it. One without a name has its line, and its number among the
 * rows that have the same, as the last columns.
 */
static Query *
source_of_change(Computing *computing)
{
	Query *source = source_query(computing);

	if (computing->copied)
		source = rows_taken_once(source, computing->identity);
	return computing->nameless ? rows_numbered_by_line(source, computing->line) : source;
}

/* ------------------------------------------------------------------------------------
 * The change.
 */

/* Values that are the same for all rows may stay; the distribution column does. */
static List *
assignments(Computing *computing, const DistTable *target)
{
	List *result = NIL;

	foreach_ptr (TargetEntry, entry, computing->query->targetList)
	{
		TargetEntry *copy;

		if (entry->resjunk)
			continue;
		copy = flatCopyTargetEntry(entry);
		if (target->key != InvalidAttrNumber && entry->resno == target->key)
		{
			Oid type;
			int32 typmod;
			Oid collation;

			get_atttypetypmodcoll(target->relid, target->key, &type, &typmod, &collation);
			copy->expr = (Expr *) makeVar(computing->target, target->key, type, typmod,
										  collation, 0);
		}
		else if (!IsA(entry->expr, Const))
			copy->expr = (Expr *) source_column(computing, (Node *) entry->expr);
		result = lappend(result, copy);
	}
	return result;
}

static void
find_subselects(Computing *computing)
{
	foreach_ptr (TargetEntry, entry, computing->query->targetList)
	{
		if (entry->resjunk && IsA(entry->expr, SubLink))
			computing->subselects = lappend(computing->subselects, entry->expr);
	}
}

List *
repeatable_quals(Query *query)
{
	List *quals = NIL;

	foreach_ptr (Node, qual, quals_flat(query->jointree->quals))
	{
		if (bms_equal(pull_varnos(NULL, qual),
					  bms_make_singleton(query->resultRelation)) &&
			!checkExprHasSubLink(qual) && !expression_varies(qual) &&
			expression_hazard(qual) == NULL)
			quals = lappend(quals, qual);
	}
	return quals;
}

static bool
finds_past_policies(const Query *query)
{
	return query->commandType == CMD_DELETE &&
		   rt_fetch(query->resultRelation, query->rtable)->securityQuals != NIL;
}

/* The statement that finds its target's rows by the policies, which bind nobody then. */
static Query *
query_with_policies_as_quals(Query *query)
{
	Query *copy = copyObject(query);
	RangeTblEntry *rte = rt_fetch(copy->resultRelation, copy->rtable);

	level_take_policies(copy,
						rt_fetch(query->resultRelation, query->rtable)->securityQuals);
	entry_use_past_policies(rte, ACL_SELECT | ACL_UPDATE);
	return copy;
}

/* NULL: nothing is against it. */
static const char *
why_not(Query *query, const DistTable *target)
{
	const RangeTblEntry *rte = rt_fetch(query->resultRelation, query->rtable);

	/* The client may have read them from another copy than the one that is locked. */
	if (table_has_copies(target) && write_system_columns(query).others)
		return "System columns of the table's copies are not the same";
	if (query->commandType == CMD_UPDATE && rte->securityQuals != NIL &&
		target_is_unread(rte))
		return "Row-level security of the table has policies for other rows";
	foreach_ptr (WithCheckOption, option, query->withCheckOptions)
	{
		if (option->kind == WCO_VIEW_CHECK)
			return "a check option";
	}
	if (cte_each_use_in((Node *) query->returningList, NULL, NULL, NULL) > 0)
		return "RETURNING refers to a WITH query";
	return NULL;
}

List *
keys_of_rows(Query *query)
{
	Query rows = *query;
	Distribution distribution;

	level_become_select(&rows);
	rows.targetList = columns_of(NIL);
	distribution = distribution_of_query(&rows);
	return distribution.pruned ? distribution.keys : NIL;
}

static Query *
change_of_rows(Query *query, const DistTable *target, List **identity, const char **why)
{
	Computing computing = {.query = query_without_join_columns(query),
						   .target = query->resultRelation,
						   .source = list_length(query->rtable) + 1,
						   .lock = lock_of_change(query),
						   .rows = {.varno = 1}};
	Carried returned = {.varno = computing.source, .kept = computing.target};
	Query *change;
	RangeTblEntry *source;
	RangeTblEntry *entry;
	List *quals;

	query = computing.query;
	*why = why_not(query, target);
	if (*why != NULL)
		return NULL;
	if (finds_past_policies(query))
		computing.query = query_with_policies_as_quals(query);
	computing.copied = table_has_copies(target) && !rows_come_once(query);
	computing.nameless = rows_have_no_name(target);
	find_subselects(&computing);
	change = palloc(sizeof(Query));
	*change = *query;
	level_clear(change, LEVEL_FROM | LEVEL_ROWS | LEVEL_OUTPUT | LEVEL_ORDER);
	/* Policies are the shards' to check. */
	change->withCheckOptions = NIL;
	change->returningList =
		(List *) carried_columns((Node *) query->returningList, &returned);
	change->hasSubLinks = checkExprHasSubLink((Node *) change->returningList);
	/* They come first, as the columns that RETURNING has been given. */
	foreach_ptr (Node, expr, returned.exprs)
		source_column(&computing, expr);
	quals = list_concat(same_row(&computing, target), repeatable_quals(query));
	*identity = computing.identity;
	change->targetList = assignments(&computing, target);

	source = rte_of_query("source", source_of_change(&computing));
	for (Index varno = 1; varno < computing.source; varno++)
		change->rtable =
			lappend(change->rtable, varno == computing.target
										? copyObject(rt_fetch(varno, query->rtable))
										: unused_rte());
	entry = rt_fetch(computing.target, change->rtable);
	entry->securityQuals = NIL;
	if (finds_past_policies(query) && target_is_unread(entry))
		entry_use_past_policies(entry, ACL_SELECT | ACL_DELETE);
	change->rtable = lappend(change->rtable, source);
	change->jointree = makeFromExpr(list_concat(from_one(computing.target)->fromlist,
												from_one(computing.source)->fromlist),
									quals_as_node(quals));
	return change;
}

Query *
change_of_found_rows(Query *query, const DistTable *target, List **identity,
					 const char **why)
{
	/* change_of_numbered_rows() alone could name them. */
	*why = rows_have_no_name(target) ? "The table has several copies and no primary key"
									 : NULL;
	return *why != NULL ? NULL : change_of_rows(query, target, identity, why);
}

void
change_compute_source(Query *change)
{
	RangeTblEntry *source = llast(change->rtable);

	llast(change->rtable) = broadcast_of_query(source->subquery, "source");
}

Query *
change_computed_here(Query *query, const DistTable *target, const char **why)
{
	List *identity;
	Query *change = change_of_rows(query, target, &identity, why);

	if (change != NULL)
		change_compute_source(change);
	return change;
}

/* Where the row is beside its ctid: partitions number their rows each by itself. */
static Node *
table_of_row(Index varno, const RangeTblEntry *rte)
{
	if (rte->relkind == RELKIND_PARTITIONED_TABLE)
		return row_place_call(varno);
	return (Node *) makeVar(varno, TableOidAttributeNumber, OIDOID, -1, InvalidOid, 0);
}

/*
 * SELECT ctid, table_of_row(), line, row_number() OVER (PARTITION BY line) FROM t WHERE
 * quals: which of the rows that have the same in all columns is which.
 */
static Query *
numbered_rows(const Query *change, const DistTable *target, List *quals)
{
	RangeTblEntry *rte = copyObject(rt_fetch(change->resultRelation, change->rtable));
	Query *rows;

	rte->rellockmode = AccessShareLock;
	entry_rights_to_set(rte)->requiredPerms = ACL_SELECT;
	entry_rights_to_set(rte)->updatedCols = NULL;
	rows = query_from_rte(rte);
	rows->targetList = columns_of(
		list_make3(makeVar(1, SelfItemPointerAttributeNumber, TIDOID, -1, InvalidOid, 0),
				   table_of_row(1, rte), row_line(1, target->relid)));
	(void) steps_add_column(rows, row_number_over(rows, list_make1_int(3)), "number");
	rows->jointree->quals = quals_as_node(copyObject(quals));
	return rows;
}

/* A column of the last item of a range table. */
static Node *
last_item_column(const Query *query, int number)
{
	const RangeTblEntry *rte = llast(query->rtable);

	return (Node *) makeVarFromTargetEntry(
		list_length(query->rtable), list_nth(rte->subquery->targetList, number - 1));
}

/* The change, joined with numbered_rows(): where a row is its own one. */
static Query *
change_joined_with_numbers(Query *given, const DistTable *target, List *of)
{
	Query *change = copyObject(given);
	Index varno = change->resultRelation;
	RangeTblEntry *rows = rte_of_query("numbered", numbered_rows(change, target, of));
	List *quals;

	change->jointree->fromlist =
		lappend(change->jointree->fromlist, add_item(change, rows));
	quals = list_make2(same_value(last_item_column(change, 1),
								  (Node *) makeVar(varno, SelfItemPointerAttributeNumber,
												   TIDOID, -1, InvalidOid, 0)),
					   same_value(last_item_column(change, 2),
								  table_of_row(varno, rt_fetch(varno, change->rtable))));
	change->jointree->quals =
		make_and_qual(change->jointree->quals, quals_as_node(quals));
	return change;
}

Query *
change_of_numbered_rows(Query *given, const DistTable *target)
{
	Index source = list_length(given->rtable);
	int line = list_length(((RangeTblEntry *) llast(given->rtable))->eref->colnames) - 1;
	Query *change = change_joined_with_numbers(given, target, NIL);
	List *quals = list_make2(
		same_value(last_item_column(change, 3),
				   (Node *) makeVar(source, line, TEXTOID, -1, C_COLLATION_OID, 0)),
		same_value(last_item_column(change, 4),
				   (Node *) makeVar(source, line + 1, INT8OID, -1, InvalidOid, 0)));

	change->jointree->quals =
		make_and_qual(change->jointree->quals, quals_as_node(quals));
	return change;
}

Query *
change_of_first_row(Query *given, const DistTable *target, List *quals)
{
	Query *change = change_joined_with_numbers(given, target, quals);
	Node *first = (Node *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
									 Int64GetDatum(1), false, FLOAT8PASSBYVAL);

	change->jointree->quals = make_and_qual(
		change->jointree->quals, same_value(last_item_column(change, 4), first));
	return change;
}

Query *
rows_of_change(Query *query, const DistTable *target, LockClauseStrength lock,
			   List *exprs, const char **why)
{
	Computing computing = {.query = query,
						   .target = query->resultRelation,
						   .source = list_length(query->rtable) + 1,
						   .lock = lock,
						   .rows = {.varno = 1}};

	*why = why_not(query, target);
	if (*why != NULL)
		return NULL;
	find_subselects(&computing);
	foreach_ptr (Node, expr, exprs)
		(void) source_column(&computing, expr);
	return source_query(&computing);
}

bool
rows_come_once(const Query *query)
{
	return list_length(query->jointree->fromlist) == 1 &&
		   IsA(linitial(query->jointree->fromlist), RangeTblRef);
}

Query *
rows_taken_once(Query *rows, List *identity)
{
	rows = query_over_query(rows, "rows");
	foreach_int(column, identity)
	{
		TargetEntry *entry = list_nth(rows->targetList, column - 1);
		SortGroupClause *clause = makeNode(SortGroupClause);

		clause->tleSortGroupRef = entry->ressortgroupref = column;
		get_sort_group_operators(exprType((Node *) entry->expr), true, true, false,
								 &clause->sortop, &clause->eqop, NULL, &clause->hashable);
		rows->distinctClause = lappend(rows->distinctClause, clause);
	}
	rows->hasDistinctOn = true;
	return rows;
}
