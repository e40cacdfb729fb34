/*
 * table_change.h: which tables a write changes, and how.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_TABLE_CHANGE_H
#define PANDO_PLANNER_TABLE_CHANGE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/* In this order several changes of one table are what PostgreSQL makes of them. */
typedef enum Change
{
	CHANGE_NOTHING,
	CHANGE_DELETE,
	CHANGE_UPDATE, /* or INSERT with ON CONFLICT DO UPDATE */
	CHANGE_INSERT
} Change;

/* The table that an INSERT, UPDATE or DELETE names. */
extern Oid write_target(const Query *query);

/* Are they one table, or is one a partition of the other, at any depth? */
extern bool tables_share_rows(Oid a, Oid b);

/* What the query, at its own level, does with the table. */
extern Change change_of_table(const Query *query, Oid relid);

#endif
