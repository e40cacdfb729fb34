/*
 * run_command.c: statements run on nodes for their text result, one by one,
 * errors and all.
 *
 * A Lane is the session to one node with the commands that wait for it. Lanes are driven
 * by one loop: send what can be sent, wait for any session, take in what arrived.
 * Sessions are neither taken from the pool nor given back to it: a command finds the
 * node's own settings, and may have changed anything about its session.
 *
 * Unlike a query's tasks these are no part of the client's transaction: each is its own
 * transaction, on a fresh session to the node with the node's own settings, as the
 * session user. Only where the client's transaction has already written to the node, or
 * (for this node) is a transaction block, does the statement run inside it, in a
 * subtransaction: elsewhere it would not see what was written, or wait for the client's
 * own locks.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "postmaster/postmaster.h"
#include "tcop/cmdtag.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "pando/metadata/node.h"
#include "pando/remote/session.h"
#include "pando/transaction/access.h"
#include "pando/transaction/xact.h"

#define LANE_CANCEL_MS 2000

typedef struct Command
{
	NodeAddress address;
	const char *sql;

	/* Set by run_commands_on_nodes(). */
	bool success;
	bool unreachable; /* the node could not be reached or was lost */
	char *result;	/* first column of the first row, or the command's tag; error text */
	char *sqlstate; /* of the error */
} Command;

typedef struct Lane
{
	NodeAddress address;
	Session *session; /* NULL before the first command and after the last */
	List *waiting;	  /* of Command * */
	Command *current;
} Lane;

/* ------------------------------------------------------------------------------------
 * Results.
 */

static void
command_succeed(Command *command, const char *text)
{
	command->success = true;
	command->result = text != NULL ? pstrdup(text) : NULL;
}

static void
command_fail(Command *command, const char *message, const char *sqlstate)
{
	command->success = false;
	command->result = psprintf("ERROR: %s", message);
	command->sqlstate = sqlstate != NULL ? pstrdup(sqlstate) : NULL;
}

/* Takes in one result of the node; a later one of the same command replaces it. */
static void
command_take_result(Command *command, const PGresult *result)
{
	const char *message;

	switch (PQresultStatus(result))
	{
		case PGRES_TUPLES_OK:
			if (PQntuples(result) == 0 || PQnfields(result) == 0)
				command_succeed(command, "");
			else
				command_succeed(
					command, PQgetisnull(result, 0, 0) ? NULL : PQgetvalue(result, 0, 0));
			break;
		case PGRES_FATAL_ERROR:
			message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
			command_fail(command,
						 message != NULL ? message : PQresultErrorMessage(result),
						 PQresultErrorField(result, PG_DIAG_SQLSTATE));
			break;
		default:
			command_succeed(command, PQcmdStatus((PGresult *) result));
			break;
	}
}

/* The error being handled, as the command's result; the error state is cleared. */
static void
command_take_error(Command *command, MemoryContext context)
{
	ErrorData *error;
	const char *sqlstate;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	FlushErrorState();
	sqlstate = unpack_sql_state(error->sqlerrcode);
	if (error->sqlerrcode == ERRCODE_QUERY_CANCELED ||
		error->sqlerrcode == ERRCODE_ADMIN_SHUTDOWN)
		ReThrowError(error);
	if (error->detail != NULL && error->sqlerrcode == ERRCODE_CONNECTION_FAILURE)
		command_fail(command, psprintf("%s: %s", error->message, error->detail),
					 sqlstate);
	else
		command_fail(command, error->message, sqlstate);
	command->unreachable = error->sqlerrcode == ERRCODE_CONNECTION_FAILURE;
	FreeErrorData(error);
}

/* The loss of a session as a command's result. */
static void
command_take_loss(Command *command, Session *session)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		session_raise_lost(session, ERROR);
	}
	PG_CATCH();
	{
		command_take_error(command, context);
	}
	PG_END_TRY();
	command->unreachable = true;
}

/* ------------------------------------------------------------------------------------
 * Inside the client's transaction.
 */

static bool
command_is_local(const Command *command)
{
	return command->address.group == node_local_group();
}

