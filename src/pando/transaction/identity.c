/*
 * identity.c: who a backend is in the cluster, and which distributed transaction it runs.
 *
 * The global pid of a client's backend is its node's id * 10^10 + its pid; a backend that
 * serves a session of another node carries that one's, from the application_name. Anybody
 * may choose such a name; what it decides (who is cancelled for a deadlock) is believed
 * with a proof that the session is given (pando.session_proof): a signature of the global
 * pid and the session's role, good for sessions of that role alone. Each
 * backend has a slot in shared memory with the number of the distributed transaction that
 * it is running: recovery leaves that one's prepared transactions alone.
 *
 * Numbers start at the server's start time in microseconds, so they never come again.
 */
#include "pando/compat/compat.h"

#include <signal.h>

#include "access/htup_details.h"
#include "access/xact.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pando/base/error_hook.h"
#include "pando/base/shared_memory.h"
#include "pando/metadata/shard_error.h"
#include "pando/transaction/access.h"
#include "pando/transaction/maintenance.h"
#include "pando/transaction/member.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#define GPID_NODE_FACTOR UINT64CONST(10000000000)
#define NAME_PREFIX "citus_internal gpid="
#define PROOF_SIZE 65

typedef struct IdentitySlot
{
	pg_atomic_uint64 number; /* distributed transaction under way; 0: none */
	pg_atomic_uint32 pid;
	pg_atomic_uint32 victim;	/* chosen to end a distributed deadlock */
	char detail[512];			/* of that deadlock */
	pg_atomic_uint64 settling;	/* a committed one that recovery is to bring to nodes */
	pg_atomic_uint64 unsettled; /* bits of its sessions, by their number */
	pg_atomic_uint32 proof_pid; /* whose proof it is */
	char proof[PROOF_SIZE];		/* that it has the global pid of its name */
} IdentitySlot;

typedef struct IdentityShared
{
	pg_atomic_uint64 last_number;
	uint64 first_number; /* all of before the server's start are smaller */
	IdentitySlot slots[FLEXIBLE_ARRAY_MEMBER];
} IdentityShared;

static IdentityShared *shared = NULL;
static uint64 my_number = 0;
static char *session_proof = "";
static char *peer_version = "";

bool
identity_is_node_session(void)
{
	return application_name != NULL &&
		   strncmp(application_name, NAME_PREFIX, sizeof(NAME_PREFIX) - 1) == 0;
}

static void
identity_attach(void *memory, LWLock *lock, bool fresh)
{
	shared = memory;
	if (!fresh)
		return;
	shared->first_number = (uint64) GetCurrentTimestamp();
	pg_atomic_init_u64(&shared->last_number, shared->first_number);
	for (int i = 0; i <= MaxBackends; i++)
	{
		pg_atomic_init_u64(&shared->slots[i].number, 0);
		pg_atomic_init_u32(&shared->slots[i].pid, 0);
		pg_atomic_init_u32(&shared->slots[i].victim, 0);
		pg_atomic_init_u64(&shared->slots[i].settling, 0);
		pg_atomic_init_u64(&shared->slots[i].unsettled, 0);
		pg_atomic_init_u32(&shared->slots[i].proof_pid, 0);
	}
}

static IdentitySlot *
my_slot(void)
{
	return &shared->slots[compat_my_backend()];
}

void
identity_transaction_end(void)
{
	if (compat_my_backend() == COMPAT_NO_BACKEND)
		return;
	if (pg_atomic_read_u32(&my_slot()->victim) != 0)
		pg_atomic_write_u32(&my_slot()->victim, 0);
	if (my_number == 0)
		return;
	pg_atomic_write_u64(&my_slot()->number, 0);
	my_number = 0;
}

/*
 * Cancels the backend's statement for a deadlock. Wherever it waits, its client gets
 * deadlock_detected with that detail: raise_if_victim(), identity_rethrow() and
 * report_error() turn the cancel into it.
 */
