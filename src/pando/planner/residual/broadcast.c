/*
 * broadcast.c: subqueries that run first, so that what uses them can stay on the shards.
 *
 * `SELECT ... FROM orders WHERE item IN (SELECT ... GROUP BY ... LIMIT 10)` can't be
 * evaluated shard group by shard group, but with the ten items known it can. So the
 * subquery becomes a plan of its own, whose rows every node gets before the tasks run,
 * and its place in the query is taken by read_intermediate_result().
 *
 * Candidates are derived tables, sublinks and WITH queries that refer to nothing outside
 * of themselves, in the order of a fixed walk: a trial is a copy of the level and a
 * choice of candidates. All are replaced at first; if that helps, each is put back for
 * which it helps still.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/prep.h"
#include "pando/plan/fragment.h"
#include "pando/planner/residual/cut_group.h"
#include "pando/planner/where/object_names.h"
#include "pando/planner/residual/broadcast.h"
#include "pando/planner/fragment/column_stats.h"
#include "pando/planner/where/cte_once.h"
#include "pando/planner/query/cte_use.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/query/distinct.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/query/part.h"
#include "pando/planner/fragment/planning.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/where/relation_query.h"
#include "pando/planner/where/result_scope.h"
#include "parser/parse_func.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/* A subquery that was replaced, and the number of its result. */
typedef struct Replaced
{
	int number;
	Query *query;
} Replaced;

typedef struct Trial
{
	bool targets; /* sublinks of the target list and HAVING as well */
	Query *write; /* relations as well, all but this statement's target */
	bool chosen[RESULT_CANDIDATES_MAX]; /* by number of the candidate */
	int candidates;						/* seen so far by the walk */
	List *replaced;						/* Replaced * */
} Trial;

/* ------------------------------------------------------------------------------------
 * What may be replaced.
 */

static bool
reads_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, reads_walker, context,
								 QTW_IGNORE_JOINALIASES);
	return is_result_read(node) || expression_tree_walker(node, reads_walker, context);
}

/*
 * A query that is complete in itself, with columns that can be sent. A plan of its own
 * knows no other results than its own.
 */
static bool
is_candidate(const Trial *trial, Query *query)
{
	if (query->commandType != CMD_SELECT || query->hasModifyingCTE)
		return false;
	if (query_refers_outside(query) || reads_walker((Node *) query, NULL))
		return false;
	/* A SELECT has other ways. */
	if (trial->write == NULL && has_name_columns(query->targetList))
		return false;
	foreach_ptr (TargetEntry, entry, query->targetList)
	{
		if (!entry->resjunk &&
			get_typtype(exprType((Node *) entry->expr)) == TYPTYPE_PSEUDO)
			return false;
	}
	return true;
}

static bool
is_chosen(Trial *trial)
{
	int candidate = trial->candidates++;

	return candidate < RESULT_CANDIDATES_MAX && trial->chosen[candidate];
}

/* ------------------------------------------------------------------------------------
 * Replacing.
 */

static FuncExpr *
read_call(int number)
{
	const Oid format_type = TypenameGetTypid("citus_copy_format");
	const Oid types[] = {TEXTOID, format_type};
	Const *name =
		makeConst(TEXTOID, -1, get_typcollation(TEXTOID), -1,
				  CStringGetTextDatum(template_result_placeholder(number)), false, false);
	Datum binary = DirectFunctionCall2(enum_in, CStringGetDatum("binary"),
									   ObjectIdGetDatum(format_type));
	Const *format =
		makeConst(format_type, -1, InvalidOid, sizeof(Oid), binary, false, true);
	Oid function = LookupFuncName(
		list_make2(makeString("pg_catalog"), makeString("read_intermediate_result")), 2,
		types, false);
	FuncExpr *call = makeFuncExpr(function, RECORDOID, list_make2(name, format),
								  InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);

	call->funcretset = true;
	return call;
}

static int
add_replaced(Trial *trial, Query *query)
{
	Replaced *replaced = palloc(sizeof(Replaced));

	replaced->number = list_length(results_scope()) + list_length(trial->replaced) + 1;
	replaced->query = query;
	trial->replaced = lappend(trial->replaced, replaced);
	return replaced->number;
}

static void
become_read(RangeTblEntry *rte, int number, Query *query)
{
	rte_become(rte, RTE_FUNCTION);
	rte->functions = result_columns((Node *) read_call(number), query);
}

/* SELECT columns FROM read_intermediate_result(...): what stands in a sublink. */
static Query *
read_query(int number, Query *query)
{
	RangeTblEntry *rte = rte_of_output(SUBLINK_ROWS, query);
	Query *result = query_from_rte(rte);

	foreach_ptr (TargetEntry, entry, query->targetList)
	{
		Node *expr = (Node *) entry->expr;
		TargetEntry *column;

		if (entry->resjunk)
			continue;
		column =
			makeTargetEntry((Expr *) makeVar(1, entry->resno, exprType(expr),
											 exprTypmod(expr), exprCollation(expr), 0),
							entry->resno, entry->resname, false);
		result->targetList = lappend(result->targetList, column);
	}
	become_read(rte, number, query);
	rte->alias = makeAlias(SUBLINK_ROWS, NIL);
	return result;
}

