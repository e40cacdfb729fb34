/*
 * query_form.c: a Query in the form of PostgreSQL 15, in which parts of it can move.
 *
 * One walk serves both ways. It comes by the range table and the join tree in the order
 * in which PostgreSQL's parser does, for a Var has the outer joins that were complete
 * when the parser met it: in a join's condition those on either side, not the join
 * itself.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_authid.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/prep.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "rewrite/rowsecurity.h"

#include "pando/compat/query_form.h"
#include "pando/compat/rights.h"

#if PG_VERSION_NUM >= 160000

const RelationRights no_rights = {.type = T_RTEPermissionInfo};

/* A level on the way: which joins make each relation's columns NULL, so far. */
typedef struct Scope
{
	Query *query;
	Relids *nulled_by;
	Bitmapset *met; /* entries that the walk has come by */
} Scope;

typedef struct Walk
{
	List *scopes; /* innermost first */
	bool leave;
} Walk;

static bool form_walker(Node *node, void *context);

RelationRights *
entry_rights_to_set(RangeTblEntry *rte)
{
	if (!entry_has_rights(rte))
		rte->ENTRY_RIGHTS_FIELD = list_make1(makeNode(RTEPermissionInfo));
	return linitial_node(RelationRights, rte->ENTRY_RIGHTS_FIELD);
}

void
rights_waive(RelationRights *rights)
{
	rights->requiredPerms = ACL_SELECT;
	rights->checkAsUser = BOOTSTRAP_SUPERUSERID;
}

/* Adds an entry's rights to a list, and names their place in the entry. */
static void
list_rights(List **list, RangeTblEntry *rte, RelationRights rights)
{
	RelationRights *listed;

	rte->perminfoindex = 0;
	listed = addRTEPermissionInfo(list, rte);
	rights.relid = listed->relid;
	rights.inh = listed->inh;
	*listed = rights;
}

static void
list_rights_to_check(List **list, RangeTblEntry *rte, const RelationRights *rights)
{
	list_rights(list, rte, *rights);
	if (rights->requiredPerms == 0)
		rights_waive(llast(*list));
}

void
compat_target_policies(const Query *query, List **quals, List **checks, bool *secured,
					   bool *sublinks)
{
	Query copy = *query;
	RangeTblEntry target = *rt_fetch(query->resultRelation, query->rtable);

	copy.rteperminfos = NIL;
	list_rights(&copy.rteperminfos, &target, *entry_rights(&target));
	get_row_security_policies(&copy, &target, query->resultRelation, quals, checks,
							  secured, sublinks);
}

void
plan_add_entries(PlannedStmt *stmt, List *entries)
{
	foreach_ptr (RangeTblEntry, rte, entries)
	{
		RangeTblEntry *copy = palloc(sizeof(RangeTblEntry));

		*copy = *rte;
		copy->subquery = NULL;
		copy->ENTRY_RIGHTS_FIELD = NIL;
		list_rights_to_check(&stmt->permInfos, copy, entry_rights(rte));
		stmt->rtable = lappend(stmt->rtable, copy);
	}
}

#if PG_VERSION_NUM >= 170000
static void
merge_form(Query *query, void (*form)(Query *query))
{
	if (query->commandType == CMD_MERGE)
		form(query);
	foreach_ptr (CommonTableExpr, cte, query->cteList)
	{
		if (IsA(cte->ctequery, Query))
			merge_form((Query *) cte->ctequery, form);
	}
}

static void
condition_into_tree(Query *query)
{
	if (query->mergeJoinCondition != NULL)
		query->jointree->quals = query->mergeJoinCondition;
	query->mergeJoinCondition = NULL;
}

static void
condition_out_of_tree(Query *query)
{
	if (query->jointree->quals != NULL)
		query->mergeJoinCondition = query->jointree->quals;
	query->jointree->quals = NULL;
	if (query->mergeTargetRelation == 0)
		query->mergeTargetRelation = query->resultRelation;
}

void
merge_form_enter(Query *query)
{
	merge_form(query, condition_into_tree);
}

void
merge_form_leave(Query *query)
{
	merge_form(query, condition_out_of_tree);
}
#endif

/* ------------------------------------------------------------------------------------
 * The walk.
 */

static void
rights_enter(Query *query)
{
	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		if (rte->perminfoindex == 0)
			continue;
		rte->ENTRY_RIGHTS_FIELD =
			list_make1(copyObject(getRTEPermissionInfo(query->rteperminfos, rte)));
		rte->perminfoindex = 0;
	}
	query->rteperminfos = NIL;
}

