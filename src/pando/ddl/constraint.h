/*
 * constraint.h: constraints and indexes of distributed tables: names that PostgreSQL
 * would choose, fixed early, and what can be enforced shard by shard.
 */
#ifndef PANDO_DDL_CONSTRAINT_H
#define PANDO_DDL_CONSTRAINT_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

#include "pando/ddl/handler.h"

/*
 * Names a constraint that has no name, as PostgreSQL would, and raises when it can't be
 * enforced on the table. `column` is set for a constraint written with its column.
 */
extern void constraint_prepare(DdlJob *job, Oid relid, Constraint *constraint,
							   char *column);

/* The same for CREATE INDEX. */
extern void constraint_prepare_index(DdlJob *job, Oid relid, IndexStmt *stmt);

/* A name for unnamed CREATE STATISTICS. */
extern void constraint_prepare_statistics(DdlJob *job, Oid relid, CreateStatsStmt *stmt);

#endif
