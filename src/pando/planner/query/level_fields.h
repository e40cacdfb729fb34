/*
 * level_fields.h: what becomes of each field when a query level is taken apart, and when
 * an entry of a range table becomes another.
 *
 * A level is copied in order to send a part of it, and what remains is stripped of what
 * the part does. A field that nobody thought of would be done twice, or not at all. So
 * each belongs to one kind, in one table, and levels are stripped of kinds.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_LEVEL_FIELDS_H
#define PANDO_PLANNER_LEVEL_FIELDS_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

typedef enum LevelPart
{
	/* What it is, where its text is, whose rights it depends on: of each of the pieces.
	 */
	LEVEL_ITSELF = 1 << 0,
	/* The rows that it reads: FROM, WHERE, WITH and locks. */
	LEVEL_FROM = 1 << 1,
	/* What it makes of them: groups, windows, set operations. */
	LEVEL_ROWS = 1 << 2,
	/* What it puts out. */
	LEVEL_OUTPUT = 1 << 3,
	/* Which of that, and in what order: DISTINCT, ORDER BY, LIMIT. */
	LEVEL_ORDER = 1 << 4,
	/* What it does with that, when it is a write. */
	LEVEL_WRITE = 1 << 5
} LevelPart;

typedef enum EntryPart
{
	ENTRY_ITSELF = 1 << 0,
	/* The names that it and its columns have for the level. */
	ENTRY_NAMES = 1 << 1,
	/* What it stands for, by kinds of entries. */
	ENTRY_SOURCE = 1 << 2,
	/* Which of a table's rows. */
	ENTRY_ROWS = 1 << 3,
	/* What must be permitted, and to whom. */
	ENTRY_RIGHTS = 1 << 4
} EntryPart;

/* The level is left without these parts (LevelPart). */
extern void level_clear(Query *query, int parts);

/* A write's level becomes the SELECT of the rows that it would change or insert. */
extern void level_become_select(Query *query);

/* The entry is left without these parts (EntryPart). */
extern void entry_clear(RangeTblEntry *rte, int parts);

/* A SELECT of nothing, FROM nothing. */
extern Query *query_new(void);

#endif
