/*
 * attention.c: waking the database's maintenance worker for a job that can't wait.
 *
 * The worker of each database has an entry in shared memory: its process and a bit for
 * each job that somebody wants at once. Entries are taken with compare-and-swap and are
 * given back when the worker ends, so there is no lock to be had where nothing may raise.
 */
#include "pando/compat/compat.h"

#include "miscadmin.h"
#include "pando/base/shared_memory.h"
#include "pando/transaction/maintenance.h"
#include "pando/transaction/member.h"
#include "pando/transaction/xact.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"

#define MAX_WORKERS 64

typedef struct Attention
{
	pg_atomic_uint32 database; /* 0: free */
	pg_atomic_uint32 process;  /* the worker's index among all processes, + 1 */
	pg_atomic_uint32 wanted;   /* bits of jobs */
} Attention;

static Attention *shared = NULL;

static void
attention_attach(void *memory, LWLock *lock, bool fresh)
{
	shared = memory;
	for (int i = 0; fresh && i < MAX_WORKERS; i++)
	{
		pg_atomic_init_u32(&shared[i].database, 0);
		pg_atomic_init_u32(&shared[i].process, 0);
		pg_atomic_init_u32(&shared[i].wanted, 0);
	}
}

/* The entry of this database, NULL if its worker has none. */
static Attention *
attention_find(void)
{
	for (int i = 0; shared != NULL && i < MAX_WORKERS; i++)
	{
		if (pg_atomic_read_u32(&shared[i].database) == MyDatabaseId)
			return &shared[i];
	}
	return NULL;
}

static void
attention_leave(int code, Datum arg)
{
	Attention *mine = attention_find();

	if (mine == NULL)
		return;
	pg_atomic_write_u32(&mine->process, 0);
	pg_atomic_write_u32(&mine->database, 0);
}

void
maintenance_attach(void)
{
	for (int i = 0; i < MAX_WORKERS; i++)
	{
		uint32 nobody = 0;

		if (!pg_atomic_compare_exchange_u32(&shared[i].database, &nobody, MyDatabaseId))
			continue;
		pg_atomic_write_u32(&shared[i].wanted, 0);
		pg_atomic_write_u32(&shared[i].process, compat_my_process() + 1);
		before_shmem_exit(attention_leave, 0);
		return;
	}
}

void
maintenance_want(MaintenanceWish wish)
{
	Attention *entry = attention_find();
	uint32 process;

	if (entry == NULL)
		return;
	pg_atomic_fetch_or_u32(&entry->wanted, wish);
	process = pg_atomic_read_u32(&entry->process);
	if (process != 0)
		SetLatch(&ProcGlobal->allProcs[process - 1].procLatch);
}

/* Bits of the jobs that this transaction makes work for. */
static uint32 wishes_at_commit = 0;

void
maintenance_want_at_commit(MaintenanceWish wish)
{
	wishes_at_commit |= wish;
}

static void
attention_transaction(XactMoment moment, bool committed)
{
	if (moment != XACT_MOMENT_END || wishes_at_commit == 0)
		return;
	if (committed)
		maintenance_want(wishes_at_commit);
	wishes_at_commit = 0;
}

bool
maintenance_take(MaintenanceWish wish)
{
	Attention *mine = attention_find();

	if (wish == 0 || mine == NULL || (pg_atomic_read_u32(&mine->wanted) & wish) == 0)
		return false;
	pg_atomic_fetch_and_u32(&mine->wanted, ~(uint32) wish);
	return true;
}

bool
maintenance_wished(void)
{
	Attention *mine = attention_find();

	return mine != NULL && pg_atomic_read_u32(&mine->wanted) != 0;
}

void
attention_init(void)
{
	static const SharedMemory memory = {
		"pando_attention", sizeof(Attention) * MAX_WORKERS, 0, attention_attach};

	shared_memory_register(&memory);
	xact_register(attention_transaction);
}
