/*
 * shared_memory.h: a piece of the server's shared memory, and a lock for it.
 */
#ifndef PANDO_BASE_SHARED_MEMORY_H
#define PANDO_BASE_SHARED_MEMORY_H

#include "pando/compat/compat.h"
#include "storage/lwlock.h"

typedef struct SharedMemory
{
	const char *name; /* the lock's, too */
	Size size;
	Size per_backend; /* that much more for each backend id, and for id 0 */

	/* When the server has started. fresh: just made, and zero. */
	void (*attach)(void *memory, LWLock *lock, bool fresh);
} SharedMemory;

/* The piece must live as long as the server; called from _PG_init only. */
extern void shared_memory_register(const SharedMemory *piece);

#endif
