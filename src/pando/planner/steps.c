/*
 * steps.c: a statement with several writes as a sequence of steps.
 *
 * PostgreSQL runs data-modifying WITH queries to completion whether their rows are read
 * or not; all parts of the statement see the tables as they were before, and RETURNING
 * alone tells one part of what another did. Here each such WITH query is a step: a plan
 * of its own that runs to its end, in order, before the main query, and whose rows are
 * kept under a name (an ephemeral named relation, as a trigger's transition tables are).
 * Who refers to the WITH query reads those. Each step is a query like any other and may
 * be cut as it likes.
 *
 * - Where a part reads a table that an earlier part changes, the rows that it wants are
 *   read before everything else, as a step.
 * - A WITH query that only reads belongs to the one part that refers to it, and is a step
 *   where several do.
 * - A table that several parts change is first deleted from, then updated, then inserted
 *   into, so that no change meets rows that another has made. What would need another
 *   order is refused.
 * - RETURNING with what no shard can compute: the write is a step that returns the
 * columns it needs, and the main query computes it.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pando/metadata/table.h"
#include "pando/plan/fragment.h"
#include "pando/planner/cte_use.h"
#include "pando/planner/cut.h"
#include "pando/planner/flatten.h"
#include "pando/planner/fragment_path.h"
#include "pando/planner/hazard.h"
#include "pando/planner/hook.h"
#include "pando/planner/relation_query.h"
#include "pando/planner/steps.h"
#include "pando/planner/write.h"

#define RETURNED "returned rows"

typedef struct Step
{
	char *name;
	Query *query;
	List *reads; /* RangeTblEntry *, of its kept rows */
	bool counts; /* its rows are those that the statement returns */
} Step;

/* What runs by itself: a WITH query that is a step, or the main query. */
typedef struct Part
{
	CommonTableExpr *cte; /* NULL: the main query */
	Query *query;
	int home; /* number of the part that it belongs to */
	Step *step;
} Part;

typedef struct Steps
{
	Query *main;
	List *computed; /* CommonTableExpr *, with the RETURNING of writes */
	Part *parts;	/* the WITH queries, then the main query */
	int nparts;
	List *steps;	 /* Step *, in the order they run */
	int nread_first; /* those among them that read before any change */
} Steps;

static void
refuse(const char *why)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("this data-modifying statement in WITH is not supported yet"),
					errdetail("%s.", why)));
}

/* ------------------------------------------------------------------------------------
 * References to WITH queries.
 */

/* Calls `use` for each reference of the part to a WITH query of the statement. */
static int
part_uses(const Part *part, const char *name, CteUse use, void *context)
{
	return part->cte ? cte_each_use_in((Node *) part->query, name, use, context)
					 : cte_each_use(part->query, name, use, context);
}

static void
one_further(RangeTblEntry *rte, int depth, void *own_name)
{
	if (own_name == NULL || strcmp(rte->ctename, own_name) != 0)
		rte->ctelevelsup++;
}

static void
one_nearer(RangeTblEntry *rte, int depth, void *context)
{
	rte->ctelevelsup--;
}

