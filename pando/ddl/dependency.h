/*
 * dependency.h: objects that distributed tables need (roles, schemas, extensions, types,
 * functions, collations, text search, sequences ...) on every node, recorded in
 * pg_dist_object.
 */
#ifndef PANDO_DDL_DEPENDENCY_H
#define PANDO_DDL_DEPENDENCY_H

#include "pando/compat/compat.h"
#include "catalog/objectaddress.h"
#include "nodes/pg_list.h"

/*
 * Creates on all other nodes, in the transaction, what the relation depends on and is not
 * there yet, in dependency order, and records it in pg_dist_object on all nodes.
 */
extern void dependency_ensure(const ObjectAddress *object);

/* Commands (List of char *) that create all recorded objects on a fresh node, in order;
 * includes those which record them there. */
extern List *dependency_all_commands(void);

#endif
