/*
 * row_ctid.h: a ctid names one row of a distributed table, a tableoid its partition.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_ROW_CTID_H
#define PANDO_PLANNER_ROW_CTID_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

#include "pando/metadata/table.h"

/* Does the statement use the relation's ctid? As the parser saw it, so it is cheap. */
extern bool relation_ctid_is_used(const RangeTblEntry *rte);

/*
 * Does the statement use the relation's ctid or tableoid, and must ask its shards in
 * another way?
 */
extern bool relation_place_is_used(const RangeTblEntry *rte, const DistTable *table);

/*
 * A copy of a statement in which ctids of tables of several shards are those that
 * pando.row_ctid() gives, and tableoids of partitioned tables those of
 * pando.row_tableoid(). Not for a piece of such a copy.
 */
extern Query *query_with_row_places(Query *query);

#endif
