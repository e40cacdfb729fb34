/*
 * access.c: tables that a statement may use with the rights of another role.
 *
 * What a view reads it reads with its owner's rights. The node that plans the statement
 * checks them, on the shell tables; other nodes check again, on the shards, and must do
 * so for the same role. An ordinary user must gain nothing by connecting to a node and
 * claiming to be a view. So the claim is signed:
 *
 *     /<star>pando_access <number> <hmac> <roles><star>/ statements
 *
 * with the cluster's secret (pando.node_secret, the superusers' alone, the same on all
 * nodes), over the number, the roles, the statements and the *challenge*: a random value
 * that each backend makes for itself and tells whom it serves. The signature is thus good
 * for one backend. Numbers must rise, and each statement of the text is analysed once, as
 * the client's own and not as some function's: it is good for one time. What others see
 * of it in pg_stat_activity is of no use.
 *
 * In the same way a session is made to act as the owner of a SECURITY DEFINER function
 * that its user may call but whose role he may not take: pando.act_as() switches the
 * backend's user as the function call did here, with no way back by SET ROLE.
 *
 * An order that only nodes may give each other is signed with ORDER in the place of
 * roles.
 *
 * With it parse analysis gives the relations with such aliases their role, as the
 * rewriter does for a view's. All else is PostgreSQL's: permissions and policies are
 * those of that role, and functions run as who asked.
 *
 * A signed statement has columns that the client did not name, for their defaults or to
 * find rows again: the node that signs has checked those that he did. A right on any
 * column of a table is enough here.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "common/cryptohash.h"
#include "common/hmac.h"
#include "common/sha2.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "pando/compat/rights.h"
#include "pando/base/sql.h"
#include "pando/catalog/register.h"
#include "pando/transaction/access.h"
#include "pando/transaction/member.h"

#define MARK "/*pando_access "
#define ORDER "order"

PG_FUNCTION_INFO_V1(session_challenge);
PG_FUNCTION_INFO_V1(act_as);

static post_parse_analyze_hook_type next_analyze = NULL;
static AccessHere here; /* a statement of this backend on its own shards */

/* The signed text being analysed. */
static char *signed_text = NULL;
static List *signed_roles = NIL;
static TimestampTz signed_at = 0;
static int signed_location = -1; /* of its statement analysed last */
static bool signed_order = false;
static int order_depth = 0; /* this backend runs its own, nested that deep; 0: none */
static uint64 last_number = 0;

/* What this backend is without pando.act_as(); set when it was called in the transaction.
 */
static bool acted = false;
static Oid own_user = InvalidOid;
static int own_context = 0;

bool
access_is_lent(const RangeTblEntry *rte)
{
	return entry_role(rte) != GetUserId() && !superuser();
}

bool
access_is_by_columns(Oid relid, AclMode right)
{
	return pg_class_aclcheck(relid, GetUserId(), right) != ACLCHECK_OK;
}

/* ------------------------------------------------------------------------------------
 * Signatures.
 */

static void
append_hex(StringInfo out, const void *data, size_t length)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < length; i++)
		appendStringInfo(out, "%02x", bytes[i]);
}

static const char *
own_challenge(void)
{
	static char *challenge = NULL;

	if (challenge == NULL)
	{
		unsigned char random[16];
		StringInfoData text;
		MemoryContext old;

		if (!pg_strong_random(random, sizeof(random)))
			ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR),
							errmsg("could not generate a random value")));
		old = MemoryContextSwitchTo(TopMemoryContext);
		initStringInfo(&text);
		append_hex(&text, random, sizeof(random));
		challenge = text.data;
		MemoryContextSwitchTo(old);
	}
	return challenge;
}

Datum
session_challenge(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(
		cstring_to_text(psprintf("%s " UINT64_FORMAT, own_challenge(), last_number)));
}

