/*
 * spread.c: what is gained when several sessions of one node share a fragment's tasks.
 *
 * A node gets all its tasks as one statement, whose parts PostgreSQL spreads over cores
 * by itself (Parallel Append) where it knows that it may and that it is worth it. It may
 * not with functions that are not declared PARALLEL SAFE, nor below a LIMIT, but of one
 * query over all shards (merge.c) the LIMIT is above; and what a function in a procedural
 * language costs, nobody knows.
 */
#include "pando/compat/compat.h"

#include "pando/planner/fragment/spread.h"

/* A volatile function may write; the snapshot of a transaction that does isn't shared. */
static bool may_write = false;

bool
spread_statement_begin(void)
{
	return may_write;
}

void
spread_statement_end(bool outer)
{
	may_write = outer;
}

void
spread_statement(const QueryFacts *facts)
{
	may_write |= facts->varies;
}

bool
spread_only_reads(const Query *query)
{
	return !may_write && query->commandType == CMD_SELECT && !query->hasForUpdate &&
		   !query->hasModifyingCTE;
}

FragmentSpread
spread_of_query(const Query *query, const QueryFacts *facts, bool merges)
{
	if (!spread_only_reads(query))
		return SPREAD_NEVER;
	if (facts->procedural)
		return SPREAD_UNKNOWN;
	return facts->serial || (facts->limits && !merges) ? SPREAD_COST : SPREAD_NOTHING;
}
