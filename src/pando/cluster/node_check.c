/*
 * node_check.c: is a server fit to be a node of this cluster?
 *
 * What a server says of itself is asked over the transaction's session to it, so that a
 * refused, unreachable or wrongly authenticated connection is the session's own clear
 * error. Two connections reach the same server when its system identifier and the start
 * of its postmaster are the same (a copy of a server shares the former only, as standbys
 * do). A member is never known by its address alone: under a second name it would be sent
 * what it is waiting for itself.
 */
#include "pando/compat/compat.h"

#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "pando/base/sql.h"
#include "pando/cluster/node_check.h"
#include "pando/transaction/xact.h"

#define SERVER_IDENTITY                                                                  \
	"(SELECT system_identifier FROM pg_catalog.pg_control_system()) || ' ' || "          \
	"extract(epoch FROM pg_catalog.pg_postmaster_start_time())"

/* What a server says of itself, one value per line. */
#define SERVER_FACTS                                                                     \
	"SELECT pg_catalog.concat_ws(E'\\n', "                                               \
	"pg_catalog.current_setting('server_version_num')::int / 10000, "                    \
	"coalesce((SELECT extversion FROM pg_catalog.pg_extension WHERE extname = "          \
	"'pando'), ''), "                                                                    \
	"pg_catalog.current_setting('max_prepared_transactions'), " SERVER_IDENTITY          \
	", pg_catalog.pg_is_in_recovery(), "                                                 \
	"pg_catalog.current_setting('is_superuser'))"

#define MEMBER_FACTS                                                                     \
	"SELECT pg_catalog.concat_ws(E'\\n', (SELECT metadata ->> 'server_id' FROM "         \
	"pg_catalog.pg_dist_node_metadata), (SELECT pg_catalog.count(*) FROM "               \
	"pg_catalog.pg_dist_node), (SELECT pg_catalog.count(*) FROM "                        \
	"pg_catalog.pg_dist_partition))"

enum
{
	FACT_MAJOR_VERSION,
	FACT_EXTENSION_VERSION,
	FACT_MAX_PREPARED,
	FACT_IDENTITY,
	FACT_IN_RECOVERY,
	FACT_SUPERUSER,
	FACTS
};

enum
{
	MEMBER_CLUSTER,
	MEMBER_NODES,
	MEMBER_TABLES,
	MEMBER_FACTS_COUNT
};

/* Cuts `text` (which is changed) into its lines. */
static void
facts_split(char *text, char **facts, int count)
{
	for (int i = 0; i < count; i++)
	{
		char *end = text != NULL ? strchr(text, '\n') : NULL;

		facts[i] = text != NULL ? text : "";
		if (end != NULL)
			*end++ = '\0';
		text = end;
	}
}

static void
check_versions(const DistNode *node, char **theirs, char **ours)
{
	if (strcmp(theirs[FACT_MAJOR_VERSION], ours[FACT_MAJOR_VERSION]) != 0)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("node %s:%d runs another major version of PostgreSQL",
							   node->host, node->port),
						errdetail("It runs version %s, this node version %s.",
								  theirs[FACT_MAJOR_VERSION], ours[FACT_MAJOR_VERSION])));
	if (theirs[FACT_EXTENSION_VERSION][0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("extension pando does not exist in database \"%s\" of node %s:%d",
						get_database_name(MyDatabaseId), node->host, node->port),
				 errhint("Connect to that database and run CREATE EXTENSION pando.")));
	if (strcmp(theirs[FACT_EXTENSION_VERSION], ours[FACT_EXTENSION_VERSION]) != 0)
		ereport(
			ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("node %s:%d has another version of extension pando", node->host,
					node->port),
			 errdetail("It has version %s, this node version %s.",
					   theirs[FACT_EXTENSION_VERSION], ours[FACT_EXTENSION_VERSION]),
			 errhint("Install the same version and run ALTER EXTENSION pando UPDATE.")));
}

static void
check_abilities(const DistNode *node, char **theirs)
{
	if (strcmp(theirs[FACT_IN_RECOVERY], "t") == 0)
		ereport(
			ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("node %s:%d is in recovery", node->host, node->port),
			 errdetail("A primary must accept writes."),
			 errhint("Promote it first, or add it with citus_add_secondary_node().")));
	if (strcmp(theirs[FACT_SUPERUSER], "on") != 0)
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("role \"%s\" is not a superuser on node %s:%d",
							   GetUserNameFromId(GetSessionUserId(), false), node->host,
							   node->port)));
	if (strcmp(theirs[FACT_MAX_PREPARED], "0") == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("node %s:%d cannot prepare transactions", node->host, node->port),
				 errdetail("Its max_prepared_transactions is 0; writes on several nodes "
						   "commit in two phases."),
				 errhint("Set max_prepared_transactions there to at least its "
						 "max_connections and restart it.")));
}