bool
identity_cancel_victim(int pid, const char *detail)
{
	PGPROC *proc = BackendPidGetProc(pid);
	IdentitySlot *slot;

	if (proc == NULL || compat_backend_of(proc) == COMPAT_NO_BACKEND)
		return false;
	slot = &shared->slots[compat_backend_of(proc)];
	strlcpy(slot->detail, detail, sizeof(slot->detail));
	pg_write_barrier();
	pg_atomic_write_u32(&slot->victim, 1);
	return kill(pid, SIGINT) == 0;
}

static bool
is_victim(void)
{
	return shared != NULL && compat_my_backend() != COMPAT_NO_BACKEND &&
		   pg_atomic_read_u32(&my_slot()->victim) != 0;
}

/* Called at each wait for nodes. */
static void
raise_if_victim(void)
{
	if (!QueryCancelPending || !is_victim())
		return;
	pg_atomic_write_u32(&my_slot()->victim, 0);
	QueryCancelPending = false;
	ereport(ERROR, (errcode(ERRCODE_T_R_DEADLOCK_DETECTED), errmsg("deadlock detected"),
					errdetail_internal("%s", my_slot()->detail)));
}

/* A cancel of the victim's statement, told as what it is. */
static void
tell_deadlock(ErrorData *error, MemoryContext context)
{
	error->sqlerrcode = ERRCODE_T_R_DEADLOCK_DETECTED;
	error->message = MemoryContextStrdup(context, "deadlock detected");
	error->detail = MemoryContextStrdup(context, my_slot()->detail);
}

/* In PG_CATCH(): goes on with the error, so that PL/pgSQL sees what it is, too. */
void
identity_rethrow(void)
{
	bool victim = geterrcode() == ERRCODE_QUERY_CANCELED && is_victim();
	MemoryContext context = CurTransactionContext;
	ErrorData *error;

	if (context == NULL || (!victim && !shard_error_possible(geterrcode())))
		PG_RE_THROW();
	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	FlushErrorState();
	if (victim)
	{
		tell_deadlock(error, context);
		pg_atomic_write_u32(&my_slot()->victim, 0);
	}
	else
		shard_error_tell(error, context);
	ReThrowError(error);
}

/* The error came where nobody catches it: a cancel while tables were locked for planning,
 * constraints that are checked at the end of the transaction. */
static void
report_error(ErrorData *error)
{
	if (error->elevel == ERROR && error->sqlerrcode == ERRCODE_QUERY_CANCELED &&
		is_victim())
		tell_deadlock(error, error->assoc_context);
	shard_error_tell(error, error->assoc_context);
}

static void
identity_exit(int code, Datum arg)
{
	identity_transaction_end();
}

/* The number of this backend's distributed transaction; it has one from now on. */
uint64
identity_transaction_number(void)
{
	static bool exit_registered = false;

	if (my_number == 0)
	{
		if (!exit_registered)
			before_shmem_exit(identity_exit, 0);
		exit_registered = true;
		my_number = pg_atomic_add_fetch_u64(&shared->last_number, 1);
		pg_atomic_write_u32(&my_slot()->pid, MyProcPid);
		pg_atomic_write_u64(&my_slot()->number, my_number);
		pg_memory_barrier();
	}
	return my_number;
}

/*
 * Leaves this backend's transaction, committed here but not yet on the nodes of these
 * sessions (a bit each), to recovery, and waits until that has reached them. False when
 * it has not in time, or the backend is asked to end. Raises nothing.
 */
bool
identity_await_settlement(uint64 sessions, int timeout_ms)
{
	IdentitySlot *slot = my_slot();
	TimestampTz start = GetCurrentTimestamp();
	bool done;

	pg_atomic_write_u64(&slot->unsettled, sessions);
	pg_atomic_write_u64(&slot->settling, my_number);
	pg_memory_barrier();
	pg_atomic_write_u64(&slot->number, 0);
	maintenance_want(WISH_RECOVERY);
	while (!(done = pg_atomic_read_u64(&slot->unsettled) == 0) && !ProcDiePending &&
		   !TimestampDifferenceExceeds(start, GetCurrentTimestamp(), timeout_ms))
		pg_usleep(10000);
	pg_atomic_write_u64(&slot->settling, 0);
	return done;
}

