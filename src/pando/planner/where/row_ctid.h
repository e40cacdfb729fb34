/*
 * row_ctid.h: a ctid names one row of a distributed table.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_ROW_CTID_H
#define PANDO_PLANNER_ROW_CTID_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/* Does the statement use the relation's ctid? As the parser saw it, so it is cheap. */
extern bool relation_ctid_is_used(const RangeTblEntry *rte);

/*
 * A copy of a statement in which ctids of tables of several shards are those that
 * pando.row_ctid() gives. Not for a piece of such a copy.
 */
extern Query *query_with_row_ctids(Query *query);

#endif