/* Entries go on holding theirs: who has the Query may ask for them when it is planned. */
static void
rights_leave(Query *query)
{
	List *before = query->rteperminfos;

	query->rteperminfos = NIL;
	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		if (!entry_is_checked(rte))
			rte->perminfoindex = 0;
		else if (entry_has_rights(rte))
			list_rights_to_check(&query->rteperminfos, rte, entry_rights(rte));
		else
			list_rights_to_check(&query->rteperminfos, rte, listed_rights(before, rte));
	}
}

static void
walk_entry(Walk *walk, Scope *scope, int rtindex)
{
	RangeTblEntry *rte = rt_fetch(rtindex, scope->query->rtable);

	scope->met = bms_add_member(scope->met, rtindex);
	(void) range_table_entry_walker(rte, form_walker, walk, 0);
}

/* The relations below a node, and joins, are made NULL by a join. */
static void
note_nulled(Scope *scope, Node *node, int join)
{
	Relids relids = get_relids_in_jointree(node, true, true);
	int rtindex = -1;

	while ((rtindex = bms_next_member(relids, rtindex)) >= 0)
		scope->nulled_by[rtindex] = bms_add_member(scope->nulled_by[rtindex], join);
}

static void
walk_from(Walk *walk, Scope *scope, Node *node)
{
	if (IsA(node, RangeTblRef))
		walk_entry(walk, scope, ((RangeTblRef *) node)->rtindex);
	else if (IsA(node, FromExpr))
	{
		FromExpr *from = (FromExpr *) node;

		foreach_ptr (Node, item, from->fromlist)
			walk_from(walk, scope, item);
		(void) form_walker(from->quals, walk);
	}
	else
	{
		JoinExpr *join = castNode(JoinExpr, node);

		walk_from(walk, scope, join->larg);
		walk_from(walk, scope, join->rarg);
		(void) form_walker(join->quals, walk);
		if (join->jointype == JOIN_LEFT || join->jointype == JOIN_FULL)
			note_nulled(scope, join->rarg, join->rtindex);
		if (join->jointype == JOIN_RIGHT || join->jointype == JOIN_FULL)
			note_nulled(scope, join->larg, join->rtindex);
		if (join->rtindex > 0)
			walk_entry(walk, scope, join->rtindex);
	}
}

static void
walk_query(Walk *walk, Query *query)
{
	int count = list_length(query->rtable);
	Scope scope = {.query = query, .nulled_by = palloc0_array(Relids, count + 1)};
	List *from = query->jointree != NULL ? query->jointree->fromlist : NIL;
	List *outer = walk->scopes;

	if (walk->leave)
		rights_leave(query);
	else
		rights_enter(query);
	walk->scopes = lcons(&scope, list_copy(outer));
	foreach_ptr (Node, item, from)
		walk_from(walk, &scope, item);
	for (int rtindex = 1; rtindex <= count; rtindex++)
	{
		if (!bms_is_member(rtindex, scope.met))
			walk_entry(walk, &scope, rtindex);
	}
	if (query->jointree != NULL)
		query->jointree->fromlist = NIL;
	(void) query_tree_walker(query, form_walker, walk, QTW_IGNORE_RANGE_TABLE);
	if (query->jointree != NULL)
		query->jointree->fromlist = from;
	walk->scopes = outer;
}

static bool
form_walker(Node *node, void *context)
{
	Walk *walk = context;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		walk_query(walk, (Query *) node);
		return false;
	}
	if (IsA(node, Var))
	{
		Var *var = (Var *) node;
		const Scope *scope = var->varlevelsup < list_length(walk->scopes)
								 ? list_nth(walk->scopes, var->varlevelsup)
								 : NULL;

		if (!walk->leave)
			var->varnullingrels = NULL;
		else if (scope != NULL && var->varno > 0 &&
				 var->varno <= list_length(scope->query->rtable))
			var->varnullingrels = bms_copy(scope->nulled_by[var->varno]);
		return false;
	}
	return expression_tree_walker(node, form_walker, context);
}

void
query_form_enter(Query *query)
{
	Walk walk = {.leave = false};

	merge_form_enter(query);
	walk_query(&walk, query);
}

void
query_form_leave(Query *query)
{
	Walk walk = {.leave = true};

	merge_form_leave(query);
	walk_query(&walk, query);
}

#endif
