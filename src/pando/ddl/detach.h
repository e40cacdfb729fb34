/*
 * detach.h: ALTER TABLE ... DETACH PARTITION CONCURRENTLY, and FINALIZE.
 */
#ifndef PANDO_DDL_DETACH_H
#define PANDO_DDL_DETACH_H

#include "pando/ddl/handler.h"

/* Is it one of the two? */
extern bool detach_is_in_steps(const Node *stmt);

/*
 * prepare() of such a statement, `relid` being the distributed parent. Leaves to
 * PostgreSQL what it refuses.
 */
extern void detach_prepare(DdlJob *job, Oid relid);

/* shell() and finish() of CONCURRENTLY: the marks, on each node. */
extern void detach_shell(DdlJob *job);
extern void detach_finish(DdlJob *job);

/*
 * run() of ALTER TABLE: true if it was FINALIZE, which is done then. Raises PostgreSQL's
 * error when there is nothing to end.
 */
extern bool detach_run(DdlJob *job);

#endif
