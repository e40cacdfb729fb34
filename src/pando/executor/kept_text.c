/*
 * kept_text.c: texts of tasks, kept from one execution of a fragment to the next.
 *
 * Making a text means looking up the names of tables. A fragment that takes its values as
 * parameters has the same text for a shard group until a table changes; then all are
 * forgotten.
 */
#include "pando/compat/compat.h"

#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "pando/executor/kept_text.h"
#include "pando/remote/session.h"

#define MAX_KEPT 2048

typedef struct KeptKey
{
	uint64 fragment;
	uint64 shard_index;
} KeptKey;

typedef struct KeptText
{
	KeptKey key;
	char *text;
} KeptText;

static MemoryContext kept_context = NULL;
static HTAB *kept = NULL;
static uint32 kept_epoch = 0;

static void
start_anew(void)
{
	HASHCTL control = {.keysize = sizeof(KeptKey), .entrysize = sizeof(KeptText)};

	if (kept_context == NULL)
		kept_context = AllocSetContextCreate(TopMemoryContext, "pando task texts",
											 ALLOCSET_DEFAULT_SIZES);
	kept = NULL;
	MemoryContextReset(kept_context);
	control.hcxt = kept_context;
	kept = hash_create("pando task texts", 256, &control,
					   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	kept_epoch = session_statements_epoch();
}

const char *
kept_text_find(uint64 fragment, int shard_index)
{
	KeptKey key = {fragment, (uint64) shard_index};
	KeptText *entry;

	if (kept == NULL || kept_epoch != session_statements_epoch())
		return NULL;
	entry = hash_search(kept, &key, HASH_FIND, NULL);
	return entry ? entry->text : NULL;
}

void
kept_text_add(uint64 fragment, int shard_index, const char *text)
{
	KeptKey key = {fragment, (uint64) shard_index};
	char *copy;
	bool found;

	if (kept == NULL || kept_epoch != session_statements_epoch() ||
		hash_get_num_entries(kept) >= MAX_KEPT)
		start_anew();
	copy = MemoryContextStrdup(kept_context, text);
	((KeptText *) hash_search(kept, &key, HASH_ENTER, &found))->text = copy;
}
