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
 *   into, so that no change meets rows that another has made. Where that is not the order
 *   the rows of the later part are found and locked before all changes: those that an
 *   earlier one has changed are no more where they were. Where the later part reads what
 *   the earlier one returns, that returns as well which rows it has changed, by where
 * they are now, and the later part leaves them out. What neither is possible for is
 * refused.
 * - RETURNING with what no shard can compute: the write is a step that returns the
 * columns it needs, and the main query computes it.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/prep.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "pando/plan/fragment.h"
#include "pando/plan/row_place.h"
#include "pando/planner/fragment/plan_relations.h"
#include "pando/planner/fragment/fragment_plan.h"
#include "pando/planner/query/each_level.h"
#include "pando/planner/query/cte_use.h"
#include "pando/planner/query/exists.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/fragment/planning.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/where/relation_query.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/write/computed_change.h"
#include "pando/planner/write/key_change.h"
#include "pando/planner/write/modify.h"
#include "pando/planner/write/returning.h"
#include "pando/planner/write/row_identity.h"
#include "pando/planner/write/steps.h"
#include "pando/planner/write/target_policy.h"
#include "pando/planner/write/triggered.h"
#include "pando/planner/write/table_change.h"
#include "pando/planner/write/write_rules.h"

#define RETURNED "returned rows"

/* What runs by itself: a WITH query that is a step, or the main query. */
typedef struct Part
{
	CommonTableExpr *cte; /* NULL: the main query */
	Query *query;
	List *changed; /* OIDs of the tables that it changes */
	int home;	   /* number of the part that it belongs to */
	Step *step;
	Step *found;	 /* a change whose rows are found before all changes */
	List *identity;	 /* of those: numbers of the columns that name a row */
	bool leaves_out; /* a change that leaves out what others have changed */
	int hidden; /* the last columns of its RETURNING, which name a row where it is now */
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

RangeTblEntry *
step_rte(Step *step)
{
	RangeTblEntry *rte = rte_of_output(step->name, step->query);

	rte->rtekind = RTE_NAMEDTUPLESTORE;
	rte->enrname = step->name;
	step->reads = lappend(step->reads, rte);
	return rte;
}

int
steps_add_column(Query *query, Node *expr, const char *name)
{
	int number = list_length(query->targetList) + 1;

	query->targetList = lappend(
		query->targetList, makeTargetEntry((Expr *) expr, number, pstrdup(name), false));
	return number;
}

void
step_read_instead(RangeTblEntry *rte, int depth, void *step)
{
	Query *rows = query_of_columns(step_rte(step));

	rows->targetList = list_truncate(rows->targetList, list_length(rows->targetList) -
														   ((Step *) step)->hidden);
	rte_become_subquery(rte, rows);
}

/* ------------------------------------------------------------------------------------
 * RETURNING that is computed here.
 */

/* The main query, a write, becomes a WITH query, the last one. */
static Query *
split_main(Query *main)
{
	List *ctes = main->cteList;
	CommonTableExpr *cte;
	Query *select;

	main->cteList = NIL;
	main->hasModifyingCTE = false;
	select = returning_split(main, RETURNED, &cte, 0);
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
			cte->ctequery = (Node *) returning_split(
				write, psprintf("%s, " RETURNED, cte->ctename), &rows, 1);
			steps->computed = lappend(steps->computed, cte);
			ctes = lappend(ctes, rows);
		}
		ctes = lappend(ctes, cte);
	}
	main->cteList = ctes;
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
	query = query_of_columns(rte_of_cte(cte, 0));
	query->hasRecursive = true;
	query->cteList = list_make1(cte);
	/* The other WITH queries are one level further. */
	cte_each_use_in((Node *) body, NULL, one_further, cte->ctename);
	return query;
}

static Change
part_changes(const Part *part, Oid relid)
{
	return change_of_table(part->query, part->changed, relid);
}

/* Changes of one table get the order in which they don't meet, if nothing is against it.
 */
static void
add_part(Steps *steps, CommonTableExpr *cte, Query *query)
{
	Part part = {.cte = cte, .query = query, .changed = changed_tables(query)};
	int position = steps->nparts;
	int wanted = position;

	while (cte != NULL && part.changed != NIL && position > 0)
	{
		const Part *before = &steps->parts[position - 1];
		Oid target = write_target(query);

		if (part_uses(&part, before->cte->ctename, NULL, NULL) > 0)
			break;
		position--;
		if (part_changes(before, target) > part_changes(&part, target))
			wanted = position;
	}
	memmove(&steps->parts[wanted + 1], &steps->parts[wanted],
			sizeof(Part) * (steps->nparts - wanted));
	steps->parts[wanted] = part;
	steps->nparts++;
}