/* The bit of a session; the last one is for all whose number is too high. */
uint64
identity_session_bit(int session)
{
	return UINT64CONST(1) << Min(session, 63);
}

/* The node of that session has what was left to recovery. */
void
identity_settled(int pid, uint64 number, int session)
{
	if (session >= 63)
		return;
	for (int i = 0; i <= MaxBackends; i++)
	{
		IdentitySlot *slot = &shared->slots[i];

		if (pg_atomic_read_u64(&slot->settling) == number &&
			pg_atomic_read_u32(&slot->pid) == (uint32) pid)
			(void) pg_atomic_fetch_and_u64(&slot->unsettled,
										   ~identity_session_bit(session));
	}
}

/* Is it the number of a transaction of before this server's start? */
bool
identity_is_of_past(uint64 number)
{
	return number <= shared->first_number;
}

/* Is that transaction still under way in a backend of this server? */
bool
identity_is_running(int pid, uint64 number)
{
	pg_memory_barrier();
	for (int i = 0; i <= MaxBackends; i++)
	{
		if (pg_atomic_read_u64(&shared->slots[i].number) == number &&
			pg_atomic_read_u32(&shared->slots[i].pid) == (uint32) pid)
			return true;
	}
	return false;
}

/* The global pid in an application_name that a session of another node has; else 0. */
static uint64
gpid_of_name(const char *name)
{
	if (name == NULL || strncmp(name, NAME_PREFIX, strlen(NAME_PREFIX)) != 0)
		return 0;
	return strtoull(name + strlen(NAME_PREFIX), NULL, 10);
}

/* Does a session of that application_name say that it is another node's? */
bool
identity_names_node(const char *application)
{
	return gpid_of_name(application) != 0;
}

/* Is this backend's client another node? */
bool
identity_serves_node(void)
{
	return identity_names_node(application_name);
}

/* Global pid of any backend of this server, given its application_name. */
static uint64
identity_gpid(int pid, const char *name)
{
	uint64 gpid = gpid_of_name(name);

	return gpid ? gpid : (uint64) node_local_id() * GPID_NODE_FACTOR + pid;
}

uint64
xact_global_pid(void)
{
	return identity_gpid(MyProcPid, application_name);
}

static const char *
identity_session_name(void)
{
	static char name[64];
	static uint64 named = 0;
	uint64 gpid = xact_global_pid();

	if (gpid != named)
		snprintf(name, sizeof(name), NAME_PREFIX UINT64_FORMAT, gpid);
	named = gpid;
	return name;
}

/* ------------------------------------------------------------------------------------
 * Proofs.
 */

/* It stays when the setting goes, with a transaction or RESET ALL. */
static void
assign_proof(const char *proof, void *extra)
{
	if (proof == NULL || proof[0] == '\0' || shared == NULL ||
		compat_my_backend() == COMPAT_NO_BACKEND)
		return;
	strlcpy(my_slot()->proof, proof, PROOF_SIZE);
	pg_write_barrier();
	pg_atomic_write_u32(&my_slot()->proof_pid, MyProcPid);
}

const char *
identity_proof(Oid role)
{
	static char proof[PROOF_SIZE];
	static Oid proven_role = InvalidOid;
	static uint64 proven = 0;
	uint64 gpid = xact_global_pid();

	if (proven != gpid || proven_role != role)
	{
		strlcpy(proof, access_session_proof(gpid, GetUserNameFromId(role, false)),
				PROOF_SIZE);
		proven = gpid;
		proven_role = role;
	}
	return proof;
}

/* Has the backend shown that it works for the client of that global pid? */
static bool
has_proof(int pid, uint64 gpid, Oid role)
{
	PGPROC *proc = BackendPidGetProc(pid);
	const IdentitySlot *slot;
	char *name = GetUserNameFromId(role, true);
	char proof[PROOF_SIZE];

	if (proc == NULL || compat_backend_of(proc) == COMPAT_NO_BACKEND || name == NULL)
		return false;
	slot = &shared->slots[compat_backend_of(proc)];
	if (pg_atomic_read_u32((pg_atomic_uint32 *) &slot->proof_pid) != (uint32) pid)
		return false;
	pg_read_barrier();
	strlcpy(proof, slot->proof, PROOF_SIZE);
	return strcmp(proof, access_session_proof(gpid, name)) == 0;
}

