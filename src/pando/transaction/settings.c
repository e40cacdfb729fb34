/*
 * settings.c: the client's settings as SQL text for nodes.
 *
 * What the client, its role or its database has set, and what changes how a statement
 * behaves, goes to the node before the next statement. Settings that were given back
 * (RESET, end of SET LOCAL, of a function) are noticed since actual values are compared:
 * text is made when a fingerprint of all that travel differs from the last one.
 *
 * A hundred variables may travel, each on a cache line of its own: too much to look at
 * for each statement of one row. PostgreSQL calls a variable's assign hook before each
 * change; most variables have none, and get ours, which counts. The others are looked at.
 *
 * The text sets things on top of the node's defaults, but for those of transactions: the
 * node's backends have PostgreSQL's, and a transaction is what it is here. The role comes
 * last (member.c), so that superuser settings can be set by a superuser that took another
 * role.
 */
#include "pando/compat/compat.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "pando/transaction/member.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/guc_tables.h"
#include "utils/memutils.h"
#include "utils/varlena.h"

/* Stay here: this server's business, the connection's, or sent in another way. */
static const char *const excluded_names[] = {
	"allow_system_table_mods",
	"application_name",
	"backtrace_functions",
	"client_connection_check_interval",
	"client_encoding",
	"client_min_messages",
	"compute_query_id",
	"data_checksums",
	"default_table_access_method",
	"default_tablespace",
	"default_transaction_deferrable",
	"default_transaction_isolation",
	"default_transaction_read_only",
	"dynamic_library_path",
	"event_source",
	"exit_on_error",
	"idle_in_transaction_session_timeout",
	"idle_session_timeout",
	"in_hot_standby",
	"is_superuser",
	"local_preload_libraries",
	"max_stack_depth",
	"role",
	"seed",
	"server_encoding",
	"session_authorization",
	"session_preload_libraries",
	"statement_timeout",
	"temp_file_limit",
	"temp_tablespaces",
	"transaction_deferrable",
	"transaction_isolation",
	"transaction_read_only",
	"transaction_timeout",
	"update_process_title",
	"zero_damaged_pages",
};

static const char *const excluded_prefixes[] = {
	"citus.", "pando.", "canopy.", "auto_explain.", "pg_stat_statements.",
	"log_",	  "tcp_",	"track_",  "stats_",		"trace_",
	"debug_", "ssl_",
};

/* May travel at all: by name and kind, whatever its value. Pointers stay valid, but those
 * to placeholders.
 */
static struct config_generic **candidates = NULL;
static int ncandidates = 0;
static int variables_seen = 0;

/* Those of them whose changes are not counted. */
typedef struct SilentVariable
{
	struct config_generic *variable;
	struct config_generic **place; /* in PostgreSQL's array, where it may be replaced */
} SilentVariable;

static SilentVariable *silent = NULL;
static int nsilent = 0;

/* Of the other candidates; and as of when they were last looked at. */
static uint64 changes = 1;
static uint64 changes_seen = 0;

/* Did any change in this transaction? Its end may take that back. */
static bool changed_in_transaction = false;

static bool
may_travel(const struct config_generic *variable)
{
	if (variable->context != PGC_USERSET && variable->context != PGC_SUSET)
		return false;
	for (int i = 0; i < lengthof(excluded_names); i++)
		if (strcmp(variable->name, excluded_names[i]) == 0)
			return false;
	for (int i = 0; i < lengthof(excluded_prefixes); i++)
		if (strncmp(variable->name, excluded_prefixes[i], strlen(excluded_prefixes[i])) ==
			0)
			return false;
	return true;
}

/* ------------------------------------------------------------------------------------
 * Which variables, and whether any of them changed.
 */

static void
count_change(void)
{
	changes++;
	changed_in_transaction = true;
}

static void
bool_assigned(bool value, void *extra)
{
	count_change();
}

static void
int_assigned(int value, void *extra)
{
	count_change();
}

static void
real_assigned(double value, void *extra)
{
	count_change();
}

static void
string_assigned(const char *value, void *extra)
{
	count_change();
}

/* Puts our hook where there is none; false: there is another one. */
#define TAKE_HOOK(type, variable, ours)                                                  \
	((((type *) (variable))->assign_hook == NULL                                         \
		  ? (void) (((type *) (variable))->assign_hook = (ours))                         \
		  : (void) 0),                                                                   \
	 ((type *) (variable))->assign_hook == (ours))