static bool
has_cte(Query *query, const char *name)
{
	foreach_ptr (CommonTableExpr, cte, query->cteList)
	{
		if (strcmp(cte->ctename, name) == 0)
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------------------------
 * Reading kept rows.
 */

static List *
output_of(Query *query)
{
	return query->commandType == CMD_SELECT ? query->targetList : query->returningList;
}

/* Names and types of columns that come from a query: an entry without a kind. */
static RangeTblEntry *
rte_of_output(const char *name, List *output)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->eref = makeAlias(name, NIL);
	rte->inFromCl = true;
	foreach_ptr (TargetEntry, entry, output)
	{
		Node *expr = (Node *) entry->expr;

		if (entry->resjunk)
			continue;
		rte->coltypes = lappend_oid(rte->coltypes, exprType(expr));
		rte->coltypmods = lappend_int(rte->coltypmods, exprTypmod(expr));
		rte->colcollations = lappend_oid(rte->colcollations, exprCollation(expr));
		rte->eref->colnames =
			lappend(rte->eref->colnames,
					makeString(pstrdup(entry->resname ? entry->resname : "column")));
	}
	return rte;
}

static RangeTblEntry *
kept_rte(Step *step)
{
	RangeTblEntry *rte = rte_of_output(step->name, output_of(step->query));

	rte->rtekind = RTE_NAMEDTUPLESTORE;
	rte->enrname = step->name;
	step->reads = lappend(step->reads, rte);
	return rte;
}

static RangeTblEntry *
cte_rte(CommonTableExpr *cte, Index up)
{
	RangeTblEntry *rte = rte_of_output(cte->ctename, output_of((Query *) cte->ctequery));

	/* With the columns of SEARCH and CYCLE. */
	if (cte->ctecolnames != NIL)
	{
		rte->eref->colnames = copyObject(cte->ctecolnames);
		rte->coltypes = list_copy(cte->ctecoltypes);
		rte->coltypmods = list_copy(cte->ctecoltypmods);
		rte->colcollations = list_copy(cte->ctecolcollations);
	}
	rte->rtekind = RTE_CTE;
	rte->ctename = cte->ctename;
	rte->ctelevelsup = up;
	return rte;
}

/* SELECT all columns FROM the one item. */
static Query *
select_all(RangeTblEntry *rte)
{
	Query *query = makeNode(Query);
	RangeTblRef *ref = makeNode(RangeTblRef);
	ListCell *name;
	ListCell *type;
	ListCell *typmod;
	ListCell *collation;

	ref->rtindex = 1;
	query->commandType = CMD_SELECT;
	query->canSetTag = true;
	query->rtable = list_make1(rte);
	query->jointree = makeFromExpr(list_make1(ref), NULL);
	forfour(name, rte->eref->colnames, type, rte->coltypes, typmod, rte->coltypmods,
			collation, rte->colcollations)
	{
		AttrNumber number = list_length(query->targetList) + 1;
		Var *var = makeVar(1, number, lfirst_oid(type), lfirst_int(typmod),
						   lfirst_oid(collation), 0);

		query->targetList = lappend(
			query->targetList,
			makeTargetEntry((Expr *) var, number, pstrdup(strVal(lfirst(name))), false));
	}
	return query;
}

/* What was a table or a reference to a WITH query. */
static void
read_kept(RangeTblEntry *rte, int depth, void *step)
{
	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = select_all(kept_rte(step));
	rte->security_barrier = rte->lateral = rte->self_reference = false;
	rte->ctename = NULL;
	rte->ctelevelsup = 0;
	rte->coltypes = rte->coltypmods = rte->colcollations = NIL;
	rte->relid = InvalidOid;
	rte->relkind = 0;
	rte->rellockmode = 0;
	rte->inh = false;
	rte->tablesample = NULL;
	rte->securityQuals = NIL;
	rte->requiredPerms = 0;
	rte->selectedCols = NULL;
}

/* ------------------------------------------------------------------------------------
 * RETURNING that is computed here.
 */

bool
returning_is_computed_here(Query *query)
{
	Node *returning = (Node *) query->returningList;
	const DistTable *target;

	if (returning == NULL)
		return false;
	target = dist_table(rt_fetch(query->resultRelation, query->rtable)->relid);
	if (target == NULL || target->kind == TABLE_MANAGED_LOCAL)
		return false;
	if (query->commandType == CMD_INSERT && checkExprHasSubLink(returning))
		return true;
	if (table_has_copies(target) && expression_varies(returning))
		return true;
	return expression_hazard(
			   (Node *) query_with_rows_written_out(query)->returningList) != NULL;
}

typedef struct Returned
{
	List *vars; /* of the write, by number of the column that returns them */
	Index depth;
} Returned;

static Node *
returned_mutator(Node *node, Returned *returned)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && ((Var *) node)->varlevelsup == returned->depth)
	{
		Var *var = copyObject((Var *) node);
		int number = 0;

		var->varlevelsup = 0;
		var->location = -1;
		foreach_ptr (Var, column, returned->vars)
		{
			number++;
			if (column->varno == var->varno && column->varattno == var->varattno)
				break;
		}
		var->varno = var->varnosyn = 1;
		var->varattno = var->varattnosyn = number;
		var->varlevelsup = returned->depth;
		return (Node *) var;
	}
	if (IsA(node, Query))
	{
		Node *result;

		returned->depth++;
		result =
			(Node *) query_tree_mutator((Query *) node, returned_mutator, returned, 0);
		returned->depth--;
		return result;
	}
	return expression_tree_mutator(node, returned_mutator, returned);
}

