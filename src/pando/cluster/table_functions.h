/*
 * table_functions.h: what the SQL functions on tables do, for other parts of the module.
 */
#ifndef PANDO_CLUSTER_TABLE_FUNCTIONS_H
#define PANDO_CLUSTER_TABLE_FUNCTIONS_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

/*
 * Makes the tables (Oid list), with their partitions, local ones. Raises unless the caller
 * owns them and foreign keys connect them with no other table in the metadata.
 */
extern void tables_undistribute(List *relids);

#endif
