/*
 * scan.h: the plan node "Citus Adaptive".
 */
#ifndef PANDO_EXECUTOR_SCAN_H
#define PANDO_EXECUTOR_SCAN_H

#include "pando/compat/compat.h"

#include "pando/executor/run.h"

/*
 * The run of a started node, with its tasks made and what they read in place, for
 * somebody who executes the tasks himself.
 */
extern FragmentRun *scan_prepare_run(PlanState *planstate);

/* The value of one of the node's custom_exprs, by number from 0. */
extern Datum scan_argument(PlanState *planstate, int number, bool *isnull);

/* May others send its tasks, in texts of their own? Signed ones stay as they are. */
extern bool scan_tasks_are_free(PlanState *planstate);

/* Registers the node's methods; once, when the library is loaded. */
extern void scan_register(void);

#endif
