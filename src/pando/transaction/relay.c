/*
 * relay.c: what this node leads for another node's client, in that one's transaction.
 *
 * A distributed transaction has one node that is connected with all others: the client's.
 * What only this node can do, such as a change of its own tables, is done here for it,
 * but what has to be told to other nodes is not told: it is noted, and the client's node
 * tells them in its place. That works for all that is commanded and not asked; who needs
 * another node's answer gets an error.
 */
#include "pando/compat/compat.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"

#include "pando/transaction/access.h"
#include "pando/transaction/member.h"

static bool relaying = false;
static List *relayed = NIL; /* RelayedCommand * */
static MemoryContext relay_context = NULL;

bool
relay_note(const DistNode *node, bool order, const char *sql, bool again)
{
	MemoryContext old;
	RelayedCommand *command;

	if (!relaying)
		return false;
	old = MemoryContextSwitchTo(relay_context);
	if (again)
		command = llast(relayed);
	else
	{
		command = palloc0(sizeof(RelayedCommand));
		command->order = order;
		command->sql = pstrdup(sql);
		relayed = lappend(relayed, command);
	}
	command->groups = lappend_int(command->groups, node->group);
	MemoryContextSwitchTo(old);
	return true;
}

void
relay_require_none(const DistNode *node)
{
	if (relaying)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the statement cannot be run for another node"),
				 errdetail("The coordinator would need an answer of node %s:%d for it.",
						   node->host, node->port),
				 errhint("Run the statement on the coordinator.")));
}

bool
xact_is_relaying(void)
{
	return relaying;
}

List *
xact_relay(void (*run)(const char *text), const char *text)
{
	List *commands;

	if (relaying)
		elog(ERROR, "a statement is run for another node already");
	relaying = true;
	relayed = NIL;
	relay_context = CurrentMemoryContext;
	PG_TRY();
	{
		run(text);
	}
	PG_FINALLY();
	{
		relaying = false;
		commands = relayed;
		relayed = NIL;
	}
	PG_END_TRY();
	return commands;
}

/* ------------------------------------------------------------------------------------
 * The client's node
 */

static RelayedCommand *
command_of(const PGresult *result, int row)
{
	RelayedCommand *command = palloc0(sizeof(RelayedCommand));
	char *groups = pstrdup(session_value(result, row, 0));

	for (char *group = strtok(groups, ","); group != NULL; group = strtok(NULL, ","))
		command->groups = lappend_int(command->groups, pg_strtoint32(group));
	command->order = session_value(result, row, 1)[0] == 't';
	command->sql = pstrdup(session_value(result, row, 2));
	return command;
}

List *
xact_relayed(const DistNode *node, const char *sql)
{
	List *commands = NIL;
	Session *session;
	PGresult *result;

	member_settings_lead(true);
	session = member_acquire(node, true, false);
	member_settings_lead(false);
	result = session_run(session, access_sign_order(session, sql));
	for (int row = 0; row < PQntuples(result); row++)
		commands = lappend(commands, command_of(result, row));
	session_result_free(result);
	return commands;
}

void
xact_tell_relayed(const RelayedCommand *command, bool here)
{
	List *nodes = NIL;

	foreach_int(group, command->groups)
	{
		if (here || group != node_local_group())
			nodes = lappend(nodes, (void *) node_by_group(group));
	}
	if (nodes == NIL)
		return;
	if (command->order)
		xact_tell_nodes(nodes, command->sql);
	else
		xact_run_on_nodes(nodes, command->sql);
}