static List *
distinct_vars(List *returning)
{
	List *vars = NIL;

	foreach_ptr (Var, var, pull_vars_of_level((Node *) returning, 0))
	{
		bool known = false;

		foreach_ptr (Var, other, vars)
			known |= other->varno == var->varno && other->varattno == var->varattno;
		if (known)
			continue;
		var = copyObject(var);
		var->varlevelsup = 0;
		vars = lappend(vars, var);
	}
	return vars;
}

static List *
columns_of_vars(List *vars)
{
	List *columns = NIL;

	foreach_ptr (Var, var, vars)
	{
		int number = list_length(columns) + 1;

		columns = lappend(columns, makeTargetEntry((Expr *) var, number,
												   psprintf("column%d", number), false));
	}
	/* A row is a row. */
	if (columns == NIL)
		columns = list_make1(
			makeTargetEntry((Expr *) makeBoolConst(true, false), 1, "row", false));
	return columns;
}

/*
 * Splits a write: it becomes one that returns columns, *cte, and the result is the SELECT
 * that computes RETURNING over those rows, at the level where the WITH query is `up`
 * above.
 */
static Query *
split_returning(Query *write, const char *name, CommonTableExpr **cte, Index up)
{
	List *returning = query_with_rows_written_out(write)->returningList;
	Returned returned = {.vars = distinct_vars(returning)};
	Query *select;

	write->returningList = columns_of_vars(returned.vars);
	write->canSetTag = false;
	*cte = makeNode(CommonTableExpr);
	(*cte)->ctename = pstrdup(name);
	(*cte)->ctequery = (Node *) write;
	select = select_all(cte_rte(*cte, up));
	select->targetList =
		(List *) returned_mutator((Node *) copyObject(returning), &returned);
	select->hasSubLinks = checkExprHasSubLink((Node *) select->targetList);
	return select;
}

/* The main query, a write, becomes a WITH query, the last one. */
static Query *
split_main(Query *main)
{
	List *ctes = main->cteList;
	CommonTableExpr *cte;
	Query *select;

	main->cteList = NIL;
	main->hasModifyingCTE = false;
	select = split_returning(main, RETURNED, &cte, 0);
	/* It is one level further from its WITH queries now. */
	cte_each_use(main, NULL, one_further, NULL);
	select->cteList = lappend(ctes, cte);
	select->hasRecursive = main->hasRecursive;
	main->hasRecursive = false;
	select->hasModifyingCTE = true;
	select->queryId = main->queryId;
	return select;
}

static void
split_ctes(Steps *steps, Query *main)
{
	List *ctes = NIL;

	foreach_ptr (CommonTableExpr, cte, main->cteList)
	{
		Query *write = (Query *) cte->ctequery;
		CommonTableExpr *rows;

		if (write->commandType != CMD_SELECT && returning_is_computed_here(write))
		{
			if (write->cteList != NIL)
				refuse("A write with WITH queries of its own computes what it returns");
			cte->ctequery = (Node *) split_returning(
				write, psprintf("%s, " RETURNED, cte->ctename), &rows, 1);
			steps->computed = lappend(steps->computed, cte);
			ctes = lappend(ctes, rows);
		}
		ctes = lappend(ctes, cte);
	}
	main->cteList = ctes;
}

/* ------------------------------------------------------------------------------------
 * Tables that are changed.
 */

/* In this order several changes of one table are what PostgreSQL makes of them. */
typedef enum Change
{
	CHANGE_NOTHING,
	CHANGE_DELETE,
	CHANGE_UPDATE, /* or INSERT with ON CONFLICT DO UPDATE */
	CHANGE_INSERT
} Change;

static Oid
target_of(const Part *part)
{
	return rt_fetch(part->query->resultRelation, part->query->rtable)->relid;
}