/* Are the variable's changes counted from now on? */
static bool
listen_to(struct config_generic *variable)
{
	if (variable->flags & GUC_CUSTOM_PLACEHOLDER)
		return false;
	switch (variable->vartype)
	{
		case PGC_BOOL:
			return TAKE_HOOK(struct config_bool, variable, bool_assigned);
		case PGC_INT:
			return TAKE_HOOK(struct config_int, variable, int_assigned);
		case PGC_REAL:
			return TAKE_HOOK(struct config_real, variable, real_assigned);
		case PGC_STRING:
			return TAKE_HOOK(struct config_string, variable, string_assigned);
		case PGC_ENUM:
			return TAKE_HOOK(struct config_enum, variable, int_assigned);
	}
	return false;
}

static bool
placeholder_is_gone(void)
{
	for (int i = 0; i < nsilent; i++)
		if (silent[i].place != NULL && *silent[i].place != silent[i].variable)
			return true;
	return false;
}

/* Variables come and go, and placeholders become real ones: look again then. */
static void
find_candidates(void)
{
	static struct config_generic **seen_array = NULL;
	int count;
	struct config_generic **all = compat_guc_variables(&count);

	if (count == variables_seen && all == seen_array && !placeholder_is_gone())
		return;
	if (candidates != NULL)
	{
		pfree(candidates);
		pfree(silent);
	}
	candidates = MemoryContextAlloc(TopMemoryContext, sizeof(*candidates) * count);
	silent = MemoryContextAlloc(TopMemoryContext, sizeof(*silent) * count);
	ncandidates = nsilent = 0;
	for (int i = 0; i < count; i++)
	{
		if (!may_travel(all[i]))
			continue;
		candidates[ncandidates++] = all[i];
		if (listen_to(all[i]))
			continue;
		silent[nsilent].variable = all[i];
		silent[nsilent++].place =
			(all[i]->flags & GUC_CUSTOM_PLACEHOLDER) ? &all[i] : NULL;
	}
	variables_seen = count;
	seen_array = all;
	changes++;
}

/* What is taken back without a change of its value, only of its source, is not assigned.
 */
void
settings_level_ends(bool is_top)
{
	if (changed_in_transaction)
		changes++;
	if (is_top)
		changed_in_transaction = false;
}

/* Was it set for this client, rather than by the server's own configuration? */
static bool
is_set_for_client(const struct config_generic *variable)
{
	return variable->source >= PGC_S_GLOBAL && variable->source != PGC_S_OVERRIDE &&
		   variable->source != PGC_S_TEST;
}

static uint64
hash_variable(uint64 hash, const struct config_generic *variable)
{
	const void *value = NULL;
	size_t length = 0;

	switch (variable->vartype)
	{
		case PGC_BOOL:
			value = ((const struct config_bool *) variable)->variable;
			length = sizeof(bool);
			break;
		case PGC_INT:
			value = ((const struct config_int *) variable)->variable;
			length = sizeof(int);
			break;
		case PGC_REAL:
			value = ((const struct config_real *) variable)->variable;
			length = sizeof(double);
			break;
		case PGC_ENUM:
			value = ((const struct config_enum *) variable)->variable;
			length = sizeof(int);
			break;
		case PGC_STRING:
			value = *((const struct config_string *) variable)->variable;
			length = value ? strlen(value) : 0;
			break;
	}
	hash = hash_combine64(hash, (uint64) (uintptr_t) variable);
	return value ? hash_combine64(hash, hash_bytes_extended(value, length, 1)) : hash;
}

static uint64
fingerprint(void)
{
	static uint64 counted_hash = 0;
	uint64 hash;

	if (changes != changes_seen)
	{
		counted_hash = 0;
		for (int i = 0; i < ncandidates; i++)
			if (is_set_for_client(candidates[i]))
				counted_hash = hash_variable(counted_hash, candidates[i]);
		changes_seen = changes;
	}
	hash = hash_combine64(counted_hash, GetSessionUserId());
	hash = hash_combine64(hash, (uint64) session_message_level());
	for (int i = 0; i < nsilent; i++)
		if (is_set_for_client(silent[i].variable))
			hash = hash_variable(hash, silent[i].variable);
	return hash;
}

/* ------------------------------------------------------------------------------------
 * As text.
 */

static const char *
value_text(struct config_generic *variable)
{
	const char *text = NULL;

	switch (variable->vartype)
	{
		case PGC_BOOL:
			return *((struct config_bool *) variable)->variable ? "on" : "off";
		case PGC_INT:
			return psprintf("%d", *((struct config_int *) variable)->variable);
		case PGC_REAL:
			return psprintf("%.17g", *((struct config_real *) variable)->variable);
		case PGC_ENUM:
			return config_enum_lookup_by_value(
				(struct config_enum *) variable,
				*((struct config_enum *) variable)->variable);
		case PGC_STRING:
			text = *((struct config_string *) variable)->variable;
			break;
	}
	return text ? text : "";
}