/* Only whether there is a row matters. */
static void
reduce_exists(Query *query)
{
	if (!query_is_plain(query))
		return;
	query->targetList = list_make1(
		makeTargetEntry((Expr *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
										   Int32GetDatum(1), false, true),
						1, "row", false));
	level_clear(query, LEVEL_ROWS | LEVEL_ORDER);
	query->limitCount = (Node *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
										   Int64GetDatum(1), false, FLOAT8PASSBYVAL);
}

static void
replace_sublink(Trial *trial, SubLink *sublink)
{
	Query *query = (Query *) sublink->subselect;

	if (sublink->subLinkType == EXISTS_SUBLINK)
		reduce_exists(query);
	else if (sublink->subLinkType == ANY_SUBLINK || sublink->subLinkType == ALL_SUBLINK)
		query_make_distinct(query);
	sublink->subselect = (Node *) read_query(add_replaced(trial, query), query);
}

/* ------------------------------------------------------------------------------------
 * The walk over candidates.
 */

static void walk_query(Trial *trial, Query *query, bool targets);

/*
 * A change of rows: any other table may be read first. Joins above it list its columns
 * without those that were dropped, which are columns of what is read.
 */
static void
walk_relation(Trial *trial, Query *query, Index varno)
{
	Query *rows;

	if (query == trial->write && varno == query->resultRelation)
		return;
	rows = relation_as_query(query, varno);
	if (rows != NULL && is_candidate(trial, rows) && is_chosen(trial))
	{
		RangeTblEntry *rte = rt_fetch(varno, query->rtable);

		become_read(rte, add_replaced(trial, rows), rows);
		level_join_columns_refresh(query);
	}
}

static bool
sublink_walker(Node *node, void *context)
{
	Trial *trial = context;
	SubLink *sublink = (SubLink *) node;

	if (node == NULL || IsA(node, Query))
		return false;
	if (!IsA(node, SubLink))
		return expression_tree_walker(node, sublink_walker, context);
	if (sublink->subLinkType == EXISTS_SUBLINK ||
		((Query *) sublink->subselect)->targetList)
	{
		if (!is_candidate(trial, (Query *) sublink->subselect))
			walk_query(trial, (Query *) sublink->subselect, true);
		else if (is_chosen(trial))
			replace_sublink(trial, sublink);
	}
	return sublink_walker(sublink->testexpr, context);
}

static void
walk_query(Trial *trial, Query *query, bool targets)
{
	Relids used = compat_relids_in_jointree((Node *) query->jointree, false);
	Index varno = 0;

	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		varno++;
		if (trial->write != NULL && rte->rtekind == RTE_RELATION &&
			bms_is_member(varno, used))
			walk_relation(trial, query, varno);
		if (rte->rtekind != RTE_SUBQUERY)
			continue;
		/* The branches of a set operation are not in the join tree. */
		if (!bms_is_member(varno, used))
		{
			if (query->setOperations != NULL)
				walk_query(trial, rte->subquery, true);
			continue;
		}
		if (!is_candidate(trial, rte->subquery))
			walk_query(trial, rte->subquery, true);
		else if (is_chosen(trial))
			become_read(rte, add_replaced(trial, rte->subquery), rte->subquery);
	}
	if (!query->hasSubLinks)
		return;
	sublink_walker((Node *) query->jointree, trial);
	if (targets)
	{
		sublink_walker((Node *) query->targetList, trial);
		sublink_walker(query->havingQual, trial);
		sublink_walker((Node *) query->returningList, trial);
	}
}

typedef struct CteReads
{
	Query *query;
	int number;
} CteReads;

static void
become_cte_read(RangeTblEntry *rte, int depth, void *context)
{
	const CteReads *reads = context;

	become_read(rte, reads->number, reads->query);
}

/* WITH name AS (...) SELECT * FROM name, with the WITH queries that it needs itself. */
static Query *
cte_as_query(Query *query, CommonTableExpr *cte)
{
	Query *holder = query_from_rte(rte_of_cte(cte, 0));
	Query *result;

	holder->cteList = query->cteList;
	holder->hasRowSecurity = query->hasRowSecurity;
	result = part_make(holder, holder->jointree->fromlist, NIL);
	foreach_ptr (TargetEntry, entry, ((Query *) cte->ctequery)->targetList)
	{
		Node *expr = (Node *) entry->expr;

		if (!entry->resjunk)
			part_column(result,
						(Node *) makeVar(1, entry->resno, exprType(expr),
										 exprTypmod(expr), exprCollation(expr), 0),
						entry->resname);
	}
	foreach_ptr (CommonTableExpr, own, result->cteList)
	{
		if (strcmp(own->ctename, cte->ctename) == 0)
			cte_release(own);
	}
	return result;
}