static bool
refers_on(Oid function, bool update)
{
	switch (function)
	{
		case F_RI_FKEY_CASCADE_DEL:
		case F_RI_FKEY_SETNULL_DEL:
		case F_RI_FKEY_SETDEFAULT_DEL:
			return !update;
		case F_RI_FKEY_CASCADE_UPD:
		case F_RI_FKEY_SETNULL_UPD:
		case F_RI_FKEY_SETDEFAULT_UPD:
			return update;
		default:
			return false;
	}
}

/* Does a change of the one table change the other, through foreign keys? */
static bool
change_reaches(Oid from, Oid to, bool update, List *seen)
{
	Relation relation;
	TriggerDesc *triggers;
	List *next = NIL;

	if (from == to)
		return true;
	if (list_member_oid(seen, from))
		return false;
	relation = table_open(from, AccessShareLock);
	triggers = relation->trigdesc;
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (refers_on(trigger->tgfoid, update))
			next = lappend_oid(next, trigger->tgconstrrelid);
	}
	table_close(relation, NoLock);
	seen = lappend_oid(list_copy(seen), from);
	foreach_oid(relid, next)
	{
		/* SET NULL is an update of that table, a cascade of deletions a deletion. */
		if (change_reaches(relid, to, update, seen) ||
			change_reaches(relid, to, true, seen))
			return true;
	}
	return false;
}

static Change
change_of(const Part *part, Oid relid)
{
	switch (part->query->commandType)
	{
		case CMD_INSERT:
			if (target_of(part) != relid)
				return CHANGE_NOTHING;
			return part->query->onConflict &&
						   part->query->onConflict->action == ONCONFLICT_UPDATE
					   ? CHANGE_UPDATE
					   : CHANGE_INSERT;
		case CMD_UPDATE:
			return change_reaches(target_of(part), relid, true, NIL) ? CHANGE_UPDATE
																	 : CHANGE_NOTHING;
		case CMD_DELETE:
			return change_reaches(target_of(part), relid, false, NIL) ? CHANGE_DELETE
																	  : CHANGE_NOTHING;
		default:
			return CHANGE_NOTHING;
	}
}

/* What triggers do after a step PostgreSQL would do after the statement. */
static void
refuse_triggers(Oid relid)
{
	Relation relation = table_open(relid, NoLock);
	TriggerDesc *triggers = relation->trigdesc;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		if (!triggers->triggers[i].tgisinternal &&
			TRIGGER_FOR_AFTER(triggers->triggers[i].tgtype))
			refuse(psprintf("Table \"%s\" has the trigger \"%s\"",
							RelationGetRelationName(relation),
							triggers->triggers[i].tgname));
	}
	table_close(relation, NoLock);
}

/* ------------------------------------------------------------------------------------
 * Which part each WITH query belongs to.
 */

/* The one part that refers to the WITH query; -1: none, its own number: several do. */
static int
home_of(const Steps *steps, int number)
{
	const Part *part = &steps->parts[number];
	const char *name = part->cte->ctename;
	int home = -1;

	for (int i = number + 1; i < steps->nparts; i++)
	{
		if (steps->parts[i].home < 0 ||
			part_uses(&steps->parts[i], name, NULL, NULL) == 0)
			continue;
		if (home >= 0 && home != steps->parts[i].home)
			return number;
		home = steps->parts[i].home;
	}
	if (home >= 0 && home < steps->nparts - 1 && has_cte(steps->parts[home].query, name))
		return number;
	return home;
}

static void
find_homes(Steps *steps)
{
	int last = steps->nparts - 1;

	steps->parts[last].home = last;
	for (int i = last - 1; i >= 0; i--)
	{
		Part *part = &steps->parts[i];

		/* Computing may have effects, which happen once for each row. */
		if (part->query->commandType != CMD_SELECT ||
			list_member_ptr(steps->computed, part->cte))
			part->home = i;
		else
			part->home = home_of(steps, i);
	}
}

static Step *
add_step(Steps *steps, char *name, Query *query)
{
	Step *step = palloc0(sizeof(Step));

	step->name = name;
	step->query = query;
	steps->steps = lappend(steps->steps, step);
	return step;
}