static bool
command_must_join(const Command *command)
{
	if (command_is_local(command))
		return IsTransactionBlock() || IsSubTransaction() ||
			   TransactionIdIsValid(GetTopTransactionIdIfAny());
	return xact_wrote_on(command->address.group);
}

/* What psql would print after a statement that returns no rows. */
static char *
command_tag(const char *sql, uint64 processed)
{
	List *statements = pg_parse_query(sql);
	CommandTag tag;

	if (statements == NIL)
		return "";
	tag = CreateCommandTag((Node *) llast_node(RawStmt, statements));
	if (!command_tag_display_rowcount(tag))
		return (char *) GetCommandTagName(tag);
	return psprintf("%s%s " UINT64_FORMAT, GetCommandTagName(tag),
					tag == CMDTAG_INSERT ? " 0" : "", processed);
}

static void
command_run_here(Command *command, MemoryContext context)
{
	char *value = NULL;
	MemoryContext old;
	int status;

	SPI_connect();
	status = SPI_execute(command->sql, false, 0);
	if (status < 0)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("the command can't run inside a transaction block on this "
							   "node")));
	if (SPI_tuptable == NULL)
		value = command_tag(command->sql, SPI_processed);
	else if (SPI_processed == 0)
		value = "";
	else
		value = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
	old = MemoryContextSwitchTo(context);
	command_succeed(command, value);
	MemoryContextSwitchTo(old);
	SPI_finish();
}

static void
command_run_there(Command *command, MemoryContext context)
{
	Session *session;
	PGresult *result;
	MemoryContext old;

	/* A command could end the transaction, and with it what keeps it to these rights. */
	if (access_role_is_out_of_reach())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("commands cannot be run on nodes with the rights of role \"%s\" "
						"within a transaction of role \"%s\"",
						GetUserNameFromId(GetUserId(), false),
						GetUserNameFromId(GetSessionUserId(), false))));
	session = xact_session(node_by_group(command->address.group), XACT_WRITE);
	result = session_run(session, command->sql);
	old = MemoryContextSwitchTo(context);
	if (result != NULL)
		command_take_result(command, result);
	else
		command_succeed(command, "");
	MemoryContextSwitchTo(old);
	session_result_free(result);
}

/* Runs in a subtransaction, so that an error stays without further consequence. */
static void
command_run_joined(Command *command)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		if (command_is_local(command))
			command_run_here(command, context);
		else
			command_run_there(command, context);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		command_take_error(command, context);
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
}

/* ------------------------------------------------------------------------------------
 * Outside of it.
 */

static void
lane_close(Lane *lane)
{
	if (lane->session == NULL)
		return;
	if (lane->session->state == SESSION_BUSY || lane->session->state == SESSION_COPY_OUT)
		(void) session_request_cancel(lane->session, LANE_CANCEL_MS);
	session_close(lane->session);
	lane->session = NULL;
}

/* Sends the next command, if any. */
static void
lane_start(Lane *lane)
{
	if (lane->waiting == NIL)
		return;
	if (lane->session == NULL)
		lane->session = session_claim_apart(&lane->address, GetUserId());
	lane->current = linitial(lane->waiting);
	lane->waiting = list_delete_first(lane->waiting);
	command_succeed(lane->current, "");
	if (lane->session->state != SESSION_DEAD)
		session_send_simple(lane->session, lane->current->sql);
}

/* COPY has no place here: data that comes is thrown away, data that is asked for refused.
 */
static void
lane_handle_copy(Lane *lane)
{
	const char *data;

	if (lane->session->state == SESSION_COPY_IN)
		session_copy_end(lane->session, "COPY FROM STDIN is not supported here");
	while (lane->session->state == SESSION_COPY_OUT &&
		   session_copy_get(lane->session, &data) > 0)
		;
}

