/*
 * from.h: COPY FROM, as the client sends it and as nodes send it to each other.
 */
#ifndef PANDO_COPY_FROM_H
#define PANDO_COPY_FROM_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "parser/parse_node.h"
#include "storage/lockdefs.h"
#include "utils/rel.h"

/* COPY distributed table FROM; returns the rows stored. */
extern uint64 copy_from(const CopyStmt *stmt, const char *query_string);

/*
 * Locks the target in that mode and checks that the user may COPY into it as PostgreSQL
 * does, columns, row security and read-only mode included; with columns_checked another
 * node has checked them, and a right on any is enough. The table is in pstate's range
 * table then; *conditions is the WHERE clause as a list (NIL: none).
 */
extern Relation copy_target_open(const CopyStmt *stmt, ParseState *pstate,
								 LOCKMODE lockmode, bool columns_checked,
								 List **conditions);

/* Is it a COPY of rows that another node has routed to this one (stream_in.c)? */
extern bool stream_in_wanted(const CopyStmt *stmt);

/* Runs it; returns the rows stored. */
extern uint64 stream_in(const CopyStmt *stmt, const char *query_string);

#endif
