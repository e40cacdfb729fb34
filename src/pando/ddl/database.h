/*
 * database.h: databases that all nodes have.
 */
#ifndef PANDO_DDL_DATABASE_H
#define PANDO_DDL_DATABASE_H

#include "pando/compat/compat.h"
#include "pando/metadata/node.h"

/* The session's own, or one that is recorded. */
extern bool database_is_everywhere(const char *name);

/* Creates on a node those recorded databases that it lacks, and sets all as they are
 * here.
 */
extern void database_send(const DistNode *node);

#endif
