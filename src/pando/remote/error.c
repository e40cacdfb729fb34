/*
 * error.c: a node's errors and notices become this backend's.
 *
 * This is the one place where it happens. SQLSTATE, message, detail, hint, context and
 * the names in fields are kept; the node is named in the context. libpq's notice receiver
 * may be called in the middle of libpq's work, so notices are queued there and reported
 * when libpq has returned.
 */
#include "pando/compat/compat.h"

#include "pando/remote/wire.h"
#include "utils/guc.h"
#include "utils/memutils.h"

typedef struct Notice
{
	int elevel;
	int sqlstate;
	char *message;
	char *detail;
	char *hint;
} Notice;

/* libpq's texts end with newlines; a copy without them, never NULL. */
char *
error_trim(const char *message)
{
	char *copy = pstrdup(message ? message : "");
	int length = strlen(copy);

	while (length > 0 && (copy[length - 1] == '\n' || copy[length - 1] == ' '))
		copy[--length] = '\0';
	return copy;
}

/* The end of what "<severity>:  <SQLSTATE>: " starts in the text; NULL: it does not. */
static const char *
after_sqlstate(const char *text)
{
	const char *code = text + strlen(":  ");

	if (strncmp(text, ":  ", 3) != 0 ||
		strspn(code, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != SQLSTATE_LENGTH ||
		strncmp(code + SQLSTATE_LENGTH, ": ", 2) != 0)
		return NULL;
	return code + SQLSTATE_LENGTH + strlen(": ");
}

/*
 * Why libpq could not connect, from its verbose text: takes the SQLSTATE out, empty if
 * there is none, and the line that names a place in the server's source, its last one.
 */
char *
error_split(const char *message, char *sqlstate)
{
	char *text = error_trim(message);

	sqlstate[0] = '\0';
	for (char *at = text; *at != '\0'; at++)
	{
		const char *rest = after_sqlstate(at);
		char *line = strrchr(text, '\n');

		if (rest == NULL)
			continue;
		strlcpy(sqlstate, rest - strlen(": ") - SQLSTATE_LENGTH, SQLSTATE_LENGTH + 1);
		if (line > rest && strstr(line, ".c:") != NULL)
			*line = '\0';
		memmove(at + strlen(":  "), rest, strlen(rest) + 1);
		break;
	}
	return text;
}

static char *
field(const PGresult *result, int code)
{
	const char *value = PQresultErrorField(result, code);

	return value ? pstrdup(value) : NULL;
}

static int
sqlstate_of(const PGresult *result, int otherwise)
{
	const char *text = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	if (text == NULL || strlen(text) != 5)
		return otherwise;
	return MAKE_SQLSTATE(text[0], text[1], text[2], text[3], text[4]);
}

bool
session_error_is(const PGresult *error, int sqlstate)
{
	return sqlstate_of(error, 0) == sqlstate;
}

/* The fields that name what the error is about, as PostgreSQL's own errors have them. */
static void
set_names(const PGresult *result)
{
	static const int codes[] = {PG_DIAG_SCHEMA_NAME, PG_DIAG_TABLE_NAME,
								PG_DIAG_COLUMN_NAME, PG_DIAG_DATATYPE_NAME,
								PG_DIAG_CONSTRAINT_NAME};

	for (int i = 0; i < lengthof(codes); i++)
	{
		const char *value = PQresultErrorField(result, codes[i]);

		if (value != NULL)
			err_generic_string(codes[i], value);
	}
}

void
session_raise(Session *session, const PGresult *result, int elevel)
{
	int sqlstate = sqlstate_of(result, ERRCODE_CONNECTION_FAILURE);
	char *message = field(result, PG_DIAG_MESSAGE_PRIMARY);
	char *detail = field(result, PG_DIAG_MESSAGE_DETAIL);
	char *hint = field(result, PG_DIAG_MESSAGE_HINT);
	char *context = field(result, PG_DIAG_CONTEXT);

	if (message == NULL && session->state == SESSION_DEAD)
	{
		session_raise_lost(session, elevel);
		return;
	}
	if (message == NULL)
		message = error_trim(PQresultErrorMessage(result));

	ereport(elevel, (errcode(sqlstate), errmsg_internal("%s", message),
					 detail ? errdetail_internal("%s", detail) : 0,
					 hint ? errhint("%s", hint) : 0, set_names(result),
					 (context && context[0]) ? errcontext("%s", context) : 0,
					 errcontext("while executing command on %s:%d", session->address.host,
								session->address.port)));
}

void
session_raise_lost(Session *session, int elevel)
{
	const char *why = session->wire->lost;

	ereport(elevel, (errcode(ERRCODE_CONNECTION_FAILURE),
					 errmsg("connection to the remote node %s:%d failed",
							session->address.host, session->address.port),
					 (why && why[0]) ? errdetail_internal("%s", why) : 0));
}

int
session_message_level(void)
{
	return remote_min_messages;
}

/* The level that the node's severity means here. */
static int
notice_elevel(const PGresult *result)
{
	static const struct
	{
		const char *severity;
		int elevel;
	} levels[] = {
		{"WARNING", WARNING}, {"NOTICE", NOTICE}, {"INFO", INFO},
		{"LOG", LOG},		  {"DEBUG", DEBUG1},
	};
	const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);

	for (int i = 0; severity != NULL && i < lengthof(levels); i++)
		if (strcmp(severity, levels[i].severity) == 0)
			return levels[i].elevel;
	return NOTICE;
}

/* libpq's notice receiver: only takes notes. */
void
notice_receive(void *arg, const PGresult *result)
{
	Session *session = arg;
	MemoryContext old;
	Notice *notice;
	int elevel = notice_elevel(result);

	/* INFO always reaches the client, as it does from a local statement. */
	if (elevel != INFO && elevel < remote_min_messages)
		return;
	old = MemoryContextSwitchTo(session->wire->context);
	notice = palloc0(sizeof(Notice));
	notice->elevel = elevel;
	notice->sqlstate = sqlstate_of(result, ERRCODE_SUCCESSFUL_COMPLETION);
	notice->message = field(result, PG_DIAG_MESSAGE_PRIMARY);
	notice->detail = field(result, PG_DIAG_MESSAGE_DETAIL);
	notice->hint = field(result, PG_DIAG_MESSAGE_HINT);
	session->wire->notices = lappend(session->wire->notices, notice);
	MemoryContextSwitchTo(old);
}

/* Reports the notices that came in since the last call. */
void
notice_emit(Session *session)
{
	List *notices = session->wire->notices;

	if (notices == NIL)
		return;
	session->wire->notices = NIL;
	foreach_ptr (Notice, notice, notices)
	{
		if (notice->message != NULL)
			ereport(notice->elevel,
					(errcode(notice->sqlstate), errmsg_internal("%s", notice->message),
					 notice->detail ? errdetail_internal("%s", notice->detail) : 0,
					 notice->hint ? errhint("%s", notice->hint) : 0));
		if (notice->message)
			pfree(notice->message);
		if (notice->detail)
			pfree(notice->detail);
		if (notice->hint)
			pfree(notice->hint);
		pfree(notice);
	}
	list_free(notices);
}
