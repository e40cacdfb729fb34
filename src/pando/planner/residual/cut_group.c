/*
 * cut_group.c: groups of FROM items that can be evaluated on the shards together.
 *
 * Groups that a qualification connects are merged as long as distribution_of_query() says
 * that the merged one still can. What is everywhere, and connected with several groups
 * that don't fit together, goes to the one whose rows it leaves fewest of.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "pando/planner/fragment/estimate.h"
#include "pando/planner/fragment/fragment_path.h"
#include "pando/planner/query/part.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/residual/cut_group.h"
#include "pando/planner/where/copies_here.h"
#include "pando/planner/where/hazard.h"

/* Items that the RTE refers to sideways. */
static Relids
lateral_of_item(Query *query, Node *item)
{
	RangeTblEntry *rte;

	if (IsA(item, JoinExpr))
	{
		Relids inside = compat_relids_in_jointree(item, false);
		Relids result = NULL;
		int varno = -1;

		while ((varno = bms_next_member(inside, varno)) >= 0)
		{
			RangeTblRef ref = {.type = T_RangeTblRef, .rtindex = varno};

			result = bms_add_members(result, lateral_of_item(query, (Node *) &ref));
		}
		return bms_difference(result, inside);
	}
	rte = rt_fetch(((RangeTblRef *) item)->rtindex, query->rtable);
	switch (rte->rtekind)
	{
		case RTE_SUBQUERY:
			return pull_varnos_of_level(NULL, (Node *) rte->subquery, 1);
		case RTE_FUNCTION:
			return pull_varnos(NULL, (Node *) rte->functions);
		case RTE_VALUES:
			return pull_varnos(NULL, (Node *) rte->values_lists);
		case RTE_TABLEFUNC:
			return pull_varnos(NULL, (Node *) rte->tablefunc);
		case RTE_RELATION:
			return pull_varnos(NULL, (Node *) rte->tablesample);
		default:
			return NULL;
	}
}

bool
group_may_have(Node *qual, const CutGroup *group)
{
	Relids relids = pull_varnos(NULL, qual);

	return !bms_is_empty(relids) && bms_is_subset(relids, group->relids) &&
		   !expression_refers_outside(qual) && expression_hazard(qual) == NULL &&
		   !(group->secured && contain_leaked_vars(qual));
}

List *
group_quals(const CutGroup *group, List *quals)
{
	List *result = list_copy(group->quals);
	ListCell *cell;

	foreach (cell, quals)
	{
		if (!checkExprHasSubLink(lfirst(cell)) && group_may_have(lfirst(cell), group))
			result = lappend(result, lfirst(cell));
	}
	return result;
}

typedef struct RecordSearch
{
	Query *query;
	Relids relids;
	int depth;
} RecordSearch;

/* Records, and rows of tables and views that other nodes don't have. */
static bool
is_record(const Var *column)
{
	Oid element = get_element_type(column->vartype);
	Oid relid = get_typ_typrelid(OidIsValid(element) ? element : column->vartype);

	if (column->vartype == RECORDOID || column->vartype == RECORDARRAYOID)
		return true;
	return relid >= FirstNormalObjectId && dist_table(relid) == NULL &&
		   get_rel_relkind(relid) != RELKIND_COMPOSITE_TYPE;
}

/* Is there one among the columns of a FROM item? */
static bool
item_has_records(Query *query, Index varno)
{
	List *columns;

	expandRTE(rt_fetch(varno, query->rtable), varno, 0, -1, false, NULL, &columns);
	foreach_ptr (Var, column, columns)
	{
		if (is_record(column))
			return true;
	}
	return false;
}

/* A row as a whole is one of its columns, where it is made of others. */
static bool
is_record_column(Query *query, const Var *var)
{
	if (var->varattno > 0)
		return is_record(var);
	if (var->varattno < InvalidAttrNumber)
		return false;
	return item_has_records(query, var->varno) ||
		   (var->vartype != RECORDOID && is_record(var));
}

static bool
record_walker(Node *node, void *context)
{
	RecordSearch *search = context;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		Var *var = (Var *) node;

		if ((int) var->varlevelsup != search->depth ||
			!bms_is_member(var->varno, search->relids))
			return false;
		return is_record_column(search->query, var);
	}
	if (IsA(node, Query))
	{
		bool found;

		search->depth++;
		found = query_tree_walker((Query *) node, record_walker, context,
								  QTW_IGNORE_JOINALIASES);
		search->depth--;
		return found;
	}
	return expression_tree_walker(node, record_walker, context);
}

/* Does the level refer to a column of the group that can't be one of a fragment's? */
static bool
yields_records(Query *query, const CutGroup *group)
{
	RecordSearch search = {.query = query, .relids = group->relids};

	return query_tree_walker(query, record_walker, &search, QTW_IGNORE_JOINALIASES);
}

bool
level_uses_records(Query *query)
{
	CutGroup all = {.relids = compat_relids_in_jointree((Node *) query->jointree, false)};

	return yields_records(query, &all);
}

/* Fills the group's distribution. Only one that has all it refers to can be evaluated. */
void
group_judge(Query *query, CutGroup *group, List *quals)
{
	Query *part;

	group->distribution.kind = DIST_COORDINATOR;
	group->distribution.reason = "columns of other FROM items, or of type record";
	if (!bms_is_subset(group->lateral, group->relids) || yields_records(query, group))
		return;
	part = part_make(query, group->items, group_quals(group, quals));
	group->distribution = distribution_of_query(part);
}

