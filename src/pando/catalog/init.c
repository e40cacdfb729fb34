/*
 * init.c: settings from which tests get the same ids at every run.
 */
#include "pando/compat/compat.h"

#include <limits.h>

#include "utils/guc.h"

#include "pando/catalog/catalog.h"
#include "pando/catalog/init.h"

static int next_shard_id = 0;
static int next_placement_id = 0;
static int next_cleanup_record_id = 0;

static const struct
{
	const char *setting;
	const char *sequence;
	int *next;
} chosen_ids[] = {
	{"citus.next_shard_id", "pg_dist_shardid_seq", &next_shard_id},
	{"citus.next_placement_id", "pg_dist_placement_placementid_seq", &next_placement_id},
	{"citus.next_cleanup_record_id", "pg_dist_cleanup_recordid_seq",
	 &next_cleanup_record_id},
};

void
catalog_init(void)
{
	for (int i = 0; i < lengthof(chosen_ids); i++)
		DefineCustomIntVariable(
			chosen_ids[i].setting,
			"Next id that this session gives, counted up from there; 0 takes it from the "
			"sequence.",
			NULL, chosen_ids[i].next, 0, 0, INT_MAX, PGC_USERSET,
			GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
}

/* The id that a setting chose for the sequence, if it did. */
bool
catalog_chosen_id(const char *sequence, int64 *id)
{
	for (int i = 0; i < lengthof(chosen_ids); i++)
	{
		if (strcmp(chosen_ids[i].sequence, sequence) != 0 || *chosen_ids[i].next == 0)
			continue;
		*id = (*chosen_ids[i].next)++;
		return true;
	}
	return false;
}
