/*
 * part_fragment.h: parts of a query level as fragments.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_PART_FRAGMENT_H
#define PANDO_PLANNER_PART_FRAGMENT_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/fragment/estimate.h"

/* The part as a fragment, in a FROM item. It gets a column if it has none. */
extern RangeTblEntry *part_fragment(Query *part, const Distribution *distribution);

/*
 * The same for a part whose grouping, DISTINCT and LIMIT each task does for itself, so
 * that the rows are still to be put together.
 */
extern RangeTblEntry *part_fragment_per_task(Query *part,
											 const Distribution *distribution);

/* The same for any estimate. */
extern RangeTblEntry *
part_fragment_estimated(Query *part, const Distribution *distribution, Estimate estimate);

#endif
