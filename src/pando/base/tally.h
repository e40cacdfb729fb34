/*
 * tally.h: a bounded table of things that are counted, in shared memory.
 */
#ifndef PANDO_BASE_TALLY_H
#define PANDO_BASE_TALLY_H

#include "pando/compat/compat.h"
#include "storage/lwlock.h"

typedef struct TallyTable TallyTable;

/* A table as this process knows it. Keys are compared byte by byte: no padding in them.
 */
typedef struct Tally
{
	int capacity;
	Size key_size;
	Size value_size;
	/* How much a value is worth to be kept, when room is made. May age it. */
	uint64 (*worth)(void *value);
	TallyTable *table; /* these two: tally_attach()'s */
	LWLock *lock;
} Tally;

/* Changes a value, which is zero when it is new. Is called under a spinlock. */
typedef void (*TallyUpdate)(void *value, void *arg);

/* Shared memory that the table takes. */
extern Size tally_size(const Tally *tally);

/* As SharedMemory.attach() is told. */
extern void tally_attach(Tally *tally, void *memory, LWLock *lock, bool fresh);

extern bool tally_has(const Tally *tally, const void *key);

/*
 * Updates the key's value; a key that is new takes a place, for which, when there is none
 * left, those that are worth the least make room.
 */
extern void tally_update(Tally *tally, const void *key, TallyUpdate update, void *arg);

/* Shows each key and a copy of its value. */
extern void tally_each(const Tally *tally,
					   void (*visit)(const void *key, const void *value, void *arg),
					   void *arg);

/* Forgets the keys of which `is_meant` says so. */
extern void tally_forget(Tally *tally, bool (*is_meant)(const void *key, void *arg),
						 void *arg);

#endif
