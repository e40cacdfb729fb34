/*
 * target_policy.c: row-level security of a table that is changed.
 *
 * Each shard has its table's policies, and a node runs a statement as the client's role
 * with the client's settings. So the node's own rewriter adds the conditions and checks,
 * at the row, once it has the text; what the rewriter added here is taken out before.
 *
 * What a view does as its owner the node does with that role's rights and policies, too
 * (transaction/access.h); only a superuser's session on the node knows no policies, so
 * that there it is left as it was, and refused when it comes to text.
 */
#include "pando/compat/compat.h"

#include "miscadmin.h"
#include "nodes/nodes.h"
#include "parser/parsetree.h"

#include "pando/planner/write.h"
#include "pando/transaction/access.h"

static bool
acts_for_client(const RangeTblEntry *rte)
{
	return !OidIsValid(rte->checkAsUser) || rte->checkAsUser == GetUserId() ||
		   access_is_lent(rte);
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
