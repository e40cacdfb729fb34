/*
 * object.h: objects other than tables that exist on all nodes (pg_dist_object).
 */
#ifndef PANDO_DDL_OBJECT_H
#define PANDO_DDL_OBJECT_H

#include "pando/compat/compat.h"
#include "catalog/objectaddress.h"
#include "nodes/pg_list.h"

#include "pando/catalog/object.h"

typedef struct ObjectFacts
{
	char *schema; /* NULL: it is in none */
	char *name;	  /* NULL: it has none */
	Oid owner;
} ObjectFacts;

/* Of an object of this server; all empty when it is gone. */
extern ObjectFacts object_facts(const ObjectAddress *object);

/* Built-in objects are everywhere, too. */
extern bool object_schema_is_everywhere(const char *name);
extern bool object_role_is_everywhere(Oid roleid);

/*
 * Is it on all nodes without being recorded, because it is built in or a part of an
 * extension that they have? What is changed of it (privileges, comments) goes there, too.
 */
extern bool object_comes_along(Oid class_id, Oid object_id);

/* The row type of a composite type that all nodes have. */
extern bool object_is_row_type(Oid relid);

/* All of a list of RoleSpec; PUBLIC and the like count. */
extern bool object_roles_are_everywhere(List *roles);

/* Creates those roles of a list of RoleSpec on the other nodes that are not there. */
extern void object_ensure_roles(List *roles);

/* SQL that makes a function distributed on a node as the row says, or local. */
extern char *object_distribute_command(const ObjectRow *row);

#endif