CutGroup *
group_of_item(Query *query, Node *item, List *quals)
{
	CutGroup *group = palloc0(sizeof(CutGroup));
	int varno = -1;

	group->items = list_make1(item);
	group->relids = compat_relids_in_jointree(item, false);
	group->lateral = lateral_of_item(query, item);
	while ((varno = bms_next_member(group->relids, varno)) >= 0)
	{
		const RangeTblEntry *rte = rt_fetch(varno, query->rtable);

		group->secured |= rte->securityQuals != NIL || rte->security_barrier;
	}
	group_judge(query, group, quals);
	return group;
}

static bool
connected(const CutGroup *a, const CutGroup *b, List *quals)
{
	Relids both = bms_union(a->relids, b->relids);
	ListCell *cell;

	if (bms_overlap(a->lateral, b->relids) || bms_overlap(b->lateral, a->relids))
		return true;
	foreach (cell, quals)
	{
		Relids relids = pull_varnos(NULL, lfirst(cell));

		if (bms_overlap(relids, a->relids) && bms_overlap(relids, b->relids) &&
			bms_is_subset(relids, both))
			return true;
	}
	return false;
}

static CutGroup *
merged_group(Query *query, CutGroup *a, CutGroup *b, List *quals)
{
	CutGroup *group;

	if (a->secured || b->secured || !connected(a, b, quals))
		return NULL;
	group = palloc0(sizeof(CutGroup));
	group->items = list_concat_copy(a->items, b->items);
	group->relids = bms_union(a->relids, b->relids);
	group->lateral = bms_union(a->lateral, b->lateral);
	group_judge(query, group, quals);
	return distribution_has_shards(&group->distribution) ? group : NULL;
}

/* By how many rows the group has more than a part of it. */
static double
rows_added(Query *query, const CutGroup *part, const CutGroup *group, List *quals)
{
	const CutGroup *both[2] = {part, group};
	double rows[2];

	for (int i = 0; i < 2; i++)
		rows[i] =
			estimate_query(part_make(query, both[i]->items, group_quals(both[i], quals)))
				.rows;
	return rows[1] - rows[0];
}

/* Merges two groups, if any fit together, of which none is everywhere. */
static bool
merge_pair(Query *query, List **groups, List *quals)
{
	ListCell *a;
	ListCell *b;

	foreach (a, *groups)
	{
		if (!distribution_has_shards(&((CutGroup *) lfirst(a))->distribution))
			continue;
		foreach (b, *groups)
		{
			CutGroup *merged;

			if (lfirst(a) == lfirst(b) ||
				((CutGroup *) lfirst(b))->distribution.kind == DIST_ANYWHERE)
				continue;
			merged = merged_group(query, lfirst(a), lfirst(b), quals);
			if (merged == NULL)
				continue;
			lfirst(a) = merged;
			*groups = foreach_delete_current(*groups, b);
			return true;
		}
	}
	return false;
}

/* Merges a group that is everywhere with the one that it leaves fewest of, or multiplies
 * least: rows of groups may have to move. */
static bool
merge_anywhere(Query *query, List **groups, CutGroup *group, List *quals)
{
	CutGroup *best = NULL;
	double best_rows = 0;
	ListCell *into = NULL;
	ListCell *cell;

	foreach (cell, *groups)
	{
		CutGroup *other = lfirst(cell);
		CutGroup *merged = distribution_has_shards(&other->distribution)
							   ? merged_group(query, other, group, quals)
							   : NULL;
		double rows = 0;

		if (merged == NULL)
			continue;
		if (best != NULL)
		{
			if (best_rows == 0)
				best_rows = rows_added(query, lfirst(into), best, quals);
			rows = rows_added(query, other, merged, quals);
			if (rows >= best_rows)
				continue;
		}
		best = merged;
		best_rows = rows;
		into = cell;
	}
	if (best == NULL)
		return false;
	lfirst(into) = best;
	*groups = list_delete_ptr(*groups, group);
	return true;
}

List *
groups_merge(Query *query, List *groups, List *quals)
{
	bool progress = true;

	while (progress)
	{
		progress = merge_pair(query, &groups, quals);
		for (int i = 0; !progress && i < list_length(groups); i++)
		{
			CutGroup *group = list_nth(groups, i);

			progress = group->distribution.kind == DIST_ANYWHERE &&
					   merge_anywhere(query, &groups, group, quals);
		}
	}
	return groups;
}

/* Qualifications with sublinks, as long as the group can still be evaluated. */
void
group_take_sublinks(Query *query, CutGroup *group, List *quals)
{
	ListCell *cell;

	foreach (cell, quals)
	{
		Distribution before = group->distribution;
		List *without = group->quals;

		if (!checkExprHasSubLink(lfirst(cell)) || !group_may_have(lfirst(cell), group))
			continue;
		group->quals = lappend(list_copy(group->quals), lfirst(cell));
		group_judge(query, group, quals);
		if (distribution_has_shards(&group->distribution))
			continue;
		group->quals = without;
		group->distribution = before;
	}
}
