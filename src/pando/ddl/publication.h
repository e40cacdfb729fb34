/*
 * publication.h: publications on all nodes, each with the tables that all nodes have.
 */
#ifndef PANDO_DDL_PUBLICATION_H
#define PANDO_DDL_PUBLICATION_H

#include "pando/compat/compat.h"

/* Is what a row of pg_publication_rel says so on all nodes? */
extern bool publication_row_is_everywhere(Oid row);

/* A table that has shells on the other nodes: they join its publications there. */
extern void publications_follow_table(Oid relid);

#endif
