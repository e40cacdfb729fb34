/*
 * triggers_scan.h: the state of "Citus Triggers", for the files that it is made of.
 *
 * triggers.c has the nodes and what PostgreSQL calls for each row, triggers_row.c the
 * change of one row, triggers_target.c the shells that are shown as foreign tables, and
 * triggers_conflict.c the row that is in the way of an INSERT.
 */
#ifndef PANDO_EXECUTOR_TRIGGERS_SCAN_H
#define PANDO_EXECUTOR_TRIGGERS_SCAN_H

#include "pando/compat/compat.h"

#include "access/tupconvert.h"
#include "commands/trigger.h"
#include "executor/execPartition.h"
#include "foreign/fdwapi.h"
#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/params.h"
#include "utils/hsearch.h"

#include "pando/executor/written.h"
#include "pando/plan/fragment.h"

typedef struct TriggersScan TriggersScan;

/* A relation that ModifyTable changes: the table, or one of its partitions. */
typedef struct Target
{
	TriggersScan *scan;
	Index position; /* in the range table, or 0 */
	Relation shell;
	ResultRelInfo *queue; /* for triggers that may be deferred; NULL: there are none */
	TupleConversionMap *to_table; /* of a partition with columns in another order */
	TupleConversionMap *from_table;
	TupleTableSlot *coming; /* a row that moves to the partition */
} Target;

/*
 * The node below ModifyTable. PostgreSQL collects no transition tables of foreign tables,
 * which it asks after once a row is changed: until the next one is read the target is not
 * one.
 */
typedef struct ReadFirstScan
{
	CustomScanState css;
	Tuplestorestate *rows; /* NULL: nothing has been read yet */
	TupleTableSlot *row;
	TupleTableSlot *handed; /* a row that isn't handed on as it was read */
	TriggersScan *triggers;
} ReadFirstScan;

struct TriggersScan
{
	CustomScanState css;
	TriggeredChange change;
	FdwRoutine *routine; /* what PostgreSQL calls for each row */
	Relation shell;
	ModifyTableState *modify;
	List *targets; /* Target *, of the plan */
	List *routed;  /* ResultRelInfo *, of partitions that were shown later */
	AttrNumber key;
	int acts_here;	   /* DistTable's */
	bool keys_wait;	   /* those of the table to itself */
	PlannedStmt *move; /* once a row has got another key */
	PlannedStmt *gone; /* once one that moves has been given up */
	ParamListInfo params;
	TupleTableSlot *old;			/* the row before the change, as one of the table, */
	HeapTupleData old_tuple;		/* and as one of the target */
	TupleTableSlot *new;			/* the row after it, as one of the table */
	PartitionTupleRouting *routing; /* of a partitioned table */
	ResultRelInfo *changed; /* which isn't shown as foreign until the next row is read */
	TransitionCaptureState *capture; /* ModifyTable's, but for a row that is updated by
									  * ON CONFLICT */
	Written *written;				 /* what is read for ON CONFLICT, or NULL */
	HTAB *made; /* of ON CONFLICT: hashes of the rows that this statement has made */
};

static inline Target *
triggers_target(const ResultRelInfo *relinfo)
{
	return relinfo->ri_FdwState;
}

static inline TriggersScan *
triggers_scan(const ResultRelInfo *relinfo)
{
	return triggers_target(relinfo)->scan;
}

/* ------------------------------------------------------------------------------------
 * The change of one row.
 */

extern void triggers_set_param(ParamListInfo params, int number, Datum value,
							   bool isnull);
extern void triggers_set_columns(ParamListInfo params, int before, TupleTableSlot *row);
/* Parameters of the plans: columns after and before, ctid, place, the client's. */
extern ParamListInfo triggers_make_params(TupleDesc desc, ParamListInfo client);
/* Runs a plan for a row, seeing all before it; returns how many rows it has changed. */
extern uint64 triggers_run_plan(const TriggersScan *scan, PlannedStmt *plan,
								DestReceiver *dest);
/* The same for the change itself, whose transition tables come next. */
extern uint64 triggers_change_row(TriggersScan *scan, ResultRelInfo *relinfo,
								  PlannedStmt *plan);
/* The old row alone, as one of the table. */
extern void triggers_read_old_row(TriggersScan *scan, const TupleConversionMap *map,
								  TupleTableSlot *input);
/* A target's row as one of the table. */
extern TupleTableSlot *triggers_as_of_table(const Target *target, TupleTableSlot *row);
/* The old row, and which it is, from what ModifyTable reads. */
extern void triggers_take_old_row(const Target *target, TupleTableSlot *input);
/* Deletes the row that would have moved to another partition. */
extern uint64 triggers_give_up_row(TriggersScan *scan, ResultRelInfo *relinfo);
extern void triggers_refuse_changed_row(const char *done);
/* Updates the row, by the plan or, if its distribution column has changed, by a move. */
extern uint64 triggers_update_row(TriggersScan *scan, ResultRelInfo *relinfo,
								  TupleTableSlot *of_table, PlannedStmt *plan);

/* ------------------------------------------------------------------------------------
 * Targets.
 */

/* AFTER ROW triggers that PostgreSQL's queue fires later. */
extern void triggers_queue_insert(const ResultRelInfo *relinfo, EState *estate,
								  TupleTableSlot *row);
extern void triggers_queue_update(const ResultRelInfo *relinfo, EState *estate,
								  TupleTableSlot *row, TransitionCaptureState *capture);
extern void triggers_queue_delete(const ResultRelInfo *relinfo, EState *estate);

/* The partition of a row of the table. */
extern ResultRelInfo *triggers_leaf_of_row(TriggersScan *scan, TupleTableSlot *row);
/* The partition that the row will be in is shown to ModifyTable. */
extern void triggers_show_leaf_of_new_row(TriggersScan *scan, TupleTableSlot *input);
/* What is read, with the partition that the row is in, and the row as one of its. */
extern TupleTableSlot *triggers_with_leaf(TriggersScan *scan, TupleTableSlot *input,
										  TupleTableSlot *result);
/* The row as one of the partition that it moves to. */
extern TupleTableSlot *triggers_coming_row(ResultRelInfo *to, EState *estate,
										   TupleTableSlot *of_table);
/* Shows a relation of the plan's as a foreign table, until the node ends. */
extern Target *triggers_show_as_foreign(TriggersScan *scan, EState *estate,
										Index position, bool partitions);

/* ------------------------------------------------------------------------------------
 * ON CONFLICT DO UPDATE.
 */

/* Has this statement made the row? Entered, it has from now on. */
extern bool triggers_conflict_noted(TriggersScan *scan, TupleTableSlot *row,
									HASHACTION action);
/* Reads and locks the row that is in the way; false: there is none any more. */
extern bool triggers_conflict_find(TriggersScan *scan);
/* Updates it, with its triggers; NULL: a trigger, or WHERE, leaves it as it is. */
extern TupleTableSlot *triggers_conflict_update(TriggersScan *scan, EState *estate,
												ResultRelInfo *relinfo,
												TupleTableSlot *excluded);

#endif
