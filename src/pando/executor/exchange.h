/*
 * exchange.h: exchanges: results whose rows go from node to node.
 */
#ifndef PANDO_EXECUTOR_EXCHANGE_H
#define PANDO_EXECUTOR_EXCHANGE_H

#include "pando/compat/compat.h"

#include "pando/executor/subplan.h"
#include "pando/plan/fragment.h"

/* Runs an exchange whose query is started, and notes what came of it. */
extern void exchange_run(FragmentRun *run, const SubResult *sub, QueryDesc *query,
						 SubRun *ran);

/*
 * The argument of pando.exchange_rows() for tasks that run on one node together, as text;
 * ran is NULL before the exchange has run, for EXPLAIN.
 */
extern char *exchange_files(const FragmentRun *run, const SubResult *sub,
							const SubRun *ran, const char *name, List *tasks);

#endif
