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

/* Asks all nodes; one copy of each shard counts. sizes[] has a place per relid. */
extern void shell_sizes(List *relids, ShellSize *sizes);

/* Makes the planner see the table's size, not that of the shell's empty file. */
extern void shell_size_init(void);

#endif