static void
make_parts(Steps *steps, Query *main)
{
	List *ctes = main->cteList;

	steps->main = main;
	steps->parts = palloc0(sizeof(Part) * (list_length(ctes) + 1));
	main->cteList = NIL;
	main->hasModifyingCTE = false;
	foreach_ptr (CommonTableExpr, cte, ctes)
		add_part(steps, cte, query_of_cte(cte));
	add_part(steps, NULL, main);
	find_homes(steps);
}

static void
refuse_changes(Oid relid)
{
	refuse(psprintf("Several parts of the statement change table \"%s\"",
					get_rel_name(relid)));
}

/* A step that reads, before any change. */
static Step *
read_first(Steps *steps, const char *what, Query *rows)
{
	Step *step = palloc0(sizeof(Step));

	step->name = psprintf("%s before %d", what, steps->nread_first + 1);
	step->query = rows;
	steps->steps = list_insert_nth(steps->steps, steps->nread_first++, step);
	return step;
}

/* May rows of the table be named by where they are before any of these parts? */
static bool
rows_can_be_found_first(const Steps *steps, const Part *part, const DistTable *target)
{
	Query *query = part->query;

	if ((query->commandType != CMD_UPDATE && query->commandType != CMD_DELETE) ||
		target == NULL || target->kind == TABLE_MANAGED_LOCAL ||
		key_may_change(query, target) || part_uses(part, NULL, NULL, NULL) > 0)
		return false;
	for (const Part *other = steps->parts; other <= part; other++)
	{
		if (other->query->commandType != CMD_SELECT &&
			change_fires_here(other->query, dist_table(write_target(other->query))))
			return false;
	}
	return true;
}

/* Those of the rows that the other part doesn't change. */
static Query *
rows_without(Query *rows, const List *identity, const Part *other)
{
	Query *left = query_over_query(rows, "rows");
	Query *taken = query_of_columns(step_rte(other->found));
	List *quals = NIL;
	ListCell *own;
	ListCell *others;

	forboth(own, identity, others, other->identity)
	{
		Var *column = query_column(1, rows, lfirst_int(own));

		column->varlevelsup = 1;
		quals = lappend(quals, same_value((Node *) query_column(1, other->found->query,
																lfirst_int(others)),
										  (Node *) column));
	}
	left->jointree->quals = none_of(taken, quals);
	left->hasSubLinks = true;
	return left;
}

/*
 * A change of rows that another part may change, too: they are found, locked and computed
 * before that. What the other has changed is no more where it was; a row that is named by
 * its primary key, as it has several copies, is still found by that, so that the other's
 * are left out.
 */
static void
find_rows_first(Steps *steps, Part *part)
{
	Oid relid = write_target(part->query);
	const DistTable *target = dist_table(relid);
	const char *why = NULL;
	Query *change = NULL;
	RangeTblEntry *source;
	Query *rows;

	if (rows_can_be_found_first(steps, part, target))
		change = change_of_found_rows(part->query, target, &part->identity, &why);
	if (change == NULL)
		refuse_changes(relid);
	source = llast(change->rtable);
	rows = source->subquery;
	if (table_has_copies(target))
		for (Part *other = steps->parts; other < part; other++)
		{
			if (part_changes(other, relid) == CHANGE_UPDATE)
				rows = rows_without(rows, part->identity, other);
		}
	part->found = read_first(steps, get_rel_name(relid), rows);
	part->found->finds = relid;
	step_read_instead(source, 0, part->found);
	*part->query = *change;
}

/* Where policies bind the client they are asked of whoever names rows, or returns them.
 */
static bool
policies_would_ask_more(const Query *change, bool returns)
{
	const RangeTblEntry *rte = rt_fetch(change->resultRelation, change->rtable);

	return (returns ? change->returningList == NIL : target_is_unread(rte)) &&
		   target_has_policies(rte);
}

/* Which row it is, in the same way for all tables whose row it is, also after a change.
 */
static List *
identity_of_changed(const Query *change)
{
	const DistTable *target = dist_table(write_target(change));
	Index varno = change->resultRelation;
	bool partitioned = get_rel_relkind(target->relid) == RELKIND_PARTITIONED_TABLE;

	if (table_has_copies(target) ||
		(!partitioned && !get_rel_relispartition(target->relid)))
		return row_identity(target, varno);
	return list_make2(
		row_ctid_call(varno, 0),
		partitioned ? row_tableoid_call(varno, 0, target->relid)
					: (Node *) makeConst(OIDOID, -1, InvalidOid, sizeof(Oid),
										 ObjectIdGetDatum(target->relid), false, true));
}

