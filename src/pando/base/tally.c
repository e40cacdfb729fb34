/*
 * tally.c: a bounded table of things that are counted, in shared memory.
 *
 * All places are made with the table; a chained hash finds the place of a key. A value
 * that exists is updated under the table's shared lock and the place's spinlock; only who
 * adds or forgets keys takes the lock alone. When all places are taken the keys that are
 * worth the least, a twentieth of all, make room at once.
 */
#include "pando/compat/compat.h"

#include "common/hashfn.h"
#include "port/pg_bitutils.h"
#include "storage/spin.h"

#include "pando/base/tally.h"

#define NONE (-1)
#define PART_TO_FREE 20

typedef struct Place
{
	slock_t mutex;
	bool used;
	int next; /* with the same bucket, or free; or NONE */
			  /* the key, then the value */
} Place;

struct TallyTable
{
	int free;
	int nbuckets;
	int buckets[FLEXIBLE_ARRAY_MEMBER];
};

static int
bucket_count(const Tally *tally)
{
	return (int) pg_nextpower2_32((uint32) Max(tally->capacity, 2));
}

static Size
head_size(const Tally *tally)
{
	return MAXALIGN(offsetof(TallyTable, buckets) + sizeof(int) * bucket_count(tally));
}

static Size
value_offset(const Tally *tally)
{
	return MAXALIGN(sizeof(Place)) + MAXALIGN(tally->key_size);
}

static Size
place_size(const Tally *tally)
{
	return value_offset(tally) + MAXALIGN(tally->value_size);
}

Size
tally_size(const Tally *tally)
{
	return add_size(head_size(tally), mul_size(place_size(tally), tally->capacity));
}

static Place *
place_at(const Tally *tally, int number)
{
	return (Place *) ((char *) tally->table + head_size(tally) +
					  place_size(tally) * number);
}

static void *
key_of(const Place *place)
{
	return (char *) place + MAXALIGN(sizeof(Place));
}

static void *
value_of(const Tally *tally, const Place *place)
{
	return (char *) place + value_offset(tally);
}

static int *
bucket_of(const Tally *tally, const void *key)
{
	uint32 hash = hash_bytes(key, (int) tally->key_size);

	return &tally->table->buckets[hash & (uint32) (tally->table->nbuckets - 1)];
}

void
tally_attach(Tally *tally, void *memory, LWLock *lock, bool fresh)
{
	tally->table = memory;
	tally->lock = lock;
	if (!fresh)
		return;
	tally->table->nbuckets = bucket_count(tally);
	for (int i = 0; i < tally->table->nbuckets; i++)
		tally->table->buckets[i] = NONE;
	tally->table->free = NONE;
	for (int i = tally->capacity - 1; i >= 0; i--)
	{
		Place *place = place_at(tally, i);

		SpinLockInit(&place->mutex);
		place->next = tally->table->free;
		tally->table->free = i;
	}
}

static Place *
find(const Tally *tally, const void *key)
{
	for (int i = *bucket_of(tally, key); i != NONE;)
	{
		Place *place = place_at(tally, i);

		if (memcmp(key_of(place), key, tally->key_size) == 0)
			return place;
		i = place->next;
	}
	return NULL;
}

bool
tally_has(const Tally *tally, const void *key)
{
	bool found;

	LWLockAcquire(tally->lock, LW_SHARED);
	found = find(tally, key) != NULL;
	LWLockRelease(tally->lock);
	return found;
}

static void
remove_place(Tally *tally, int number)
{
	Place *place = place_at(tally, number);
	int *link = bucket_of(tally, key_of(place));

	while (*link != number)
		link = &place_at(tally, *link)->next;
	*link = place->next;
	place->used = false;
	place->next = tally->table->free;
	tally->table->free = number;
}

static int
compare_worths(const void *a, const void *b)
{
	uint64 left = *(const uint64 *) a;
	uint64 right = *(const uint64 *) b;

	return left < right ? -1 : left > right;
}

static void
make_room(Tally *tally)
{
	Size size = sizeof(uint64) * tally->capacity;
	uint64 *worths = palloc(size);
	uint64 *sorted = palloc(size);
	int wanted = Max(tally->capacity / PART_TO_FREE, 1);
	uint64 limit;

	for (int i = 0; i < tally->capacity; i++)
		worths[i] = tally->worth(value_of(tally, place_at(tally, i)));
	memcpy(sorted, worths, size);
	qsort(sorted, tally->capacity, sizeof(uint64), compare_worths);
	limit = sorted[wanted - 1];
	for (int i = 0; i < tally->capacity && wanted > 0; i++)
	{
		if (worths[i] > limit)
			continue;
		remove_place(tally, i);
		wanted--;
	}
	pfree(sorted);
	pfree(worths);
}

static Place *
add(Tally *tally, const void *key)
{
	int *link;
	int number;
	Place *place;

	if (tally->table->free == NONE)
		make_room(tally);
	number = tally->table->free;
	place = place_at(tally, number);
	tally->table->free = place->next;
	memcpy(key_of(place), key, tally->key_size);
	memset(value_of(tally, place), 0, tally->value_size);
	place->used = true;
	link = bucket_of(tally, key);
	place->next = *link;
	*link = number;
	return place;
}

void
tally_update(Tally *tally, const void *key, TallyUpdate update, void *arg)
{
	Place *place;

	LWLockAcquire(tally->lock, LW_SHARED);
	place = find(tally, key);
	if (place == NULL)
	{
		LWLockRelease(tally->lock);
		LWLockAcquire(tally->lock, LW_EXCLUSIVE);
		place = find(tally, key);
		if (place == NULL)
			place = add(tally, key);
	}
	SpinLockAcquire(&place->mutex);
	update(value_of(tally, place), arg);
	SpinLockRelease(&place->mutex);
	LWLockRelease(tally->lock);
}

void
tally_each(const Tally *tally,
		   void (*visit)(const void *key, const void *value, void *arg), void *arg)
{
	void *value = palloc(MAXALIGN(tally->value_size));

	LWLockAcquire(tally->lock, LW_SHARED);
	for (int i = 0; i < tally->capacity; i++)
	{
		Place *place = place_at(tally, i);

		if (!place->used)
			continue;
		SpinLockAcquire(&place->mutex);
		memcpy(value, value_of(tally, place), tally->value_size);
		SpinLockRelease(&place->mutex);
		visit(key_of(place), value, arg);
	}
	LWLockRelease(tally->lock);
	pfree(value);
}

void
tally_forget(Tally *tally, bool (*is_meant)(const void *key, void *arg), void *arg)
{
	LWLockAcquire(tally->lock, LW_EXCLUSIVE);
	for (int i = 0; i < tally->capacity; i++)
	{
		Place *place = place_at(tally, i);

		if (place->used && is_meant(key_of(place), arg))
			remove_place(tally, i);
	}
	LWLockRelease(tally->lock);
}
