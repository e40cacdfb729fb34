/*
 * lost_copy.c: copies that can't be reached are marked, and then left alone.
 *
 * Connections are made before anything is written, so a node that is away is found while
 * it can still be left out. Marking changes pg_dist_placement on all nodes that can be
 * reached, the coordinator first: there the rows of the shard group's placements are
 * locked, so that two who find different copies lost don't mark them both. Whoever could
 * not be told is recorded as such (pg_dist_node.metadatasynced): until the coordinator
 * has brought it up to date it must not choose copies itself, since it might read one
 * that is marked. That is why other nodes than the coordinator ask it before they do.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "utils/builtins.h"
#include "utils/inval.h"

#include "pando/base/debug_point.h"
#include "pando/base/int_map.h"
#include "pando/base/name.h"
#include "pando/catalog/partition.h"
#include "pando/executor/lost_copy.h"
#include "pando/metadata/node.h"
#include "pando/transaction/xact.h"

#define CONNECT_WAIT_MS 2

/*
 * Was the node itself out of reach? A session that broke in use may have been ended by
 * somebody, and a node that answers with an error is there.
 */
static bool
never_connected(const Session *session)
{
	return session->state == SESSION_DEAD &&
		   (session->conn == NULL ||
			(PQparameterStatus(session->conn, "server_version") == NULL &&
			 strstr(PQerrorMessage(session->conn), "FATAL:") == NULL));
}

/* Has this transaction already found out that the node is away? */
static bool
known_as_lost(int32 group)
{
	List *sessions = session_claimed_list();
	bool lost = false;

	foreach_ptr (Session, session, sessions)
	{
		if (session->address.group == group && never_connected(session))
			lost = true;
	}
	list_free(sessions);
	return lost;
}

/* Connects to all of the nodes at once; the groups of those that can't be reached. */
static List *
unreachable(List *groups)
{
	List *lost = NIL;
	List *sessions = NIL;
	ListCell *cell;

	foreach (cell, groups)
	{
		int32 group = lfirst_int(cell);

		if (known_as_lost(group))
			lost = lappend_int(lost, group);
		else
			sessions = lappend(sessions, xact_session(node_by_group(group), XACT_READ));
	}
	for (;;)
	{
		List *connecting = NIL;

		foreach_ptr (Session, session, sessions)
		{
			if (session->state == SESSION_CONNECTING)
				connecting = lappend(connecting, session);
		}
		if (connecting == NIL)
			break;
		(void) session_wait_any(connecting, CONNECT_WAIT_MS);
		list_free(connecting);
	}
	foreach_ptr (Session, session, sessions)
	{
		if (never_connected(session))
			lost = lappend_int(lost, session->address.group);
		else if (session->state == SESSION_DEAD)
			session_raise_lost(session, ERROR);
	}
	list_free(sessions);
	return lost;
}

/* Groups of other nodes that hold one of several copies of one of the shards. */
static List *
groups_of_copies(const DistTable *table, const Bitmapset *indexes)
{
	IntMap *seen = int_map_create();
	List *groups = NIL;
	int index = -1;

	while ((index = bms_next_member(indexes, index)) >= 0)
	{
		const Shard *shard = &table->shards[index];

		for (int i = 0; i < shard->nplacements && shard->nplacements > 1; i++)
		{
			int32 group = shard->placements[i].group;

			if (group != node_local_group() && int_map_first(seen, group))
				groups = lappend_int(groups, group);
		}
	}
	return groups;
}

static void
append_number(StringInfo out, int64 number)
{
	appendStringInfo(out, "%s" INT64_FORMAT, out->len == 0 ? "" : ",", number);
}

static char *
groups_text(List *groups)
{
	StringInfoData text;
	ListCell *cell;

	initStringInfo(&text);
	foreach (cell, groups)
		append_number(&text, lfirst_int(cell));
	return text.data;
}

/* The shards with these indexes of all tables that are colocated. */
static char *
shards_text(const DistTable *table, const Bitmapset *indexes)
{
	StringInfoData text;
	ListCell *cell;

	initStringInfo(&text);
	foreach (cell, dist_table_oids_of_colocation(table->colocation))
	{
		const DistTable *other = dist_table_require(lfirst_oid(cell));
		int index = -1;

		while ((index = bms_next_member(indexes, index)) >= 0)
		{
			if (index < other->nshards)
				append_number(&text, other->shards[index].id);
		}
	}
	return text.data;
}

/* Marks them here and on all nodes that can be reached, the coordinator first. */
static void
mark(const DistTable *table, const Bitmapset *indexes, List *lost)
{
	List *rest = NIL;
	List *unreached;
	List *first = NIL;
	List *others = NIL;
	char *sql;

	foreach_ptr (const DistNode, node, node_list(NODES_OTHER))
	{
		if (!list_member_int(lost, node->group))
			rest = lappend_int(rest, node->group);
	}
	unreached = list_concat_copy(lost, unreachable(rest));
	if (list_member_int(unreached, COORDINATOR_GROUP))
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("copies of shards of table \"%s\" cannot be reached, and neither "
						"can the coordinator",
						name_qualified(table->relid)),
				 errdetail("Only with the coordinator can a lost copy be marked.")));
	foreach_ptr (const DistNode, node, node_list(NODES_ALL))
	{
		if (node->group == COORDINATOR_GROUP)
			first = lappend(first, unconstify(DistNode *, node));
		else if (!list_member_int(unreached, node->group))
			others = lappend(others, unconstify(DistNode *, node));
	}
	sql =
		psprintf("SELECT pando.copies_lost('{%s}', '{%s}', '{%s}')",
				 shards_text(table, indexes), groups_text(lost), groups_text(unreached));
	xact_tell_nodes(first, sql);
	xact_tell_nodes(others, sql);
	CommandCounterIncrement();
	DEBUG_POINT("write-after-mark");
}

List *
lost_copies_mark(const DistTable *table, const Bitmapset *indexes)
{
	List *groups;
	List *lost;
	ListCell *cell;

	if (table->repmodel != REPMODEL_COPIES)
		return NIL;
	groups = groups_of_copies(table, indexes);
	if (groups == NIL)
		return NIL;
	lost = unreachable(groups);
	if (lost == NIL)
		return NIL;
	mark(table, indexes, lost);
	foreach (cell, lost)
	{
		const DistNode *node = node_by_group(lfirst_int(cell));

		ereport(WARNING,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("node %s:%d cannot be reached, its copies of shards of table "
						"\"%s\" are marked as lost",
						node->host, node->port, name_qualified(table->relid)),
				 errhint("When the node is back, repair them with "
						 "citus_copy_shard_placement().")));
	}
	return lost;
}

void
lost_copies_known(const DistTable *table)
{
	char *synced;

	if (table->repmodel != REPMODEL_COPIES || node_is_coordinator())
		return;
	synced = xact_value_from_node(
		node_by_group(COORDINATOR_GROUP),
		psprintf("SELECT metadatasynced FROM pg_catalog.pg_dist_node "
				 "WHERE groupid = %d AND noderole = 'primary'",
				 node_local_group()));
	if (synced != NULL && strcmp(synced, "t") == 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("this node does not know which copies of shards of table \"%s\" are "
					"lost",
					name_qualified(table->relid)),
			 errdetail("It could not be reached when copies were marked."),
			 errhint("The coordinator brings it up to date within seconds; SELECT "
					 "start_metadata_sync_to_node() there does it at once.")));
}
