/*
 * schema_lock.h: schemas that are dropped are locked on all nodes at once.
 */
#ifndef PANDO_DDL_SCHEMA_LOCK_H
#define PANDO_DDL_SCHEMA_LOCK_H

#include "pando/compat/compat.h"

#include "pando/ddl/handler.h"

/* Names of the schemas that the statement drops and the user may drop (List of char *).
 */
extern List *schema_lock_names(const DdlJob *job);

/*
 * Locks the schemas on all nodes as DROP SCHEMA does, to the end of the transaction,
 * after before(arg), which locks what comes first. While it waits it holds none of these
 * locks, so before() may be called several times.
 */
extern void schema_lock_all(List *schemas, void (*before)(void *arg), void *arg);

#endif
