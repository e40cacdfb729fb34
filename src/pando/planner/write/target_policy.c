/*
 * target_policy.c: row-level security of a table that is changed, and the barriers of the
 * views through which it is.
 *
 * The rewriter keeps both in the target's securityQuals: policies first, then the WHERE
 * clauses of security_barrier views, from the innermost to the outermost. No other
 * condition may see a row before all of them hold, unless it can't tell what it saw.
 *
 * Barriers become conditions of the statement: what is leakproof stands beside them, all
 * else in CASE WHEN barrier THEN ... END, which holds on nodes, in text, and here.
 *
 * Each shard has its table's policies, and a node runs a statement as the client's role
 * with the client's settings. So the node's own rewriter adds the conditions and checks,
 * at the row, once it has the text; what the rewriter added here is taken out before.
 *
 * ON CONFLICT DO UPDATE through a view may meet a row that the view doesn't show. Where
 * PostgreSQL has a check for that (error 55000), the condition of DO UPDATE begins with
 * it.
 *
 * What a view does as its owner the node does with that role's rights and policies, too
 * (transaction/access.h); only a superuser's session on the node knows no policies, so
 * that there it is left as it was, and refused when it comes to text.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "rewrite/rowsecurity.h"
#include "utils/acl.h"
#include "utils/rel.h"
#include "utils/rls.h"

#include "pando/compat/rights.h"
#include "pando/base/expr.h"
#include "pando/metadata/shard_relation.h"
#include "pando/metadata/table.h"
#include "pando/planner/write/target_policy.h"
#include "pando/planner/query/each_level.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/level_fields.h"
#include "pando/transaction/access.h"

static bool
acts_for_client(const RangeTblEntry *rte)
{
	return entry_role(rte) == GetUserId() || access_is_lent(rte);
}

Query *
query_without_target_policies(Query *query)
{
	const RangeTblEntry *rte = rt_fetch(query->resultRelation, query->rtable);
	Query *copy;
	List *options = NIL;

	if ((rte->securityQuals == NIL && query->withCheckOptions == NIL) ||
		!acts_for_client(rte))
		return query;
	copy = copyObject(query);
	rt_fetch(copy->resultRelation, copy->rtable)->securityQuals = NIL;
	foreach_ptr (WithCheckOption, option, copy->withCheckOptions)
	{
		if (option->kind == WCO_VIEW_CHECK)
			options = lappend(options, option);
	}
	copy->withCheckOptions = options;
	return copy;
}

/* How many of the target's securityQuals are policies; the views' come after them. */
static int
count_policies(Query *query, RangeTblEntry *rte)
{
	List *policies = NIL;
	List *checks = NIL;
	bool has_security = false;
	bool has_sublinks = false;
	Relation relation = table_open(rte->relid, AccessShareLock);
	bool secured = relation->rd_rel->relrowsecurity;

	table_close(relation, NoLock);
	if (secured)
		compat_target_policies(query, &policies, &checks, &has_security, &has_sublinks);
	return list_length(policies);
}

/* The conditions as they have to stand where `barrier` decides which rows they see. */
static List *
quals_behind(Node *barrier, List *quals)
{
	List *beside = NIL;
	List *behind = NIL;

	foreach_ptr (Node, qual, quals)
	{
		if (contain_leaked_vars(qual))
			behind = lappend(behind, qual);
		else
			beside = lappend(beside, qual);
	}
	if (behind == NIL)
		return list_concat(quals_flat(barrier), beside);
	behind = list_make1(expr_if(copyObject(barrier), quals_as_node(behind)));
	/* For indexes, and to tell shard groups; evaluated twice then. */
	if (!contain_volatile_functions(barrier))
		beside = list_concat(quals_flat(barrier), beside);
	return list_concat(beside, behind);
}

/* Makes conditions of the target's securityQuals but the first ones. */
static void
take_barriers(Query *query, int kept)
{
	RangeTblEntry *rte = rt_fetch(query->resultRelation, query->rtable);
	List *quals = quals_flat(query->jointree->quals);

	for (int i = list_length(rte->securityQuals) - 1; i >= kept; i--)
		quals = quals_behind(list_nth(rte->securityQuals, i), quals);
	query->jointree->quals = quals_as_node(quals);
	rte->securityQuals = list_truncate(rte->securityQuals, kept);
}

static void
level_take_barriers(Query *query)
{
	take_barriers(query,
				  count_policies(query, rt_fetch(query->resultRelation, query->rtable)));
}

bool
target_is_unread(const RangeTblEntry *target)
{
	return (entry_rights(target)->requiredPerms & ACL_SELECT) == 0;
}

bool
target_has_policies(const RangeTblEntry *target)
{
	return check_enable_rls(target->relid, entry_role(target), true) == RLS_ENABLED;
}

bool
update_is_blind(const Query *query)
{
	const RangeTblEntry *rte = rt_fetch(query->resultRelation, query->rtable);

	return query->commandType == CMD_UPDATE && target_is_unread(rte) &&
		   target_has_policies(rte);
}

bool
target_is_read_unasked(const Query *query)
{
	const RangeTblEntry *rte = rt_fetch(query->resultRelation, query->rtable);

	return target_is_unread(rte) && target_has_policies(rte) &&
		   (bms_is_member(query->resultRelation,
						  pull_varnos(NULL, (Node *) query->jointree)) ||
			bms_is_member(query->resultRelation,
						  pull_varnos(NULL, (Node *) query->targetList)));
}

void
level_take_policies(Query *query, List *policies)
{
	rt_fetch(query->resultRelation, query->rtable)->securityQuals = copyObject(policies);
	take_barriers(query, 0);
	query->hasSubLinks |= checkExprHasSubLink(query->jointree->quals);
}

void
entry_use_past_policies(RangeTblEntry *rte, AclMode rights)
{
	entry_clear(rte, ENTRY_RIGHTS);
	entry_rights_to_set(rte)->requiredPerms = rights;
	entry_rights_to_set(rte)->checkAsUser = relation_role_past_policies(rte->relid);
}

static bool
unforce_level(Query *level, void *context)
{
	foreach_ptr (RangeTblEntry, rte, level->rtable)
	{
		if (rte->rtekind == RTE_RELATION && dist_table(rte->relid) != NULL &&
			relation_forces_policies(rte->relid) &&
			compat_owns_relation(rte->relid, entry_role(rte)))
			entry_use_past_policies(rte, entry_rights(rte)->requiredPerms);
	}
	return false;
}

void
query_use_past_forced_policies(Query *query)
{
	(void) query_each_level(query, unforce_level, NULL);
}

static bool
has_barriers(const Query *query)
{
	return (query->commandType == CMD_UPDATE || query->commandType == CMD_DELETE) &&
		   rt_fetch(query->resultRelation, query->rtable)->securityQuals != NIL;
}

Query *
query_with_barriers_as_quals(Query *query)
{
	bool found = has_barriers(query);

	foreach_ptr (CommonTableExpr, cte, query->cteList)
		found |= has_barriers((Query *) cte->ctequery);
	if (!found)
		return query;
	query = copyObject(query);
	if (has_barriers(query))
		level_take_barriers(query);
	foreach_ptr (CommonTableExpr, cte, query->cteList)
	{
		if (has_barriers((Query *) cte->ctequery))
			level_take_barriers((Query *) cte->ctequery);
	}
	return query;
}
