/*
 * pieces.h: the parts of an exchanged result on a node that reads them.
 *
 * Pieces come in messages: (part int32, group that made it int32, length int32, rows)...,
 * in network byte order. The first ones of a group make a file of their own, r_all_2 of
 * result r and group 2, as long as it is small: there are as many parts as shard groups,
 * and making a file costs more than looking through a few rows for those of a part. What
 * doesn't fit there any more goes into a file for each part: r_3_2 has rows of part 3.
 */
#ifndef PANDO_EXECUTOR_PIECES_H
#define PANDO_EXECUTOR_PIECES_H

#include "pando/compat/compat.h"
#include "lib/stringinfo.h"

#include "pando/executor/intermediate.h"

/* Adds a piece to a message. */
extern void pieces_add(StringInfo message, int part, int32 group,
					   const StringInfoData *rows);

/* Puts a message's pieces where readers find them; raises if they aren't what they
 * should be, whoever wrote them. */
extern void pieces_keep(const char *result, const char *data, Size length);

/* Readers (ResultReader *) of what the group made of the part, at least one: a part that
 * isn't here is an error. */
extern List *pieces_open(const char *result, int part, int32 group);

#endif
