/*
 * kept_execution.h: the executor's state of a statement, kept for the next time.
 *
 * A statement for one row spends much of its time in setting up the executor and taking
 * it down. Where the plan is one that stays, what is the same each time stays with
 * it: nodes, compiled expressions, scan keys, slots. What belongs to a transaction is
 * made anew: snapshot, parameters, open relations, the index scan.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_KEPT_EXECUTION_H
#define PANDO_PLANNER_KEPT_EXECUTION_H

#include "pando/compat/compat.h"
#include "nodes/execnodes.h"
#include "nodes/plannodes.h"

/*
 * The plan that ExecutorStart() is called for next stays for further executions, until
 * its memory context goes. NULL: it is not known of any.
 */
extern void kept_execution_expect(const PlannedStmt *stmt);

/* The memory context that goes when the execution is over, though its state may stay. */
extern MemoryContext kept_execution_memory(const EState *estate);

/* Takes part in the executor's start and end; once, when the library is loaded. */
extern void kept_execution_init(void);

#endif
