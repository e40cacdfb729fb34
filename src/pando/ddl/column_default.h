/*
 * column_default.h: ADD COLUMN with a default that depends on the moment.
 */
#ifndef PANDO_DDL_COLUMN_DEFAULT_H
#define PANDO_DDL_COLUMN_DEFAULT_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

#include "pando/ddl/handler.h"

/*
 * Computes stable defaults (now(), current_user ...) of the columns that an ALTER TABLE
 * adds once, on the coordinator, for the rows that are there: all shards on all nodes get
 * the same value, as all rows do in PostgreSQL. Returns the statement for the shards, and
 * in *afterwards, if it is needed, another one that gives the columns their real
 * defaults.
 */
extern Node *column_default_fix(DdlJob *job, Oid relid, AlterTableStmt *stmt,
								AlterTableStmt **afterwards);

#endif
