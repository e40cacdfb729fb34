/*
 * write.h: plans of INSERT, UPDATE, DELETE and MERGE on distributed tables.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_WRITE_H
#define PANDO_PLANNER_WRITE_H

#include "pando/compat/compat.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "pando/metadata/table.h"
#include "pando/plan/fragment.h"
#include "pando/planner/where/distribution.h"

/*
 * A plan for a statement that changes a table; NULL when its target is not distributed:
 * then what it reads decides, as for a SELECT.
 */
extern PlannedStmt *plan_write(Query *query, int cursor_options, ParamListInfo params);

/* The fragment of an INSERT; NULL when the rows come from other shard groups. */
extern Fragment *insert_fragment(Query *query, const DistTable *target);
extern Fragment *insert_select_fragment(Query *query, const DistTable *target);

/* INSERT of rows in the statement, or of those of a child plan to be put below. */
extern Fragment *insert_rows_fragment(Query *query, const DistTable *target,
									  bool from_plan);

/* The SELECT of the INSERT: one output column per column that is inserted. */
extern Query *select_of_insert(Query *insert);

/* INSERT whose rows pass through this node. */
extern PlannedStmt *plan_insert_select(Query *query, const DistTable *target,
									   int cursor_options, ParamListInfo params);

/* Why ON CONFLICT or RETURNING of the INSERT must be evaluated here, in words for a user;
 * NULL when a shard may do it. */
extern const char *insert_hazard(const Query *insert);

/* Is that so for its ON CONFLICT? Raises no error for any statement. */
extern bool conflict_is_for_here(const Query *query);

/* Raises an error unless ON CONFLICT and RETURNING of the INSERT can be evaluated on
 * shards. */
extern void check_on_shard(Query *insert, const DistTable *target);

/* Does its ON CONFLICT have subqueries? */
extern bool conflict_has_sublinks(Query *insert);

/*
 * The statement without the row-level security of its target, which the shards have
 * themselves; the same Query if there is none.
 */
extern Query *query_without_target_policies(Query *query);

/*
 * The statement, and those in its WITH, with the WHERE clauses of the security_barrier
 * views through which tables are changed among their conditions, and safe there from the
 * others; the same Query if there are none.
 */
extern Query *query_with_barriers_as_quals(Query *query);

/*
 * The statement, and those in its WITH, with what views ask of the rows that are written
 * through them (WITH CHECK OPTION), or met by ON CONFLICT, as expressions in RETURNING
 * and in the condition of DO UPDATE (view_check.c); the same Query if they ask nothing.
 * Rows of a RETURNING that it didn't have are for nobody.
 */
extern Query *query_with_view_checks(Query *query);

/* Does each shard, or each copy of the table, find all that the statement needs? */
extern bool can_stand_on_shards(Query *query, const DistTable *target,
								const Distribution *distribution);

/* Does each row of the table exist more than once? */
extern bool table_has_copies(const DistTable *table);

/*
 * Does no assignment of the UPDATE, or of ON CONFLICT DO UPDATE, change the distribution
 * column? keys: the values that its rows are known to have, or NIL.
 */
extern bool keeps_key(const Query *query, const DistTable *target, List *keys);

/* Raises an error unless that is so. */
extern void refuse_key_change(const Query *query, const DistTable *target, List *keys);

/* Raises an error if the text of a write to copies could give them different rows. */
extern void refuse_varying_copies(const DistTable *target, Query *query);

/* System columns in WHERE and SET of an UPDATE or DELETE, and in ON CONFLICT. */
typedef struct SystemColumns
{
	bool tableoid;
	bool others;
} SystemColumns;

extern SystemColumns write_system_columns(Query *write);

/* The statement with the shell tables' Oids for tableoid, where a table has no children.
 */
extern Query *write_with_shell_oids(Query *write);

#endif