/* May a change leave out the rows of its table that parts before it have changed? */
static bool
changed_rows_can_be_left_out(const Steps *steps, const Part *part,
							 const DistTable *target)
{
	if ((part->query->commandType != CMD_UPDATE &&
		 part->query->commandType != CMD_DELETE) ||
		target == NULL || target->kind == TABLE_MANAGED_LOCAL ||
		rows_have_no_name(target) || key_may_change(part->query, target))
		return false;
	for (const Part *other = steps->parts; other <= part; other++)
	{
		const DistTable *others;

		if (part_changes(other, target->relid) == CHANGE_NOTHING)
			continue;
		others = dist_table(write_target(other->query));
		if (others == NULL || !tables_share_rows(others->relid, target->relid) ||
			other->query->commandType == CMD_MERGE ||
			change_fires_here(other->query, others) ||
			key_may_change(other->query, others) ||
			policies_would_ask_more(other->query, other < part))
			return false;
	}
	return true;
}

/* The parts before it return as well which rows of the table they have changed. */
static void
leave_changed_rows_out(Steps *steps, Part *part, const DistTable *target)
{
	part->leaves_out = true;
	for (Part *other = steps->parts; other < part; other++)
	{
		Query *query = other->query;

		if (part_changes(other, target->relid) < CHANGE_UPDATE || other->hidden > 0)
			continue;
		foreach_ptr (Node, expr, identity_of_changed(query))
		{
			query->returningList = lappend(
				query->returningList,
				makeTargetEntry((Expr *) expr, list_length(query->returningList) + 1,
								pstrdup("changed"), false));
			other->hidden++;
		}
	}
}

/* Can rows of two changes be told to be the same ones, or needn't they be? What foreign
 * keys change is changed after all parts have run; copies go by their table's own key. */
static bool
changes_can_be_ordered(Oid a, Oid b)
{
	const DistTable *table = dist_table(a);

	return a == b ||
		   (tables_share_rows(a, b) && (table == NULL || !table_has_copies(table)));
}

/* The parts before it that change the table are found first as well. */
static void
find_others_first(Steps *steps, const Part *part)
{
	Oid relid = write_target(part->query);

	for (Part *other = steps->parts; other < part; other++)
	{
		if (other->found == NULL && part_changes(other, relid) == CHANGE_UPDATE)
			find_rows_first(steps, other);
	}
}

static void
order_changes(Steps *steps)
{
	for (int i = 0; i < steps->nparts; i++)
	{
		Part *part = &steps->parts[i];
		bool meets = false;
		Oid target;

		if (part->query->commandType == CMD_SELECT)
			continue;
		target = write_target(part->query);
		for (const Part *other = steps->parts; other < part; other++)
		{
			Change before = part_changes(other, target);
			Change after = part_changes(part, target);

			if (before < after || (before == after && before != CHANGE_UPDATE))
				continue;
			if (!changes_can_be_ordered(target, write_target(other->query)))
				refuse_changes(target);
			meets = true;
		}
		if (!meets)
			continue;
		if (part_uses(part, NULL, NULL, NULL) > 0 &&
			changed_rows_can_be_left_out(steps, part, dist_table(target)))
		{
			leave_changed_rows_out(steps, part, dist_table(target));
			continue;
		}
		if (dist_table(target) != NULL && table_has_copies(dist_table(target)))
			find_others_first(steps, part);
		find_rows_first(steps, part);
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
		if (part_changes(&steps->parts[i], relid) != CHANGE_NOTHING)
			return true;
	}
	return false;
}

static void
read_before(Reads *reads, Query *level, Index varno)
{
	RangeTblEntry *rte = rt_fetch(varno, level->rtable);
	Query *rows;

	if (!is_changed_before(reads->steps, reads->part, rte->relid))
		return;
	rows = relation_as_query(level, varno);
	if (rows == NULL || get_parse_rowmark(level, varno) != NULL ||
		query_refers_outside(rows))
		refuse(psprintf("Table \"%s\" is changed and read by one statement, and not by "
						"its columns alone",
						get_rel_name(rte->relid)));
	step_read_instead(rte, 0, read_first(reads->steps, get_rel_name(rte->relid), rows));
	level_join_columns_refresh(level);
}

