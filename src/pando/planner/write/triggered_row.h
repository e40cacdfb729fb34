/*
 * triggered_row.h: one row whose triggers fire in the client's backend: how it is found,
 * what changes it once they have fired, and whose rights and policies both are done with.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_TRIGGERED_ROW_H
#define PANDO_PLANNER_TRIGGERED_ROW_H

#include "pando/compat/compat.h"
#include "access/tupdesc.h"
#include "nodes/parsenodes.h"
#include "pando/metadata/table.h"
#include "utils/relcache.h"

typedef struct TriggeredRow
{
	Query *query; /* the statement, without its target's policies */
	const DistTable *target;
	Relation relation;
	bool placed; /* partitions number their rows: the old row comes with its place */
	bool past;	 /* policies are asked by the statements alone */
	/* What the rewriter has put into the statement for the target's policies, over the
	 * table as entry 1. */
	List *policies; /* securityQuals */
	List *checks;	/* WithCheckOptions */
	bool secured;	/* policies are asked when the row that is in the way is known */
} TriggeredRow;

/*
 * Would shards ask more of the UPDATE than PostgreSQL does? To name the row on a shard
 * asks for the policies of SELECT, also where the statement reads no column, and for more
 * rights.
 */
extern bool update_is_past(const Query *query);

/* A value for the column where the statement gives none. */
extern Node *null_of_column(Form_pg_attribute attr);

/* A value of the relation's row type from its columns at that number of a range table. */
extern Node *whole_row(Index varno, Relation relation);

/* The statement as what finds its rows. policies: the target's, as given. */
extern Query *finder_of_rows(const TriggeredRow *row, List *policies);

/* Conditions: a row that has in all columns what the old row had. */
extern List *row_is_like_old(const TriggeredRow *row);

/*
 * What changes the row. command: the query's, or the CMD_DELETE of a row that it would
 * have updated. Of an UPDATE: does the row move to where another value of its key
 * belongs?
 */
extern Query *change_of_row(const TriggeredRow *row, CmdType command, bool moves);

#endif
