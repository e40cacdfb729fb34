/*
 * explain_worker.h: how a task's own plan is had from the node that ran it.
 *
 * For EXPLAIN ANALYZE a task must run once and its plan, with what it took, must come
 * back. The setting pando.explain_task makes a backend instrument the statements that run
 * under it and keep the text of the last one's plan; pando.last_explain() hands it over.
 */
#ifndef PANDO_EXECUTOR_EXPLAIN_WORKER_H
#define PANDO_EXECUTOR_EXPLAIN_WORKER_H

#include "pando/compat/compat.h"
#include "executor/execdesc.h"

struct RunExplain;

/* Statements that go ahead of and after a task; each ends with a semicolon. */
extern const char *explain_request(const struct RunExplain *explain);
extern const char *explain_fetch(void);
extern const char *explain_stop(void);

/* The options of EXPLAIN as SQL, for a plan that is not run. */
extern char *explain_options_text(const struct RunExplain *explain);

/* Instrumentation that the options ask for; 0 without ANALYZE. */
extern int explain_instrument(const struct RunExplain *explain);

/* The text of a plan that has run and is not closed yet. */
extern char *explain_query(QueryDesc *query, const struct RunExplain *explain,
						   double planning_ms, double execution_ms);

/* Defines the setting and installs hooks; once, when the library is loaded. */
extern void explain_worker_init(void);

#endif
