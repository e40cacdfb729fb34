/*
 * typed_table.h: distributed tables of a composite type (CREATE TABLE ... OF).
 */
#ifndef PANDO_DDL_TYPED_TABLE_H
#define PANDO_DDL_TYPED_TABLE_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

#include "pando/ddl/handler.h"

/* Those of the type whose relation is given (List of Oid), in one order on all nodes. */
extern List *typed_tables_of(Oid relid);

/* The type is about to change, and they with it: what must not be is refused. */
extern void typed_tables_prepare(DdlJob *job, Oid relid);

#endif
