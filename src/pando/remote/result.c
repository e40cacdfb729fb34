/*
 * result.c: who frees a PGresult.
 *
 * libpq allocates results with malloc. Each one handed out is tied to the memory context
 * that was current then: it is freed with session_result_free(), or when that context is
 * reset or deleted, so that errors leak nothing and nobody needs PG_TRY. One reset
 * callback per context, and a hash from result to context, since few results live at a
 * time.
 */
#include "pando/compat/compat.h"

#include "common/hashfn.h"
#include "pando/remote/wire.h"
#include "utils/memutils.h"

typedef struct ResultOwner
{
	dlist_node link;
	MemoryContext context;
	MemoryContextCallback callback;
	int count; /* of its results */
} ResultOwner;

typedef struct ResultEntry
{
	PGresult *result;
	ResultOwner *owner;
	char status;
} ResultEntry;

#define SH_PREFIX results
#define SH_ELEMENT_TYPE ResultEntry
#define SH_KEY_TYPE PGresult *
#define SH_KEY result
#define SH_HASH_KEY(tb, key) murmurhash32((uint32) (((uintptr_t) (key)) >> 4))
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

static results_hash *results = NULL;
static dlist_head owners = DLIST_STATIC_INIT(owners);

/* The context goes: free its results. Deletions restart the scan, entries may move. */
static void
owner_reset(void *arg)
{
	ResultOwner *owner = arg;

	dlist_delete(&owner->link);
	while (owner->count > 0)
	{
		results_iterator iterator;
		ResultEntry *entry;

		results_start_iterate(results, &iterator);
		while ((entry = results_iterate(results, &iterator)) != NULL)
		{
			if (entry->owner == owner)
			{
				PQclear(entry->result);
				results_delete(results, entry->result);
				owner->count--;
				break;
			}
		}
	}
}

static ResultOwner *
owner_of_context(MemoryContext context)
{
	dlist_iter iter;
	ResultOwner *owner;

	dlist_foreach (iter, &owners)
	{
		owner = dlist_container(ResultOwner, link, iter.cur);
		if (owner->context == context)
			return owner;
	}
	owner = MemoryContextAlloc(context, sizeof(ResultOwner));
	owner->context = context;
	owner->count = 0;
	owner->callback.func = owner_reset;
	owner->callback.arg = owner;
	dlist_push_head(&owners, &owner->link);
	MemoryContextRegisterResetCallback(context, &owner->callback);
	return owner;
}

/* Ties the result to CurrentMemoryContext. */
void
result_track(PGresult *result)
{
	bool found;
	ResultOwner *owner;
	ResultEntry *entry;

	if (results == NULL)
		results = results_create(TopMemoryContext, 64, NULL);
	owner = owner_of_context(CurrentMemoryContext);
	entry = results_insert(results, result, &found);
	Assert(!found);
	entry->owner = owner;
	owner->count++;
}

void
session_result_free(PGresult *result)
{
	if (result == NULL)
		return;
	if (results != NULL)
	{
		ResultEntry *entry = results_lookup(results, result);

		if (entry != NULL)
		{
			entry->owner->count--;
			results_delete_item(results, entry);
		}
	}
	PQclear(result);
}

char *
session_value(const PGresult *result, int row, int column)
{
	static char none[] = "";

	if (row >= PQntuples(result) || column >= PQnfields(result))
		return none;
	return PQgetvalue(result, row, column);
}
