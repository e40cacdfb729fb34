/*
 * local_key.h: foreign keys from managed local tables to reference tables.
 */
#ifndef PANDO_DDL_LOCAL_KEY_H
#define PANDO_DDL_LOCAL_KEY_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * On the coordinator: makes changes of reference tables see the foreign keys that the
 * managed local table has now. Called whenever those may have changed.
 */
extern void local_keys_follow(Oid relid);

/* Undoes it, for a table that is managed no longer. */
extern void local_keys_forget(Oid relid);

/* A notice, if the new key refers to a table whose changes it will not see. */
extern void local_key_check(Oid relid, const Constraint *constraint);

#endif
