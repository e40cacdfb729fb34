/*
 * shared_memory.c: pieces of the server's shared memory.
 *
 * How many backends there can be is known when memory is requested, not before. After a
 * crash the postmaster makes all pieces anew and attaches to them again.
 */
#include "pando/compat/compat.h"

#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/memutils.h"

#include "pando/base/shared_memory.h"

static List *pieces = NIL; /* const SharedMemory * */
static shmem_request_hook_type next_request = NULL;
static shmem_startup_hook_type next_startup = NULL;

static Size
piece_size(const SharedMemory *piece)
{
	return add_size(piece->size, mul_size(MaxBackends + 1, piece->per_backend));
}

static void
request_all(void)
{
	if (next_request)
		next_request();
	foreach_ptr (const SharedMemory, piece, pieces)
	{
		RequestAddinShmemSpace(MAXALIGN(piece_size(piece)));
		RequestNamedLWLockTranche(piece->name, 1);
	}
}

static void
attach_all(void)
{
	if (next_startup)
		next_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	foreach_ptr (const SharedMemory, piece, pieces)
	{
		bool found;
		void *memory = ShmemInitStruct(piece->name, piece_size(piece), &found);

		if (!found)
			memset(memory, 0, piece_size(piece));
		piece->attach(memory, &GetNamedLWLockTranche(piece->name)->lock, !found);
	}
	LWLockRelease(AddinShmemInitLock);
}

void
shared_memory_register(const SharedMemory *piece)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

	if (pieces == NIL)
	{
		next_request = shmem_request_hook;
		shmem_request_hook = request_all;
		next_startup = shmem_startup_hook;
		shmem_startup_hook = attach_all;
	}
	pieces = lappend(pieces, unconstify(SharedMemory *, piece));
	MemoryContextSwitchTo(old);
}