static char *
read_secret(void)
{
	OwnerScope scope;
	char *secret;
	bool push = !ActiveSnapshotSet(); /* before a commit there is none */

	if (push)
		PushActiveSnapshot(GetTransactionSnapshot());
	owner_enter(&scope);
	secret = sql_value("SELECT secret FROM pando.node_secret");
	owner_leave(&scope);
	if (push)
		PopActiveSnapshot();
	if (secret == NULL)
		elog(ERROR, "pando.node_secret is empty");
	return secret;
}

static char *
signature(const char *challenge, uint64 number, const char *roles, const char *sql)
{
	char *secret = read_secret();
	char *message =
		psprintf("%s " UINT64_FORMAT " %s*/%s", challenge, number, roles, sql);
	uint8 digest[PG_SHA256_DIGEST_LENGTH];
	pg_hmac_ctx *context = pg_hmac_create(PG_SHA256);
	StringInfoData text;

	if (context == NULL || pg_hmac_init(context, (uint8 *) secret, strlen(secret)) < 0 ||
		pg_hmac_update(context, (uint8 *) message, strlen(message)) < 0 ||
		pg_hmac_final(context, digest, sizeof(digest)) < 0)
		elog(ERROR, "could not sign a statement");
	pg_hmac_free(context);
	pfree(message);
	initStringInfo(&text);
	append_hex(&text, digest, sizeof(digest));
	return text.data;
}

char *
access_session_proof(uint64 gpid, const char *role)
{
	/* Challenges are digits: it is the signature of no statement. */
	return signature("session", gpid, role, "");
}

/* Names in hexadecimal digits: nothing in them can end the comment. */
static char *
role_names(List *roles)
{
	StringInfoData text;

	initStringInfo(&text);
	foreach_oid(role, roles)
	{
		const char *name = GetUserNameFromId(role, false);

		if (text.len > 0)
			appendStringInfoChar(&text, ',');
		append_hex(&text, name, strlen(name));
	}
	return text.data;
}

bool
access_prepare(Session *session)
{
	PGresult *result;
	char *answer;
	char *space;

	if (session->challenge != NULL)
		return false;
	result = session_run(session, "SELECT pando.session_challenge()");
	answer = session_value(result, 0, 0);
	space = strchr(answer, ' ');
	if (space == NULL)
		ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
						errmsg("unexpected answer of a node: \"%s\"", answer)));
	*space = '\0';
	/* It goes with the connection. By way of a pooler others may have asked before. */
	session->challenge = MemoryContextStrdup(GetMemoryChunkContext(session), answer);
	session->signed_count = strtoull(space + 1, NULL, 10);
	session_result_free(result);
	return true;
}

static char *
sign(Session *session, const char *names, const char *sql)
{
	(void) access_prepare(session);
	session->signed_count++;
	return psprintf(MARK UINT64_FORMAT " %s %s*/%s", session->signed_count,
					signature(session->challenge, session->signed_count, names, sql),
					names, sql);
}

char *
access_sign(Session *session, List *roles, const char *sql)
{
	return sign(session, role_names(roles), sql);
}

char *
access_sign_order(Session *session, const char *sql)
{
	return sign(session, ORDER, sql);
}

void
access_order_here(bool order)
{
	order_depth = order ? nesting_depth() + 1 : 0;
}

bool
access_must_act(const Session *session)
{
	Oid user = GetUserId();

	if (user == session->userid)
		return false;
	/* He has let SET SESSION AUTHORIZATION make him another: SET ROLE would have a way
	 * back. */
	if (session->userid == GetAuthenticatedUserId() &&
		session->userid != GetSessionUserId())
		return true;
	return !is_member_of_role(session->userid, user) ||
		   ((InLocalUserIdChange() || InSecurityRestrictedOperation()) && !superuser() &&
			superuser_arg(session->userid));
}

bool
access_role_is_out_of_reach(void)
{
	Session session = {.userid = GetSessionUserId()};

	return access_must_act(&session);
}

char *
access_act_command(Session *session, Oid role)
{
	char *name = OidIsValid(role) ? role_names(list_make1_oid(role)) : pstrdup("");

	(void) access_prepare(session);
	session->signed_count++;
	return psprintf("CALL pando.act_as('%s', " UINT64_FORMAT ", '%s');", name,
					session->signed_count,
					signature(session->challenge, session->signed_count, "act", name));
}

