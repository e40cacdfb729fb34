/*
 * key_type.h: changes of the distribution column by ALTER TABLE.
 */
#ifndef PANDO_DDL_KEY_TYPE_H
#define PANDO_DDL_KEY_TYPE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * Raises feature_not_supported if the sub-command drops the table's distribution column,
 * or gives it a type whose values belong elsewhere.
 */
extern void key_type_check(Oid relid, const AlterTableCmd *command);

/* The tables' columns may have other types now: so may the groups that they are in. */
extern void key_type_changed(List *relids);

#endif