/* The value as SET takes it: a list of identifiers element by element. */
static void
append_value(StringInfo out, const struct config_generic *variable, const char *value)
{
	List *names;
	char *copy;
	const char *separator = "";

	copy = pstrdup(value);
	if ((variable->flags & GUC_LIST_QUOTE) == 0 ||
		!SplitIdentifierString(copy, ',', &names) || names == NIL)
	{
		appendStringInfoString(out, quote_literal_cstr(value));
		return;
	}
	foreach_ptr (char, name, names)
	{
		appendStringInfo(out, "%s%s", separator, quote_literal_cstr(name));
		separator = ",";
	}
}

/* A custom variable's name has dots between identifiers. */
static void
append_name(StringInfo out, const char *name)
{
	const char *dot;

	while ((dot = strchr(name, '.')) != NULL)
	{
		appendStringInfo(out, "%s.", quote_identifier(pnstrdup(name, dot - name)));
		name = dot + 1;
	}
	appendStringInfoString(out, quote_identifier(name));
}

static void
append_setting(StringInfo out, struct config_generic *variable, bool superuser)
{
	if (!is_set_for_client(variable) || (variable->context == PGC_SUSET && !superuser))
		return;
	appendStringInfoString(out, "SET ");
	append_name(out, variable->name);
	appendStringInfoString(out, " TO ");
	append_value(out, variable, value_text(variable));
	appendStringInfoChar(out, ';');
}

static void
append_settings(StringInfo out)
{
	bool superuser = superuser_arg(GetSessionUserId());

	/* What the client wants to see decides here; the node sends what may be wanted. */
	if (session_message_level() != NOTICE)
		appendStringInfo(out, "SET client_min_messages TO %s;",
						 session_message_level() < NOTICE ? "debug5" : "warning");
	for (int i = 0; i < ncandidates; i++)
		append_setting(out, candidates[i], superuser);
}

/* What travels besides where the node leads for the client: how things are to be done.
 * Chosen ids are this session's. */
char *
settings_lead_text(void)
{
	bool superuser = superuser_arg(GetSessionUserId());
	int count;
	struct config_generic **variables = compat_guc_variables(&count);
	StringInfoData out;

	initStringInfo(&out);
	for (int i = 0; i < count; i++)
	{
		struct config_generic *variable = variables[i];

		if ((variable->context == PGC_USERSET || variable->context == PGC_SUSET) &&
			strncmp(variable->name, "citus.", strlen("citus.")) == 0 &&
			strncmp(variable->name + strlen("citus."), "next_", strlen("next_")) != 0)
			append_setting(&out, variable, superuser);
	}
	return out.data;
}

uint64
settings_fingerprint(void)
{
	find_candidates();
	return fingerprint();
}

const char *
settings_text(void)
{
	static uint64 last_hash = 0;
	static char *last_text = NULL;
	uint64 hash;
	MemoryContext scratch;
	MemoryContext old;
	StringInfoData text;
	char *copy;

	hash = settings_fingerprint();
	if (last_text != NULL && hash == last_hash)
		return last_text;

	scratch =
		AllocSetContextCreate(CurrentMemoryContext, "settings", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(scratch);
	initStringInfo(&text);
	append_settings(&text);
	MemoryContextSwitchTo(old);
	copy = MemoryContextStrdup(TopMemoryContext, text.data);
	MemoryContextDelete(scratch);
	if (last_text != NULL)
		pfree(last_text);
	last_text = copy;
	last_hash = hash;
	return last_text;
}

/* The same settings for the rest of the transaction only. */
char *
settings_local(const char *settings)
{
	StringInfoData local;
	bool quoted = false;
	bool named = false;
	bool starts = true;

	initStringInfo(&local);
	for (const char *p = settings; *p != '\0'; p++)
	{
		if (starts && strncmp(p, "SET ", 4) == 0)
		{
			appendStringInfoString(&local, "SET LOCAL ");
			p += 3;
			starts = false;
			continue;
		}
		if (*p == '\'' && !named)
			quoted = !quoted;
		else if (*p == '"' && !quoted)
			named = !named;
		starts = *p == ';' && !quoted && !named;
		appendStringInfoChar(&local, *p);
	}
	return local.data;
}

/*
 * What goes ahead of settings_text() on a node: with these defaults, whatever the node's
 * own are, an ordinary transaction's BEGIN needs no options, each of which is a SET.
 */
const char *
settings_base_text(void)
{
	return "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED, "
		   "READ WRITE, NOT DEFERRABLE;";
}

/* Takes a node back to what its own configuration says. */
const char *
settings_reset_text(void)
{
	return "SET ROLE NONE;RESET ALL;";
}
