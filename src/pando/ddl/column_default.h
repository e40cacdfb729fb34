/*
 * column_default.h: ADD COLUMN with a default that depends on the moment.
 */
#ifndef PANDO_DDL_COLUMN_DEFAULT_H
#define PANDO_DDL_COLUMN_DEFAULT_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

#include "pando/ddl/handler.h"

/*
 * The statement for the shards, of an ALTER TABLE that adds columns, and in *afterwards,
 * if it is needed, another one that gives the columns their real defaults.
 *
 * Stable defaults (now(), current_user ...) are computed once, on the coordinator, for
 * the rows that are there: all shards on all nodes get the same value, as all rows do in
 * PostgreSQL. Columns that columns_fill() gives their values allow NULL until then.
 */
extern Node *column_default_fix(DdlJob *job, Oid relid, AlterTableStmt *stmt,
								AlterTableStmt **afterwards);

/*
 * On the coordinator, when all nodes have the columns that the job's ALTER TABLE added:
 * gives the rows that are there values from sequences, or ones that differ from row to
 * row where several copies need the same. Raises feature_not_supported where an UPDATE
 * would not reach all rows, or do more than that.
 */
extern void columns_fill(DdlJob *job, Oid relid);

/* Does the column take its values from a sequence? */
extern bool column_is_numbered(const ColumnDef *column);

#endif
