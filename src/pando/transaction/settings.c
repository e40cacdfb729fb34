/*
 * settings.c: the client's settings as SQL text for nodes.
 *
 * What the client, its role or its database has set, and what changes how a statement
 * behaves, goes to the node before the next statement. Settings that were given back
 * (RESET, end of SET LOCAL, of a function) are noticed since actual values are compared:
 * a fingerprint of all that travel, without making text, is cheap enough for each
 * statement; text is made when it differs from the last one.
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

/* May travel at all: by name and kind, whatever its value. Pointers stay valid. */
static struct config_generic **candidates = NULL;
static int ncandidates = 0;
static int variables_seen = 0;

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

static int
compare_places(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t) * (struct config_generic *const *) a;
	uintptr_t y = (uintptr_t) * (struct config_generic *const *) b;

	return (x > y) - (x < y);
}

/* Variables come and go (placeholders become real ones): look again when their number
 * changed. A placeholder that is replaced keeps the number, hence the check of the array.
 */
static void
find_candidates(void)
{
	static struct config_generic **seen_array = NULL;
	int count;
	struct config_generic **all = compat_guc_variables(&count);

	if (count == variables_seen && all == seen_array)
		return;
	if (candidates != NULL)
		pfree(candidates);
	candidates = MemoryContextAlloc(TopMemoryContext, sizeof(*candidates) * count);
	ncandidates = 0;
	for (int i = 0; i < count; i++)
		if (may_travel(all[i]))
			candidates[ncandidates++] = all[i];
	/* All are looked at for each statement: in the order of memory. */
	qsort(candidates, ncandidates, sizeof(*candidates), compare_places);
	variables_seen = count;
	seen_array = all;
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
	uint64 hash = GetSessionUserId();

	hash = hash_combine64(hash, (uint64) session_message_level());
	for (int i = 0; i < ncandidates; i++)
		if (is_set_for_client(candidates[i]))
			hash = hash_variable(hash, candidates[i]);
	return hash;
}

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
append_settings(StringInfo out)
{
	bool superuser = superuser_arg(GetSessionUserId());

	/* What the client wants to see decides here; the node sends what may be wanted. */
	if (session_message_level() != NOTICE)
		appendStringInfo(out, "SET client_min_messages TO %s;",
						 session_message_level() < NOTICE ? "debug5" : "warning");
	for (int i = 0; i < ncandidates; i++)
	{
		struct config_generic *variable = candidates[i];

		if (!is_set_for_client(variable) ||
			(variable->context == PGC_SUSET && !superuser))
			continue;
		appendStringInfoString(out, "SET ");
		append_name(out, variable->name);
		appendStringInfoString(out, " TO ");
		append_value(out, variable, value_text(variable));
		appendStringInfoChar(out, ';');
	}
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

	find_candidates();
	hash = fingerprint();
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
