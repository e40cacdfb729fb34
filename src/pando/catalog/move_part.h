/*
 * move_part.h: rows of pando.move_part, what moves under way have made on this node.
 */
#ifndef PANDO_CATALOG_MOVE_PART_H
#define PANDO_CATALOG_MOVE_PART_H

#include "pando/compat/compat.h"

/* Is the relation a shard to be, which gets rows of another node's? No, where catalogs
 * are of a version that has no such rows, as a historic snapshot may find them. */
extern bool catalog_move_part_receives(Oid relation);

#endif
