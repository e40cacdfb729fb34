/*
 * explain.h: what EXPLAIN says of a fragment.
 */
#ifndef PANDO_EXECUTOR_EXPLAIN_H
#define PANDO_EXECUTOR_EXPLAIN_H

#include "pando/compat/compat.h"
#include "commands/explain.h"

#include "pando/executor/run.h"

/* What EXPLAIN (ANALYZE) asks of the tasks of the statement that the node belongs to. */
extern RunExplain explain_options(PlanState *planstate);

/* The node's properties, its subplans and its tasks; run is NULL if it was not executed.
 */
extern void explain_fragment(PlanState *planstate, Fragment *fragment, FragmentRun *run,
							 ExplainState *es);

/* A step of a statement: its query, started. */
extern void explain_step(const char *name, QueryDesc *query, ExplainState *es);

/* Follows EXPLAIN statements to know their options; once, when the library is loaded. */
extern void explain_init(void);

#endif