/* ------------------------------------------------------------------------------------
 * The node that is asked.
 */

static List *
roles_of_names(const char *names)
{
	List *roles = NIL;
	StringInfoData name;

	initStringInfo(&name);
	for (const char *next = names;; next++)
	{
		unsigned int byte;

		if (*next == ',' || *next == '\0')
		{
			roles = lappend_oid(roles, get_role_oid(name.data, false));
			resetStringInfo(&name);
			if (*next == '\0')
				return roles;
			continue;
		}
		if (!isxdigit((unsigned char) next[0]) || !isxdigit((unsigned char) next[1]) ||
			sscanf(next, "%2x", &byte) != 1)
			elog(ERROR, "malformed signature");
		appendStringInfoChar(&name, (char) byte);
		next++;
	}
}

static void
refuse(void)
{
	ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					errmsg("the signature of a statement is not valid"),
					errdetail("Only nodes of the cluster can use tables with the rights "
							  "of another role.")));
}

/* The last step of a check; the number is used up. */
static bool
is_valid(uint64 number, const char *subject, const char *sql, const char *digest)
{
	if (number <= last_number || strlen(digest) != PG_SHA256_DIGEST_STRING_LENGTH - 1 ||
		timingsafe_bcmp(signature(own_challenge(), number, subject, sql), digest,
						PG_SHA256_DIGEST_STRING_LENGTH - 1) != 0)
		return false;
	last_number = number;
	return true;
}

static void
act_end(XactEvent event, void *arg)
{
	/* An abort has done it by itself. */
	if (acted && (event == XACT_EVENT_COMMIT || event == XACT_EVENT_PREPARE))
		SetUserIdAndSecContext(own_user, own_context);
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_PREPARE ||
		event == XACT_EVENT_ABORT)
		acted = false;
}

/* pando.act_as(role in hexadecimal digits or '', number, signature) */
Datum
act_as(PG_FUNCTION_ARGS)
{
	char *name;
	char *digest;

	/* A procedure can't be STRICT. */
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		refuse();
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	digest = text_to_cstring(PG_GETARG_TEXT_PP(2));
	if (!is_valid((uint64) PG_GETARG_INT64(1), "act", name, digest))
		refuse();
	if (!acted)
		GetUserIdAndSecContext(&own_user, &own_context);
	acted = true;
	if (name[0] == '\0')
		SetUserIdAndSecContext(own_user, own_context);
	else
		SetUserIdAndSecContext(linitial_oid(roles_of_names(name)),
							   own_context | SECURITY_LOCAL_USERID_CHANGE);
	PG_RETURN_VOID();
}

/* Takes the signature apart and checks it; false if it isn't this session's next. */
static bool
verify(const char *text, const char *mark)
{
	const char *start = mark + strlen(MARK);
	const char *end = strstr(start, "*/");
	unsigned long long number;
	char digest[PG_SHA256_DIGEST_STRING_LENGTH];
	int used = 0;
	char *names;
	MemoryContext old;

	if (end == NULL || sscanf(start, "%llu %64[0-9a-f] %n", &number, digest, &used) < 2 ||
		used == 0 || start + used > end)
		return false;
	names = pnstrdup(start + used, end - start - used);
	if (!is_valid(number, names, end + 2, digest))
		return false;
	signed_at = GetCurrentStatementStartTimestamp();
	signed_location = -1;
	if (signed_text != NULL)
		pfree(signed_text);
	signed_text = MemoryContextStrdup(TopMemoryContext, text);
	old = MemoryContextSwitchTo(TopMemoryContext);
	list_free(signed_roles);
	signed_order = strcmp(names, ORDER) == 0;
	signed_roles = signed_order ? NIL : list_copy(roles_of_names(names));
	MemoryContextSwitchTo(old);
	return true;
}