/* The session is lost: so are its commands, for the next attempt would take as long. */
static void
lane_fail(Lane *lane)
{
	command_take_loss(lane->current, lane->session);
	foreach_ptr (Command, command, lane->waiting)
	{
		command->success = false;
		command->unreachable = true;
		command->result = pstrdup(lane->current->result);
		command->sqlstate = lane->current->sqlstate;
	}
	lane->waiting = NIL;
	lane->current = NULL;
	lane_close(lane);
}

/* Takes in what has arrived; when the current command is over there is none any more. */
static void
lane_advance(Lane *lane)
{
	Session *session = lane->session;
	PGresult *result;

	lane_handle_copy(lane);
	while ((result = session_result(session)) != NULL)
	{
		command_take_result(lane->current, result);
		session_result_free(result);
		lane_handle_copy(lane);
	}
	if (session->state == SESSION_DEAD)
		lane_fail(lane);
	else if (session->state == SESSION_IDLE)
		lane->current = NULL;
}

/* Goes on until the lane has to wait for its node, or has no more commands. */
static void
lane_step(Lane *lane)
{
	do
	{
		if (lane->current == NULL)
			lane_start(lane);
		if (lane->current != NULL)
			lane_advance(lane);
	} while (lane->current == NULL && lane->waiting != NIL);
}

static Lane *
lane_for(List **lanes, const NodeAddress *address)
{
	Lane *lane;

	foreach_ptr (Lane, present, *lanes)
		if (present->address.port == address->port &&
			strcmp(present->address.host, address->host) == 0)
			return present;
	lane = palloc0(sizeof(Lane));
	lane->address = *address;
	*lanes = lappend(*lanes, lane);
	return lane;
}

static void
lanes_run(List *lanes)
{
	for (;;)
	{
		List *busy = NIL;

		foreach_ptr (Lane, lane, lanes)
		{
			lane_step(lane);
			if (lane->current != NULL)
				busy = lappend(busy, lane->session);
		}
		if (busy == NIL)
			return;
		session_wait_any(busy, -1);
		list_free(busy);
	}
}

static void
run_outside(List *commands, bool parallel)
{
	List *lanes = NIL;

	foreach_ptr (Command, command, commands)
		(void) lane_for(&lanes, &command->address);
	PG_TRY();
	{
		foreach_ptr (Command, command, commands)
		{
			Lane *lane = lane_for(&lanes, &command->address);

			lane->waiting = lappend(lane->waiting, command);
			if (!parallel)
				lanes_run(lanes);
		}
		lanes_run(lanes);
	}
	PG_FINALLY();
	{
		foreach_ptr (Lane, lane, lanes)
			lane_close(lane);
	}
	PG_END_TRY();
}

/*
 * Runs a List of Command *; with `parallel`, nodes work at the same time (one node always
 * runs its commands in order). Raises only for reasons of this backend.
 */
static void
run_commands_on_nodes(List *commands, bool parallel)
{
	List *inside = NIL;
	List *outside = NIL;

	/*
	 * What a table's owner can smuggle into an administrator's ANALYZE or REFRESH must
	 * not get a session with the administrator's rights.
	 */
	if (InSecurityRestrictedOperation())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("cannot run commands on nodes within a security-restricted "
						"operation")));
	foreach_ptr (Command, command, commands)
	{
		if (command_must_join(command))
			inside = lappend(inside, command);
		else
			outside = lappend(outside, command);
	}
	run_outside(outside, parallel);
	foreach_ptr (Command, command, inside)
		command_run_joined(command);
}

/* ------------------------------------------------------------------------------------
 * SQL.
 */

PG_FUNCTION_INFO_V1(run_commands);
PG_FUNCTION_INFO_V1(command_expand);
PG_FUNCTION_INFO_V1(citus_check_connection_to_node);

/* Address of a node by its id; 0 is this server, also before it has an id, -1 the
 * coordinator. */
static NodeAddress
address_of_node(int32 id)
{
	const DistNode *node;
	NodeAddress address = {0};

	if (id == -1 && node_is_coordinator())
		id = 0;
	if (id == -1)
		node = node_by_group(COORDINATOR_GROUP);
	else
		node = id == 0 ? node_local() : node_by_id(id);
	if (node == NULL && id != 0)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("node %d does not exist", id)));
	address.node_id = id;
	if (node != NULL)
	{
		address.node_id = node->id;
		address.group = node->group;
		address.host = pstrdup(node->host);
		address.port = node->port;
		return address;
	}
	address.group = node_local_group();
	address.host = node_local_hostname;
	address.port = PostPortNumber;
	return address;
}

