/*
 * object.h: rows of pg_dist_object: objects other than tables that exist on every node.
 *
 * OIDs are this server's. type, names and arguments are as
 * pg_identify_object_as_address() gave them when the object was recorded: the only way to
 * name it on another node.
 */
#ifndef PANDO_CATALOG_OBJECT_H
#define PANDO_CATALOG_OBJECT_H

#include "pando/compat/compat.h"
#include "catalog/objectaddress.h"
#include "nodes/pg_list.h"

typedef struct ObjectRow
{
	Oid classid;
	Oid objid;
	int32 objsubid;
	char *type;
	List *object_names; /* of char * */
	List *object_args;
	int32 distribution_argument_index; /* -1: NULL */
	int32 colocationid;				   /* -1: NULL */
	int32 force_delegation;			   /* -1: NULL */
} ObjectRow;

/* A row for an object of this server, its names looked up, without distribution argument.
 */
extern ObjectRow *catalog_object_new(const ObjectAddress *address);

/* NULL when it is not recorded. */
extern ObjectRow *catalog_object_find(const ObjectAddress *address);
extern List *catalog_object_all(void);
extern void catalog_object_insert(const ObjectRow *row);
extern bool catalog_object_update(const ObjectRow *row);
extern bool catalog_object_delete(const ObjectAddress *address);

#endif
