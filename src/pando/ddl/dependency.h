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
 * Creates on all other nodes, in the transaction, what the object depends on and is not
 * there yet, in dependency order, and the object itself unless it is a table; records it
 * all in pg_dist_object on all nodes. Raises when something can't be created there.
 */
extern void dependency_ensure(const ObjectAddress *object);

/* Raises what dependency_ensure() does, for that reason. */
extern void dependency_refuse(const ObjectAddress *object, const char *reason)
	pg_attribute_noreturn();

/*
 * The same for a recorded object that was changed: it may rest on others now. If it can't
 * be on other nodes any more, dependency_unpublish().
 */
extern void dependency_follow(const ObjectAddress *object);

/*
 * A recorded object can't be on other nodes any more, for that reason: where there are
 * none it becomes this node's own, else raises feature_not_supported.
 */
extern void dependency_unpublish(const ObjectAddress *object, const char *reason);

/*
 * dependency_ensure() for an object that was just created or changed: it is sent even if
 * it is recorded. Returns NULL, or why it can't be made on other nodes (nothing was done
 * then).
 */
extern char *dependency_publish(const ObjectAddress *object);

/* A command for other nodes, to be told, that runs another one with the rights of a role
 * which the user has not; NULL if he has. */
extern char *dependency_run_as(Oid owner, const char *sql);

/*
 * Commands (List of char *) that create all recorded objects on a fresh node, in order;
 * includes those which record them there, and all roles. First those that need no
 * distributed table, then, with `on_tables`, those that do.
 */
extern List *dependency_all_commands(bool on_tables);

#endif
