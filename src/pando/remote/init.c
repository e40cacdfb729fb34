/*
 * init.c: what the remote module registers when the library is loaded.
 */
#include "pando/compat/compat.h"

#include <limits.h>

#include "pando/remote/init.h"
#include "pando/remote/wire.h"
#include "utils/guc.h"

char *remote_node_conninfo = NULL;
bool remote_use_local_sockets = true;
int remote_connection_timeout = 30000;
int remote_max_cached_sessions = 1;
int remote_max_cached_lifetime = 600000;
int remote_max_shared_pool_size = 0;
int remote_max_nodes_tracked = 2048;
bool remote_log_commands = false;
char *remote_grep_commands = "";
int remote_min_messages = NOTICE;
int remote_copy_flush_threshold = 8 * 1024 * 1024;

static const struct config_enum_entry message_levels[] = {
	{"debug", DEBUG2, true},	 {"debug5", DEBUG5, false}, {"debug4", DEBUG4, false},
	{"debug3", DEBUG3, false},	 {"debug2", DEBUG2, false}, {"debug1", DEBUG1, false},
	{"log", LOG, false},		 {"info", INFO, true},		{"notice", NOTICE, false},
	{"warning", WARNING, false}, {"error", ERROR, false},	{"fatal", FATAL, true},
	{"panic", PANIC, true},		 {NULL, 0, false},
};

/* Connection options for nodes are libpq's; what this module decides itself is refused.
 */
static bool
check_node_conninfo(char **newval, void **extra, GucSource source)
{
	static const char *const own[] = {"host",
									  "hostaddr",
									  "port",
									  "dbname",
									  "user",
									  "client_encoding",
									  "application_name",
									  "options",
									  "replication",
									  "password"};
	char *message = NULL;
	PQconninfoOption *options = PQconninfoParse(*newval, &message);
	bool ok = true;

	if (options == NULL)
	{
		GUC_check_errdetail("%s", message ? message : "out of memory");
		if (message)
			PQfreemem(message);
		return false;
	}
	for (PQconninfoOption *option = options; ok && option->keyword != NULL; option++)
	{
		if (option->val == NULL)
			continue;
		for (int i = 0; i < lengthof(own); i++)
		{
			if (strcmp(option->keyword, own[i]) == 0)
			{
				GUC_check_errdetail("\"%s\" may not be set here.", option->keyword);
				ok = false;
			}
		}
	}
	PQconninfoFree(options);
	return ok;
}

static void
define_connection_settings(void)
{
	DefineCustomStringVariable("citus.node_conninfo",
							   "Sets libpq options of connections between nodes.", NULL,
							   &remote_node_conninfo, "sslmode=prefer", PGC_SIGHUP,
							   GUC_SUPERUSER_ONLY, check_node_conninfo, NULL, NULL);
	DefineCustomBoolVariable(
		"pando.use_local_sockets",
		"Nodes at a loopback address are reached through their Unix-domain sockets.",
		NULL, &remote_use_local_sockets, true, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable(
		"citus.node_connection_timeout",
		"Sets the time after which an attempt to connect to a node is given up.", NULL,
		&remote_connection_timeout, 30000, 10, 3600000, PGC_USERSET, GUC_UNIT_MS, NULL,
		NULL, NULL);
	DefineCustomIntVariable(
		"citus.max_cached_conns_per_worker",
		"Sets how many connections per node a backend keeps between transactions.", NULL,
		&remote_max_cached_sessions, 1, 0, INT_MAX, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable(
		"citus.max_cached_connection_lifetime",
		"Sets the age at which a kept connection to a node is closed.",
		"-1 keeps connections as long as the backend lives.", &remote_max_cached_lifetime,
		600000, -1, INT_MAX, PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable(
		"citus.max_shared_pool_size",
		"Sets how many connections to one node all backends together may hold.",
		"0 means max_connections, -1 no limit.", &remote_max_shared_pool_size, 0, -1,
		INT_MAX, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.max_worker_nodes_tracked",
							"Sets how many nodes shared memory has room for.", NULL,
							&remote_max_nodes_tracked, 2048, 8, INT_MAX / 1024,
							PGC_POSTMASTER, 0, NULL, NULL, NULL);
}

/* A pattern that ends in the middle of an escape would be an error where one reports. */
static bool
check_pattern(char **value, void **extra, GucSource source)
{
	int escapes = 0;

	for (const char *end = *value + strlen(*value); end > *value && end[-1] == '\\';
		 end--)
		escapes++;
	if (escapes % 2 == 0)
		return true;
	GUC_check_errcode(ERRCODE_INVALID_ESCAPE_SEQUENCE);
	GUC_check_errdetail("LIKE pattern must not end with escape character");
	return false;
}

static void
define_traffic_settings(void)
{
	DefineCustomBoolVariable(
		"citus.log_remote_commands", "Reports each command that is sent to a node.", NULL,
		&remote_log_commands, false, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable(
		"citus.grep_remote_commands",
		"A LIKE pattern of the commands that citus.log_remote_commands reports.",
		"Empty: all of them.", &remote_grep_commands, "", PGC_USERSET, 0, check_pattern,
		NULL, NULL);
	DefineCustomEnumVariable(
		"citus.worker_min_messages",
		"Sets the least level of nodes' messages that are passed on.", NULL,
		&remote_min_messages, NOTICE, message_levels, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.remote_copy_flush_threshold",
							"Sets how many bytes of COPY data may wait for one node.",
							NULL, &remote_copy_flush_threshold, 8 * 1024 * 1024, 0,
							INT_MAX / 2, PGC_USERSET, GUC_UNIT_BYTE, NULL, NULL, NULL);
}

void
remote_init(void)
{
	define_connection_settings();
	define_traffic_settings();
	shared_pool_init();
}
