/*
 * host_share.c: how many processes one node's part of a statement may have.
 *
 * A statement over all shards runs on all nodes at once. Where several of them are on one
 * host, each with the parallel workers that PostgreSQL gives to who has the host for
 * himself, there are more processes than processors: they pass rows on to each other for
 * nothing. So nodes of one host share its processors. What another node asks of several
 * shards of a table, which is a node's part of such a statement, is planned with
 * processors / nodes - 1 parallel workers beside the leader at most. A statement of one
 * shard group is nobody's part, and has what PostgreSQL gives it.
 */
#include "pando/compat/compat.h"

#include <unistd.h>

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "utils/guc.h"

#include "pando/metadata/node.h"
#include "pando/metadata/shard_relation.h"
#include "pando/planner/fragment/planning.h"
#include "pando/planner/local/host_share.h"
#include "pando/transaction/xact.h"

static int given_processors = 0; /* pando.host_processors */

static int
host_processors(void)
{
	long online = given_processors > 0 ? given_processors : sysconf(_SC_NPROCESSORS_ONLN);

	return online > 0 ? (int) online : 1;
}

/* Of those that have shards, this one included. */
static int
nodes_of_host(void)
{
	const DistNode *own = node_local();
	int count = 1;

	if (own == NULL)
		return 1;
	foreach_ptr (const DistNode, node, node_list(NODES_WITH_SHARDS))
		count += node->group != own->group && strcmp(node->host, own->host) == 0;
	return count;
}

typedef struct ShardsRead
{
	List *relids;
	List *shells;
} ShardsRead;

/* Reads the query two shards of one table? */
static bool
several_shards_walker(Node *node, void *context)
{
	ShardsRead *seen = context;

	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		Oid relid = ((RangeTblEntry *) node)->relid;
		Oid shell;

		if (((RangeTblEntry *) node)->rtekind != RTE_RELATION ||
			!relation_is_shard(relid, NULL, &shell) ||
			list_member_oid(seen->relids, relid))
			return false;
		if (list_member_oid(seen->shells, shell))
			return true;
		seen->relids = lappend_oid(seen->relids, relid);
		seen->shells = lappend_oid(seen->shells, shell);
		return false;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, several_shards_walker, context,
								 QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, several_shards_walker, context);
}

PlannedStmt *
plan_within_share(Query *query, const char *source, int cursor_options,
				  ParamListInfo params)
{
	int given = max_parallel_workers_per_gather;
	bool parallel = given > 0 && (cursor_options & CURSOR_OPT_PARALLEL_OK) != 0;
	ShardsRead seen = {0};
	bool is_part =
		parallel && xact_is_for_node() && several_shards_walker((Node *) query, &seen);
	int nodes = is_part ? nodes_of_host() : 1;
	PlannedStmt *stmt;

	if (nodes == 1)
		return plan_locally(query, source, cursor_options, params);
	max_parallel_workers_per_gather = Min(given, Max(host_processors() / nodes - 1, 0));
	PG_TRY();
	{
		stmt = plan_locally(query, source, cursor_options, params);
	}
	PG_FINALLY();
	{
		max_parallel_workers_per_gather = given;
	}
	PG_END_TRY();
	return stmt;
}

void
host_share_init(void)
{
	DefineCustomIntVariable(
		"pando.host_processors",
		"Processors that the nodes on this host share; 0: those that it has.",
		"A statement that runs on several nodes of a host has no more processes there.",
		&given_processors, 0, 0, 1024 * 1024, PGC_USERSET, 0, NULL, NULL, NULL);
}
