/*
 * identity.c: who a backend is in the cluster, and which distributed transaction it runs.
 *
 * The global pid of a client's backend is its node's id * 10^10 + its pid; a backend that
 * serves a session of another node carries that one's, from the application_name. Each
 * backend has a slot in shared memory with the number of the distributed transaction that
 * it is running: recovery leaves that one's prepared transactions alone.
 *
 * Numbers start at the server's start time in microseconds, so they never come again.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pando/transaction/member.h"
#include "port/atomics.h"
#include "storage/backendid.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#define GPID_NODE_FACTOR UINT64CONST(10000000000)
#define NAME_PREFIX "citus_internal gpid="

typedef struct IdentitySlot
{
	pg_atomic_uint64 number; /* distributed transaction under way; 0: none */
	pg_atomic_uint32 pid;
} IdentitySlot;

typedef struct IdentityShared
{
	pg_atomic_uint64 last_number;
	IdentitySlot slots[FLEXIBLE_ARRAY_MEMBER];
} IdentityShared;

static IdentityShared *shared = NULL;
static uint64 my_number = 0;
static shmem_request_hook_type next_request_hook = NULL;
static shmem_startup_hook_type next_startup_hook = NULL;

static Size
shared_size(void)
{
	return add_size(offsetof(IdentityShared, slots),
					mul_size(MaxBackends + 1, sizeof(IdentitySlot)));
}

static void
identity_request(void)
{
	if (next_request_hook)
		next_request_hook();
	RequestAddinShmemSpace(shared_size());
}

static void
identity_startup(void)
{
	bool found;

	if (next_startup_hook)
		next_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("pando identity", shared_size(), &found);
	if (!found)
	{
		pg_atomic_init_u64(&shared->last_number, (uint64) GetCurrentTimestamp());
		for (int i = 0; i <= MaxBackends; i++)
		{
			pg_atomic_init_u64(&shared->slots[i].number, 0);
			pg_atomic_init_u32(&shared->slots[i].pid, 0);
		}
	}
	LWLockRelease(AddinShmemInitLock);
}

static IdentitySlot *
my_slot(void)
{
	return &shared->slots[MyBackendId];
}

void
identity_transaction_end(void)
{
	if (my_number == 0)
		return;
	pg_atomic_write_u64(&my_slot()->number, 0);
	my_number = 0;
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

uint64
xact_global_pid(void)
{
	uint64 gpid = gpid_of_name(application_name);

	if (gpid != 0)
		return gpid;
	return (uint64) node_local_id() * GPID_NODE_FACTOR + MyProcPid;
}

static const char *
identity_session_name(void)
{
	static char name[64];

	snprintf(name, sizeof(name), NAME_PREFIX UINT64_FORMAT, xact_global_pid());
	return name;
}

void
identity_init(void)
{
	next_request_hook = shmem_request_hook;
	shmem_request_hook = identity_request;
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = identity_startup;
	session_register_name(identity_session_name);
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

/* The distributed transaction of this backend; number 0 and no time while there is none.
 */
Datum
get_current_transaction_id(PG_FUNCTION_ARGS)
{
	TupleDesc desc;
	Datum values[5];
	bool nulls[5] = {false, false, false, false, false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = ObjectIdGetDatum(MyDatabaseId);
	values[1] = Int32GetDatum(MyProcPid);
	values[2] = Int32GetDatum(node_local_group());
	values[3] = Int64GetDatum((int64) my_number);
	values[4] = TimestampTzGetDatum(GetCurrentTransactionStartTimestamp());
	nulls[4] = my_number == 0;
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
