/*
 * part_fragment.c: parts of a query level as fragments.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"

#include "pando/planner/fragment/fragment_path.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/fragment/estimate.h"
#include "pando/planner/fragment/fragment_make.h"
#include "pando/planner/query/part.h"
#include "pando/planner/residual/part_fragment.h"
#include "pando/planner/where/result_scope.h"

RangeTblEntry *
part_fragment_estimated(Query *part, const Distribution *distribution, Estimate estimate)
{
	Fragment *fragment;

	if (part->targetList == NIL)
		part_column(part,
					(Node *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
									   Int32GetDatum(1), false, true),
					"row");
	fragment = fragment_from_query(part, distribution);
	fragment->subplans = results_of_query(part);
	fragment_take_estimate(fragment, estimate);
	return fragment_rte(fragment);
}

RangeTblEntry *
part_fragment(Query *part, const Distribution *distribution)
{
	return part_fragment_estimated(part, distribution, estimate_per_task(part, 1));
}

RangeTblEntry *
part_fragment_per_task(Query *part, const Distribution *distribution)
{
	return part_fragment_estimated(part, distribution,
								   estimate_per_task(part, estimate_tasks(distribution)));
}