/* run_commands(node ids, commands, parallel, warn): one row per command, in their order
 */
Datum
run_commands(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	ArrayType *ids = PG_GETARG_ARRAYTYPE_P(0);
	ArrayType *texts = PG_GETARG_ARRAYTYPE_P(1);
	bool parallel = PG_GETARG_BOOL(2);
	bool warn = PG_GETARG_BOOL(3);
	Datum *id_values, *text_values;
	bool *nulls;
	int n, ntexts, ord = 0;
	List *commands = NIL;

	InitMaterializedSRF(fcinfo, 0);
	deconstruct_array(ids, INT4OID, sizeof(int32), true, TYPALIGN_INT, &id_values, &nulls,
					  &n);
	deconstruct_array(texts, TEXTOID, -1, false, TYPALIGN_INT, &text_values, &nulls,
					  &ntexts);
	if (n != ntexts)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("array arguments differ in length")));
	for (int i = 0; i < n; i++)
	{
		Command *command = palloc0(sizeof(Command));

		if (nulls[i])
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
							errmsg("command must not be null")));
		command->address = address_of_node(DatumGetInt32(id_values[i]));
		command->sql = TextDatumGetCString(text_values[i]);
		commands = lappend(commands, command);
	}
	run_commands_on_nodes(commands, parallel);

	foreach_ptr (Command, command, commands)
	{
		Datum values[4] = {Int32GetDatum(++ord), BoolGetDatum(command->success)};
		bool row_nulls[4] = {false, false, command->result == NULL,
							 command->success || command->sqlstate == NULL};

		if (command->unreachable && warn)
			ereport(WARNING, (errcode(ERRCODE_CONNECTION_FAILURE),
							  errmsg("%s", command->result + strlen("ERROR: "))));
		if (command->result != NULL)
			values[2] = CStringGetTextDatum(command->result);
		if (!row_nulls[3])
			values[3] = CStringGetTextDatum(command->sqlstate);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, row_nulls);
	}
	return (Datum) 0;
}

/*
 * command_expand(command, names): puts names in the place of %s, %I and %L: the first
 * name for the first one and so on, the last name for all that follow. %% stands for %.
 */
Datum
command_expand(PG_FUNCTION_ARGS)
{
	char *command = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Datum *names;
	bool *nulls;
	int n, next = 0;
	StringInfoData out;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), TEXTOID, -1, false, TYPALIGN_INT, &names,
					  &nulls, &n);
	initStringInfo(&out);
	for (const char *at = command; *at != '\0'; at++)
	{
		bool slot = at[0] == '%' && (at[1] == 's' || at[1] == 'I' || at[1] == 'L');

		if (slot && n > 0)
		{
			char *name = TextDatumGetCString(names[Min(next, n - 1)]);

			appendStringInfoString(&out, at[1] == 'L' ? quote_literal_cstr(name) : name);
			next++;
			at++;
			continue;
		}
		appendStringInfoChar(&out, *at);
		if (at[0] == '%' && at[1] == '%')
			at++;
	}
	PG_RETURN_TEXT_P(cstring_to_text(out.data));
}

/* Can this server open a session there, as the current client's user? */
Datum
citus_check_connection_to_node(PG_FUNCTION_ARGS)
{
	Command command = {0};

	command.address.host = text_to_cstring(PG_GETARG_TEXT_PP(0));
	command.address.port = PG_GETARG_INT32(1);
	command.address.group = -1;
	if (node_by_name(command.address.host, command.address.port) == NULL && !superuser())
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("must be superuser to connect to a server that is not a "
							   "node of the cluster")));
	command.sql = "SELECT 1";
	run_commands_on_nodes(list_make1(&command), true);
	PG_RETURN_BOOL(command.success);
}