/* A recursive one needs its own name: WITH RECURSIVE name AS (...) SELECT * FROM name. */
static Query *
query_of_cte(CommonTableExpr *cte)
{
	Query *body = (Query *) cte->ctequery;
	Query *query;

	if (!cte->cterecursive)
		return body;
	query = select_all(cte_rte(cte, 0));
	query->hasRecursive = true;
	query->cteList = list_make1(cte);
	/* The other WITH queries are one level further. */
	cte_each_use_in((Node *) body, NULL, one_further, cte->ctename);
	return query;
}

/* Changes of one table in the order in which they don't meet, if nothing is against it.
 */
static List *
in_order_of_changes(List *ctes)
{
	List *result = NIL;

	foreach_ptr (CommonTableExpr, cte, ctes)
	{
		Part part = {.cte = cte, .query = (Query *) cte->ctequery};
		int position = list_length(result);
		int wanted = position;

		while (part.query->commandType != CMD_SELECT && position > 0)
		{
			CommonTableExpr *before = list_nth(result, position - 1);
			Part other = {.cte = before, .query = (Query *) before->ctequery};

			if (part_uses(&part, before->ctename, NULL, NULL) > 0)
				break;
			position--;
			if (change_of(&other, target_of(&part)) > change_of(&part, target_of(&part)))
				wanted = position;
		}
		result = list_insert_nth(result, wanted, cte);
	}
	return result;
}

static void
make_parts(Steps *steps, Query *main)
{
	int number = 0;

	steps->main = main;
	main->cteList = in_order_of_changes(main->cteList);
	steps->nparts = list_length(main->cteList) + 1;
	steps->parts = palloc0(sizeof(Part) * steps->nparts);
	foreach_ptr (CommonTableExpr, cte, main->cteList)
	{
		steps->parts[number].cte = cte;
		steps->parts[number++].query = query_of_cte(cte);
	}
	steps->parts[number].query = main;
	main->cteList = NIL;
	main->hasModifyingCTE = false;
	find_homes(steps);
}

static void
check_order(const Steps *steps)
{
	for (int i = 0; i < steps->nparts; i++)
	{
		const Part *part = &steps->parts[i];
		Oid target;

		if (part->query->commandType == CMD_SELECT)
			continue;
		target = target_of(part);
		refuse_triggers(target);
		for (int j = 0; j < i; j++)
		{
			Change before = change_of(&steps->parts[j], target);
			Change after = change_of(part, target);

			if (before > after || (before == after && before == CHANGE_UPDATE))
				refuse(psprintf("Several parts of the statement change table \"%s\"",
								get_rel_name(target)));
		}
	}
}

/* ------------------------------------------------------------------------------------
 * Rows of tables that are changed before they are read.
 */

typedef struct Reads
{
	Steps *steps;
	int part;	   /* number of the part that runs */
	Query *target; /* the write whose target is not read by itself */
	bool first;	   /* nothing else has changed that target: it sees what it should */
} Reads;

/* Does a part that runs before this one change the table? */
static bool
is_changed_before(const Steps *steps, int part, Oid relid)
{
	for (int i = 0; i < part; i++)
	{
		if (change_of(&steps->parts[i], relid) != CHANGE_NOTHING)
			return true;
	}
	return false;
}

static void
read_before(Reads *reads, Query *level, Index varno)
{
	RangeTblEntry *rte = rt_fetch(varno, level->rtable);
	Query *rows;
	Step *step;

	if (!is_changed_before(reads->steps, reads->part, rte->relid))
		return;
	rows = relation_as_query(level, varno);
	foreach_ptr (RowMarkClause, mark, level->rowMarks)
	{
		if (mark->rti == varno)
			rows = NULL;
	}
	if (rows == NULL || query_refers_outside(rows, true))
		refuse(psprintf("Table \"%s\" is changed and read by one statement, and not by "
						"its columns alone",
						get_rel_name(rte->relid)));
	step = palloc0(sizeof(Step));
	step->name =
		psprintf("%s before %d", get_rel_name(rte->relid), reads->steps->nread_first + 1);
	step->query = rows;
	reads->steps->steps =
		list_insert_nth(reads->steps->steps, reads->steps->nread_first++, step);
	read_kept(rte, 0, step);
}