/*
 * Does a WITH query, with those that it needs, or a reader of it that stays as it is,
 * compute anew what must be computed once?
 */
static bool
repeats_kept_cte(const CommonTableExpr *cte, Query *alone, Query *query, Query *seen)
{
	foreach_ptr (CommonTableExpr, needed, alone->cteList)
	{
		if (cte_is_kept(needed) && strcmp(needed->ctename, cte->ctename) != 0)
			return true;
	}
	return cte_is_kept(cte) && cte_each_use(seen, cte->ctename, NULL, NULL) <
								   cte_each_use(query, cte->ctename, NULL, NULL);
}

static void
walk_ctes(Trial *trial, Query *query)
{
	/* Other WITH queries keep theirs: each must be complete in itself. */
	Query seen = *query;

	seen.cteList = NIL;
	level_clear(&seen, trial->targets
						   ? LEVEL_ORDER
						   : LEVEL_ROWS | LEVEL_OUTPUT | LEVEL_ORDER | LEVEL_WRITE);
	foreach_ptr (CommonTableExpr, cte, query->cteList)
	{
		CteReads reads = {.query = (Query *) cte->ctequery};
		Query *alone = cte_as_query(query, cte);

		if (repeats_kept_cte(cte, alone, query, &seen) || !is_candidate(trial, alone) ||
			!is_chosen(trial))
			continue;
		reads.number = add_replaced(trial, alone);
		cte_each_use(&seen, cte->ctename, become_cte_read, &reads);
	}
}

/* The level with the chosen candidates replaced. */
static Query *
try_trial(Trial *trial, Query *query)
{
	Query *copy = copyObject(query);

	trial->candidates = 0;
	trial->replaced = NIL;
	if (trial->write != NULL)
		trial->write = copy;
	walk_ctes(trial, copy);
	walk_query(trial, copy, trial->targets);
	return copy;
}

/* ------------------------------------------------------------------------------------
 * Choosing.
 */

static bool
helps(Trial *trial, Query *query)
{
	Distribution distribution;
	Query *part = try_trial(trial, query);

	if (trial->write != NULL)
	{
		distribution = distribution_of_query(part);
		return distribution.kind != DIST_COORDINATOR;
	}
	if (trial->targets)
		level_clear(part, LEVEL_ORDER);
	else
		part =
			part_make(part, part->jointree->fromlist, quals_flat(part->jointree->quals));
	distribution = distribution_of_query(part);
	return distribution_has_shards(&distribution);
}

static bool
choose(Trial *trial, Query *query)
{
	for (int i = 0; i < RESULT_CANDIDATES_MAX; i++)
		trial->chosen[i] = true;
	if (!helps(trial, query) || trial->candidates > RESULT_CANDIDATES_MAX)
		return false;
	for (int i = 0; i < trial->candidates; i++)
	{
		trial->chosen[i] = false;
		if (!helps(trial, query))
			trial->chosen[i] = true;
	}
	return true;
}

static void
plan_replaced(Trial *trial)
{
	foreach_ptr (Replaced, one, trial->replaced)
	{
		SubResult *result = palloc0(sizeof(SubResult));

		result->plan = plan_any_query(one->query, 0, NULL);
		result_add(result);
		Assert(result->number == one->number);
	}
}

/* Makes plans of what was chosen; false if nothing was. */
static bool
commit(Trial *trial, Query *query)
{
	Query *replaced = try_trial(trial, query);

	if (trial->replaced == NIL)
		return false;
	plan_replaced(trial);
	*query = *replaced;
	return true;
}

bool
level_broadcast(Query *query)
{
	Trial trial = {.targets = true};

	if (query->setOperations != NULL || query->jointree->fromlist == NIL ||
		level_has_row_security(query) || level_uses_records(query))
		return false;
	if (!choose(&trial, query))
	{
		trial.targets = false;
		if (!choose(&trial, query))
			return false;
	}
	return commit(&trial, query);
}

bool
write_broadcast(Query *query)
{
	Trial trial = {.targets = true, .write = query};

	if (!choose(&trial, query) || !commit(&trial, query))
		return false;
	level_drop_unused_ctes(query);
	return true;
}

void
conflict_broadcast(Query *insert)
{
	Trial trial = {.write = insert};

	for (int i = 0; i < RESULT_CANDIDATES_MAX; i++)
		trial.chosen[i] = true;
	sublink_walker((Node *) insert->onConflict->onConflictSet, &trial);
	sublink_walker(insert->onConflict->onConflictWhere, &trial);
	plan_replaced(&trial);
}

RangeTblEntry *
broadcast_of_query(Query *query, const char *name)
{
	Trial trial = {0};
	RangeTblEntry *rte = rte_of_output(name, query);

	become_read(rte, add_replaced(&trial, query), query);
	plan_replaced(&trial);
	return rte;
}
