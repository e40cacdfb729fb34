/*
 * row_identity.h: ctid tells the rows of a SELECT apart, though each shard has its own.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_ROW_IDENTITY_H
#define PANDO_PLANNER_ROW_IDENTITY_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/* Does it name a ctid anywhere? */
extern bool query_reads_ctid(Query *query);

/*
 * A copy in which ctids of one table that are compared or grouped by are so together with
 * the distribution column. Raises feature_not_supported where rows of several shards
 * would be taken for one.
 */
extern Query *query_with_rows_told_apart(Query *query);

#endif