/* Returns whether it has metadata of this cluster; raises if it has another's. */
static bool
check_membership(const DistNode *node)
{
	char *facts[MEMBER_FACTS_COUNT];
	char *ours = sql_value("SELECT metadata ->> 'server_id' FROM "
						   "pg_catalog.pg_dist_node_metadata");

	facts_split(xact_value_from_node(node, MEMBER_FACTS), facts, MEMBER_FACTS_COUNT);
	if (ours != NULL && strcmp(facts[MEMBER_CLUSTER], ours) == 0)
		return true;
	if (strcmp(facts[MEMBER_NODES], "0") == 0 && strcmp(facts[MEMBER_TABLES], "0") == 0)
		return false;
	ereport(
		ERROR,
		(errcode(ERRCODE_OBJECT_IN_USE),
		 errmsg("node %s:%d belongs to another cluster", node->host, node->port),
		 errdetail("It has %s nodes and %s distributed tables of its own.",
				   facts[MEMBER_NODES], facts[MEMBER_TABLES]),
		 errhint(
			 "Remove it from the other cluster, or undistribute its tables, first.")));
	return false; /* not reached */
}

/*
 * A server that left in this very transaction still holds the locks of its leaving; a
 * second session to it would wait for them until the end of time.
 */
static void
check_not_leaving(const DistNode *node)
{
	foreach_ptr (const Session, session, session_claimed_list())
	{
		if (session->address.group != node->group &&
			session->address.port == node->port &&
			strcmp(session->address.host, node->host) == 0)
			ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
							errmsg("%s:%d was a node until this transaction changed that",
								   node->host, node->port),
							errhint("Add it in another transaction.")));
	}
}

char *
node_probe(const DistNode *node, const char *sql)
{
	NodeAddress address = {node->id, node->group, node->host, node->port};
	Session *session = session_claim(&address, GetSessionUserId());
	List *sessions = list_make1(session);
	char *value = NULL;

	session_send_simple(session, sql);
	while (session->state != SESSION_DEAD)
	{
		PGresult *result;
		bool ended = session_wait_any(sessions, -1) == NULL;

		while ((result = session_result(session)) != NULL)
		{
			if (PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) > 0)
				value = pstrdup(session_value(result, 0, 0));
			session_result_free(result);
		}
		if (ended || session->state == SESSION_IDLE)
			break;
	}
	if (session->state == SESSION_DEAD)
	{
		value = NULL;
		session_close(session);
	}
	else
		session_release(session);
	return value;
}

/* Raises if the server that `node` leads to is this one, or that of another member. */
static void
check_not_a_member(const DistNode *node, const char *identity)
{
	if (strcmp(identity, sql_value("SELECT " SERVER_IDENTITY)) == 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s:%d is this server itself", node->host, node->port),
						errhint("To set the address of the coordinator, use "
								"citus_set_coordinator_host().")));
	foreach_ptr (const DistNode, member, node_list(NODES_OTHER))
	{
		char *theirs = NULL;

		if (member->id != node->id)
			theirs = node_probe(member, "SELECT " SERVER_IDENTITY);
		if (theirs != NULL && strcmp(theirs, identity) == 0)
			ereport(
				ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("%s:%d is the same server as node %s:%d", node->host, node->port,
						member->host, member->port),
				 errdetail("A server is one node of the cluster, whatever the address "
						   "that leads to it."),
				 errhint("To change its address, use citus_update_node(%d, ...).",
						 member->id)));
	}
}

void
node_check_new_address(const DistNode *node)
{
	char *identity = node_probe(node, "SELECT " SERVER_IDENTITY);

	if (identity != NULL)
		check_not_a_member(node, identity);
}

bool
node_check_fitness(const DistNode *node)
{
	char *theirs[FACTS];
	char *ours[FACTS];

	check_not_leaving(node);
	facts_split(sql_value(SERVER_FACTS), ours, FACTS);
	facts_split(xact_value_from_node(node, SERVER_FACTS), theirs, FACTS);
	check_not_a_member(node, theirs[FACT_IDENTITY]);
	xact_recover_joining(node);
	check_versions(node, theirs, ours);
	check_abilities(node, theirs);
	return check_membership(node);
}

#define SYSTEM_IDENTIFIER                                                                \
	"SELECT pg_catalog.pg_is_in_recovery()::pg_catalog.text || ' ' || "                  \
	"system_identifier FROM pg_catalog.pg_control_system()"

void
node_check_replica(const DistNode *replica, const DistNode *primary)
{
	char *theirs = node_probe(replica, SYSTEM_IDENTIFIER);
	char *ours = primary->group == node_local_group()
					 ? sql_value(SYSTEM_IDENTIFIER)
					 : node_probe(primary, SYSTEM_IDENTIFIER);

	if (theirs == NULL)
		return;
	if (strncmp(theirs, "true ", 5) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("node %s:%d is not in recovery", replica->host, replica->port),
				 errdetail("A secondary is a streaming replica of its primary.")));
	if (ours != NULL && strcmp(strchr(theirs, ' '), strchr(ours, ' ')) != 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s:%d is no replica of node %s:%d", replica->host,
							   replica->port, primary->host, primary->port),
						errdetail("It was made from another server.")));
}

bool
node_is_reachable(const DistNode *node)
{
	return node_probe(node, "SELECT 1") != NULL;
}

bool
node_accepts_writes(const DistNode *node)
{
	char *in_recovery = node_probe(node, "SELECT pg_catalog.pg_is_in_recovery()");

	return in_recovery != NULL && strcmp(in_recovery, "f") == 0;
}
