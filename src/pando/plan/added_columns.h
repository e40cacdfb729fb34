/*
 * added_columns.h: columns that views got after the query that reads them was parsed.
 */
#ifndef PANDO_PLAN_ADDED_COLUMNS_H
#define PANDO_PLAN_ADDED_COLUMNS_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * Takes the names of columns that nothing in the query refers to, and which PostgreSQL
 * made up, from the entries of its range table, in place: joins don't have them.
 */
extern void added_columns_forget(Query *query);

#endif