static bool
reads_of_level(Query *query, void *context)
{
	Reads *reads = context;
	Relids used = compat_relids_in_jointree((Node *) query->jointree, false);
	int varno = -1;

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
			part_uses(&steps->parts[i], name, step_read_instead, part->step);
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

/* The change's condition: the row is none that the other part has changed. */
static void
leave_out(Query *change, const Part *other)
{
	Query *changed = query_of_columns(step_rte(other->step));
	int column = list_length(changed->targetList) - other->hidden;
	List *quals = NIL;

	foreach_ptr (Node, expr, identity_of_changed(change))
	{
		IncrementVarSublevelsUp(expr, 1, 0);
		quals =
			lappend(quals, same_value((Node *) query_column(1, changed, ++column), expr));
	}
	change->jointree->quals =
		make_and_qual(change->jointree->quals, none_of(changed, quals));
	change->hasSubLinks = true;
}

static void
make_steps(Steps *steps)
{
	for (int i = 0; i < steps->nparts - 1; i++)
	{
		Part *part = &steps->parts[i];

		if (part->home == i)
		{
			part->step =
				add_step(steps, psprintf("with %s", part->cte->ctename), part->query);
			part->step->hidden = part->hidden;
			/* A function that is called later may not move them on. */
			if (part->hidden > 0)
				part->step->finds = write_target(part->query);
		}
	}
	/* The last first, as each goes to the front of its part's list. */
	for (int i = steps->nparts - 2; i >= 0; i--)
		resolve_references(steps, i);
	for (int i = 0; i < steps->nparts; i++)
	{
		Part *part = &steps->parts[i];
		Reads reads = {.steps = steps, .part = i, .target = part->query};

		if (part->home == i)
			(void) query_each_level_inner_first(part->query, reads_of_level, &reads);
		for (const Part *other = steps->parts; part->leaves_out && other < part; other++)
		{
			if (other->hidden > 0 &&
				tables_share_rows(write_target(other->query), write_target(part->query)))
				leave_out(part->query, other);
		}
	}
}

/* ------------------------------------------------------------------------------------
 * Plans.
 */

static PlannedStmt *
plan_change_of_lines(Query *change)
{
	const DistTable *target = dist_table(write_target(change));

	change = query_without_target_policies(change);
	return fragment_planned_stmt(change, change_of_lines_fragment(change, target));
}

static PlannedStmt *
plan_step(Step *step, ParamListInfo params)
{
	Oid outer = rows_stay_in(step->keeps_shard ? write_target(step->query) : InvalidOid);
	PlannedStmt *stmt;

	PG_TRY();
	{
		/* A plan that runs within another one's can't be parallel. */
		if (step->by_line)
			stmt = plan_change_of_lines(copyObject(step->query));
		else if (step->fires_nothing)
			stmt = plan_firing_nothing(copyObject(step->query), 0, params);
		else
			stmt = plan_any_query(copyObject(step->query), 0, params);
	}
	PG_FINALLY();
	{
		rows_stay_in(outer);
	}
	PG_END_TRY();
	foreach_ptr (RangeTblEntry, rte, step->reads)
		rte->enrtuples = stmt->planTree->plan_rows;
	return stmt;
}

PlannedStmt *
plan_steps(List *steps, Query *main, Query *original, int cursor_options,
		   ParamListInfo params)
{
	List *plans = NIL;
	List *found = NIL;
	PlannedStmt *stmt;
	CustomScan *scan;

	foreach_ptr (Step, step, steps)
	{
		if (OidIsValid(step->finds))
			found = list_append_unique_oid(found, step->finds);
		plans = lappend(
			plans,
			list_make4(makeString(step->name), makeBoolean(step->counts),
					   plan_step(step, params),
					   step->query->commandType == CMD_SELECT ? list_copy(found) : NIL));
	}
	stmt = plan_any_query(main, cursor_options & ~CURSOR_OPT_PARALLEL_OK, params);
	/* A MERGE may have steps of its own: they are the last. */
	if (plan_is_kind(stmt->planTree, PLAN_STEPS))
	{
		plans = list_concat(plans, ((CustomScan *) stmt->planTree)->custom_private);
		stmt->planTree = outerPlan(stmt->planTree);
	}
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
	Query *main = query_without_join_columns(query);
	bool split = main->commandType != CMD_SELECT && returning_is_computed_here(main);

	if (split)
		main = split_main(main);
	split_ctes(&steps, main);
	make_parts(&steps, main);
	order_changes(&steps);
	make_steps(&steps);
	if (split)
		((Step *) llast(steps.steps))->counts = true;
	return plan_steps(steps.steps, steps.main, query, cursor_options, params);
}
