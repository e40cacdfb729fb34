/*
 * group_shards.c: a table's shards by the group that has them.
 *
 * Whoever does something for each node asks here for the node's shards: to look through
 * all of the table for each would be the product of shards and nodes. It is made when the
 * table is loaded, by one sort of its placements.
 */
#include "pando/compat/compat.h"

#include "pando/metadata/group_shards.h"

typedef struct Place
{
	int32 group;
	int shard;
} Place;

static int
compare_places(const void *a, const void *b)
{
	const Place *x = a;
	const Place *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return (x->shard > y->shard) - (x->shard < y->shard);
}

/* All placements in order of their groups; *ngroups: how many groups there are. */
static Place *
sorted_places(const DistTable *table, int nplaces, int *ngroups)
{
	Place *places = palloc(sizeof(Place) * Max(nplaces, 1));
	int count = 0;

	for (int i = 0; i < table->nshards; i++)
	{
		for (int j = 0; j < table->shards[i].nplacements; j++)
			places[count++] = (Place){table->shards[i].placements[j].group, i};
	}
	qsort(places, count, sizeof(Place), compare_places);
	*ngroups = 0;
	for (int i = 0; i < count; i++)
		*ngroups += i == 0 || places[i].group != places[i - 1].group;
	return places;
}

void
group_shards_load(DistTable *table)
{
	int nplaces = 0;
	Place *places;
	int *shards;
	int ngroups;

	for (int i = 0; i < table->nshards; i++)
		nplaces += table->shards[i].nplacements;
	places = sorted_places(table, nplaces, &ngroups);
	shards = palloc(sizeof(int) * Max(nplaces, 1));
	table->groups = palloc(sizeof(GroupShards) * Max(ngroups, 1));
	for (int i = 0; i < nplaces; i++)
	{
		shards[i] = places[i].shard;
		if (i == 0 || places[i].group != places[i - 1].group)
			table->groups[table->ngroups++] =
				(GroupShards){places[i].group, 0, &shards[i]};
		table->groups[table->ngroups - 1].nshards++;
	}
	pfree(places);
}

GroupShards
dist_table_in_group(const DistTable *table, int32 group)
{
	int low = 0;
	int high = table->ngroups - 1;

	while (low <= high)
	{
		int middle = (low + high) / 2;
		const GroupShards *candidate = &table->groups[middle];

		if (candidate->group == group)
			return *candidate;
		if (candidate->group < group)
			low = middle + 1;
		else
			high = middle - 1;
	}
	return (GroupShards){.group = group};
}
