/*
 * to.h: COPY TO from a distributed table.
 */
#ifndef PANDO_COPY_TO_H
#define PANDO_COPY_TO_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * The statement with the table replaced by a query for its columns, which is planned like
 * any other; itself where PostgreSQL refuses the table form (a partitioned table).
 */
extern CopyStmt *copy_to_query(CopyStmt *stmt, Oid relid);

#endif
