/*
 * append.h: COPY ... WITH (append_to_shard ID): the client says which shard gets the
 * rows.
 */
#ifndef PANDO_COPY_APPEND_H
#define PANDO_COPY_APPEND_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

#include "pando/metadata/table.h"

#define APPEND_OPTION "append_to_shard"

/*
 * Index of the shard that the options (List of DefElem *) name, -1 if none. Raises unless
 * the table is distributed by append, which must have one named, and the shard its own.
 */
extern int append_shard_index(const DistTable *table, List *options);

/* The options that PostgreSQL knows. */
extern List *append_options_left(List *options);

#endif
