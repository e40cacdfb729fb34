/*
 * client_limit.c: citus.max_client_connections, how many clients a node serves at once.
 *
 * Any node may be asked for the shards of any client, so the sessions of other nodes need
 * room that the node's own clients don't take. Superusers and sessions that call
 * themselves another node's are neither counted nor refused: a proof comes with their
 * first statement only, so this keeps room, and no one from harm (a role's CONNECTION
 * LIMIT does that).
 */
#include "pando/compat/compat.h"

#include "libpq/auth.h"
#include "libpq/libpq-be.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "postmaster/postmaster.h"
#include "replication/walsender.h"
#include "storage/ipc.h"
#include "utils/acl.h"
#include "utils/guc.h"

#include "pando/base/shared_memory.h"
#include "pando/transaction/member.h"

static int max_clients = -1;
static pg_atomic_uint32 *clients = NULL;
static ClientAuthentication_hook_type next_hook = NULL;

static void
client_limit_attach(void *memory, LWLock *lock, bool fresh)
{
	clients = memory;
	if (fresh)
		pg_atomic_init_u32(clients, 0);
}

static void
client_gone(int code, Datum arg)
{
	pg_atomic_fetch_sub_u32(clients, 1);
}

/* Is it a client's, and not a superuser's? Says so before the session has begun. */
static bool
is_counted(const Port *port)
{
	Oid role = get_role_oid(port->user_name, true);

	return !am_walsender && !identity_names_node(port->application_name) &&
		   OidIsValid(role) && !superuser_arg(role);
}

static void
client_authenticated(Port *port, int status)
{
	if (next_hook)
		next_hook(port, status);
	if (status != STATUS_OK || clients == NULL || !is_counted(port))
		return;
	on_shmem_exit(client_gone, 0);
	if (pg_atomic_add_fetch_u32(clients, 1) > (uint32) max_clients && max_clients >= 0)
		ereport(FATAL,
				(errcode(ERRCODE_TOO_MANY_CONNECTIONS),
				 errmsg("remaining connection slots are reserved for superusers and "
						"other nodes"),
				 errdetail("The server is configured to accept up to %d regular client "
						   "connections.",
						   max_clients),
				 errhint("Consider raising citus.max_client_connections.")));
}

void
client_limit_init(void)
{
	static const SharedMemory memory = {"pando_client_limit", sizeof(pg_atomic_uint32), 0,
										client_limit_attach};

	shared_memory_register(&memory);
	DefineCustomIntVariable(
		"citus.max_client_connections",
		"Connections of clients, superusers' apart, that a node accepts.",
		"-1 means no limit but max_connections.", &max_clients, -1, -1, MAX_BACKENDS,
		PGC_SIGHUP, 0, NULL, NULL, NULL);
	next_hook = ClientAuthentication_hook;
	ClientAuthentication_hook = client_authenticated;
}