static bool
reads_walker(Node *node, Reads *reads)
{
	Query *query = (Query *) node;
	Relids used;
	int varno = -1;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, reads_walker, reads);
	used = get_relids_in_jointree((Node *) query->jointree, false);
	query_tree_walker(query, reads_walker, reads, QTW_IGNORE_JOINALIASES);
	while ((varno = bms_next_member(used, varno)) >= 0)
	{
		if (rt_fetch(varno, query->rtable)->rtekind == RTE_RELATION &&
			(query != reads->target || varno != query->resultRelation))
			read_before(reads, query, varno);
	}
	return false;
}

/* ------------------------------------------------------------------------------------
 * From parts to steps.
 */

/* WITH queries that are steps are read as kept rows; the others join their part. */
static void
resolve_references(Steps *steps, int number)
{
	Part *part = &steps->parts[number];
	const char *name = part->cte->ctename;

	for (int i = number + 1; i < steps->nparts; i++)
	{
		if (part->step != NULL)
			part_uses(&steps->parts[i], name, read_kept, part->step);
		/* It is one level nearer to the part's own query now. */
		else if (i == part->home && steps->parts[i].cte != NULL)
			part_uses(&steps->parts[i], name, one_nearer, NULL);
	}
	if (part->step == NULL && part->home >= 0)
	{
		Query *home = steps->parts[part->home].query;

		home->cteList = lcons(part->cte, home->cteList);
		home->hasRecursive |= part->cte->cterecursive;
	}
}

static void
make_steps(Steps *steps)
{
	for (int i = 0; i < steps->nparts - 1; i++)
	{
		Part *part = &steps->parts[i];

		if (part->home == i)
			part->step =
				add_step(steps, psprintf("with %s", part->cte->ctename), part->query);
	}
	/* The last first, as each goes to the front of its part's list. */
	for (int i = steps->nparts - 2; i >= 0; i--)
		resolve_references(steps, i);
	for (int i = 0; i < steps->nparts; i++)
	{
		Part *part = &steps->parts[i];
		Reads reads = {.steps = steps, .part = i, .target = part->query};

		if (part->home == i)
			reads_walker((Node *) part->query, &reads);
	}
}

/* ------------------------------------------------------------------------------------
 * Plans.
 */

static PlannedStmt *
plan_step(Step *step, ParamListInfo params)
{
	/* A plan that runs within another one's can't be parallel. */
	PlannedStmt *stmt = plan_any_query(copyObject(step->query), 0, params);

	foreach_ptr (RangeTblEntry, rte, step->reads)
		rte->enrtuples = stmt->planTree->plan_rows;
	return stmt;
}

static PlannedStmt *
plan_steps(Steps *steps, Query *original, int cursor_options, ParamListInfo params)
{
	List *plans = NIL;
	PlannedStmt *stmt;
	CustomScan *scan;

	foreach_ptr (Step, step, steps->steps)
		plans =
			lappend(plans, list_make3(makeString(step->name), makeBoolean(step->counts),
									  plan_step(step, params)));
	stmt = plan_any_query(steps->main, cursor_options & ~CURSOR_OPT_PARALLEL_OK, params);
	scan = fragment_scan_above(stmt->planTree, PLAN_STEPS);
	scan->custom_private = plans;
	stmt->planTree = &scan->scan.plan;
	stmt->commandType = original->commandType;
	stmt->hasReturning = original->returningList != NIL;
	stmt->hasModifyingCTE = true;
	stmt->canSetTag = original->canSetTag;
	stmt->queryId = original->queryId;
	stmt->stmt_location = original->stmt_location;
	stmt->stmt_len = original->stmt_len;
	plan_add_relations(stmt, original);
	foreach_ptr (List, plan, plans)
		plan_add_plan(stmt, lthird_node(PlannedStmt, plan));
	return stmt;
}

PlannedStmt *
plan_in_steps(Query *query, int cursor_options, ParamListInfo params)
{
	Steps steps = {0};
	Query *main = query_without_join_columns(copyObject(query));
	bool split = main->commandType != CMD_SELECT && returning_is_computed_here(main);

	if (split)
		main = split_main(main);
	split_ctes(&steps, main);
	make_parts(&steps, main);
	check_order(&steps);
	make_steps(&steps);
	if (split)
		((Step *) llast(steps.steps))->counts = true;
	return plan_steps(&steps, query, cursor_options, params);
}
