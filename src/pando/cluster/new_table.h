/*
 * new_table.h: what becomes of a table that CREATE TABLE, or CREATE TABLE AS, has made.
 */
#ifndef PANDO_CLUSTER_NEW_TABLE_H
#define PANDO_CLUSTER_NEW_TABLE_H

#include "pando/compat/compat.h"

extern void new_table_init(void);

#endif