bool
xact_is_proven_for_node(void)
{
	return identity_serves_node() &&
		   has_proof(MyProcPid, gpid_of_name(application_name), GetAuthenticatedUserId());
}

PG_FUNCTION_INFO_V1(proven_gpid);

/* proven_gpid(pid, application_name, role): as backend_gpid(), but a name needs a proof
 */
Datum
proven_gpid(PG_FUNCTION_ARGS)
{
	char *name = PG_ARGISNULL(1) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(1));
	uint64 gpid = gpid_of_name(name);
	int pid;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	pid = PG_GETARG_INT32(0);
	if (gpid != 0 && (PG_ARGISNULL(2) || !has_proof(pid, gpid, PG_GETARG_OID(2))))
		name = NULL;
	PG_RETURN_INT64((int64) identity_gpid(pid, name));
}

/* Nodes of different versions don't understand each other's commands. */
static bool
check_peer_version(char **value, void **extra, GucSource source)
{
	if (**value == '\0' || strcmp(*value, PANDO_VERSION) == 0)
		return true;
	GUC_check_errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE);
	GUC_check_errmsg("a node of version %s cannot work with one of version %s", *value,
					 PANDO_VERSION);
	GUC_check_errhint("Install the same version on all nodes.");
	return false;
}

void
identity_init(void)
{
	static const SharedMemory memory = {"pando_identity", offsetof(IdentityShared, slots),
										sizeof(IdentitySlot), identity_attach};

	shared_memory_register(&memory);
	error_hook_take(report_error);
	session_register_name(identity_session_name);
	session_register_interrupt(raise_if_victim);
	DefineCustomStringVariable(
		"pando.peer_version", "Version of the node whose session this is; set by Pando.",
		NULL, &peer_version, "", PGC_USERSET,
		GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL | GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE,
		check_peer_version, NULL, NULL);
	DefineCustomStringVariable(
		"pando.session_proof",
		"Proof of the global pid in a session's name; set by Pando.", NULL,
		&session_proof, "", PGC_USERSET,
		GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL | GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE,
		NULL, assign_proof, NULL);
}

PG_FUNCTION_INFO_V1(citus_backend_gpid);
PG_FUNCTION_INFO_V1(citus_nodeid_for_gpid);
PG_FUNCTION_INFO_V1(citus_pid_for_gpid);
PG_FUNCTION_INFO_V1(get_current_transaction_id);

Datum
citus_backend_gpid(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64((int64) xact_global_pid());
}

Datum
citus_nodeid_for_gpid(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32((int32) ((uint64) PG_GETARG_INT64(0) / GPID_NODE_FACTOR));
}

Datum
citus_pid_for_gpid(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32((int32) ((uint64) PG_GETARG_INT64(0) % GPID_NODE_FACTOR));
}

PG_FUNCTION_INFO_V1(backend_gpid);

/* pando.backend_gpid(pid, application_name): of another backend of this server. */
Datum
backend_gpid(PG_FUNCTION_ARGS)
{
	char *name = PG_ARGISNULL(1) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(1));

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_INT64((int64) identity_gpid(PG_GETARG_INT32(0), name));
}

/* The distributed transaction of this backend; number 0 and no time while no node takes
 * part. */
Datum
get_current_transaction_id(PG_FUNCTION_ARGS)
{
	TupleDesc desc;
	Datum values[5];
	bool nulls[5] = {false, false, false, false, false};
	uint64 number = members != NIL ? identity_transaction_number() : 0;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = ObjectIdGetDatum(MyDatabaseId);
	values[1] = Int32GetDatum(MyProcPid);
	values[2] = Int32GetDatum(node_local_group());
	values[3] = Int64GetDatum((int64) number);
	values[4] = TimestampTzGetDatum(GetCurrentTransactionStartTimestamp());
	nulls[4] = number == 0;
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
