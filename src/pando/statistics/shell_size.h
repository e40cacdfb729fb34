/*
 * shell_size.h: how large a distributed table is, all shards together.
 */
#ifndef PANDO_STATISTICS_SHELL_SIZE_H
#define PANDO_STATISTICS_SHELL_SIZE_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

typedef struct ShellSize
{
	double pages;		/* now */
	double pages_known; /* when the shards were analysed or vacuumed last */
	double tuples;		/* then */
} ShellSize;

/*
 * Asks the nodes that have shards, `most` of them at most, and takes those that they know
 * for all. sizes[] has a place per relid.
 */
extern void shell_sizes(List *relids, int most, ShellSize *sizes);

/* Makes the planner see the table's size, not that of the shell's empty file. */
extern void shell_size_init(void);

#endif