/* Verifies a signed text when it is seen first. */
static bool
verify_once(const char *text, const char *mark)
{
	return (signed_text != NULL && signed_at == GetCurrentStatementStartTimestamp() &&
			strcmp(signed_text, text) == 0) ||
		   verify(text, mark);
}

/*
 * The client's text, as long as its own statement calls the function: what that one runs
 * in turn is not signed with it.
 */
bool
access_is_ordered(void)
{
	const char *mark =
		debug_query_string != NULL ? strstr(debug_query_string, MARK) : NULL;

	if (order_depth > 0)
		return nesting_depth() <= order_depth;
	if (mark == NULL || nesting_depth() > 1)
		return false;
	if (!verify_once(debug_query_string, mark))
		refuse();
	return signed_order;
}

void
xact_require_node(const char *function)
{
	if (!superuser() && !access_is_ordered())
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("permission denied for function %s", function),
						errdetail("Only nodes of the cluster call it on each other.")));
}

/* The roles that a statement may use, NIL when it is nothing special. If it claims the
 * rights of any, its signature must be valid. */
static List *
roles_of_statement(const char *text, int location, bool claims)
{
	const char *mark;

	if (here.sql != NULL && strcmp(text, here.sql) == 0)
		return here.roles;
	mark = strstr(text, MARK);
	if (mark == NULL || nesting_depth() > 0)
		return NIL;
	if (!verify_once(text, mark) || location <= signed_location)
	{
		if (claims)
			refuse();
		return NIL;
	}
	signed_location = location;
	return signed_roles;
}

/* A right on any column is enough for the relation. */
static void
waive_columns(Query *query, RangeTblEntry *rte)
{
	RelationRights *rights = query_rights(query, rte);

	if (rights->requiredPerms == 0)
		return;
	rights->selectedCols = NULL;
	rights->insertedCols = NULL;
}

/* Stops at a relation that claims other rights; given roles, it gets them instead, and
 * columns are not checked one by one. */
static bool
lend_walker(Node *node, void *context)
{
	List *roles = context;
	Query *query;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, lend_walker, context);
	query = (Query *) node;
	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		unsigned int number;

		if (rte->rtekind == RTE_RELATION && roles != NIL)
			waive_columns(query, rte);
		if (rte->rtekind != RTE_RELATION || rte->alias == NULL ||
			sscanf(rte->alias->aliasname, ACCESS_ALIAS "%u_", &number) != 1)
			continue;
		if (roles == NIL)
			return true;
		if (number < (unsigned int) list_length(roles))
			query_rights(query, rte)->checkAsUser = list_nth_oid(roles, number);
	}
	return query_tree_walker(query, lend_walker, context, QTW_IGNORE_JOINALIASES);
}

static void
access_analyze(ParseState *pstate, Query *query, JumbleState *jumble)
{
	List *roles;
	bool claims;

	if (next_analyze)
		next_analyze(pstate, query, jumble);
	/* What an EXPLAIN explains comes here by itself. */
	if (query->commandType == CMD_UTILITY)
		return;
	if (pstate->p_sourcetext == NULL)
		return;
	/* Cheap for all others: no text has the mark. A long one is searched for its first
	 * statement, not again for each after it. */
	if (here.sql == NULL && query->stmt_location <= 0 &&
		strstr(pstate->p_sourcetext, MARK) == NULL)
		return;
	claims = lend_walker((Node *) query, NIL);
	roles = roles_of_statement(pstate->p_sourcetext, query->stmt_location, claims);
	if (roles != NIL)
		lend_walker((Node *) query, roles);
}

AccessHere
access_here(AccessHere statement)
{
	AccessHere before = here;

	here = statement;
	return before;
}

static void
access_end(XactMoment moment, bool committed)
{
	if (moment == XACT_MOMENT_END)
		here = (AccessHere){0};
}

void
access_init(void)
{
	register_set_guard(xact_require_node);
	next_analyze = post_parse_analyze_hook;
	post_parse_analyze_hook = access_analyze;
	xact_register(access_end);
	RegisterXactCallback(act_end, NULL);
}
