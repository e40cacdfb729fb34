/*
 * compat.h: the one place that knows which PostgreSQL version is compiled against.
 *
 * Code elsewhere is written against the newest API; what an older server lacks is
 * wrapped here. PG_VERSION_NUM occurs in this module only.
 */
#ifndef PANDO_COMPAT_H
#define PANDO_COMPAT_H

#include "postgres.h"
#include "pg_config.h"

#if PG_VERSION_NUM < 150000
#error "Pando needs PostgreSQL 15 or newer"
#endif

#include "nodes/pg_list.h"

/* foreach_ptr is PostgreSQL 17's: iterate over a list of pointers of one type. */
#ifndef foreach_ptr
#define foreach_ptr(type, var, lst)                                                      \
	for (ListCell *var##_cell = list_head(lst),                                          \
				  *var##_once = (ListCell *) 1;                                          \
		 var##_cell != NULL && var##_once != NULL;                                       \
		 var##_cell = lnext(lst, var##_cell))                                            \
		for (type *var = ((var##_once = NULL), (type *) lfirst(var##_cell));             \
			 var##_once == NULL; var##_once = (ListCell *) 1)
#endif

#endif
