/*
 * shell_sample.h: column statistics of a distributed table, from a sample of its rows.
 */
#ifndef PANDO_STATISTICS_SHELL_SAMPLE_H
#define PANDO_STATISTICS_SHELL_SAMPLE_H

#include "pando/compat/compat.h"

/*
 * Writes pg_statistic and extended statistics of the shell, as ANALYZE would of a table
 * with all the shards' rows. pages, tuples: sizes of all shards together. The caller has
 * a snapshot, and sees to it that the current user may analyse the table.
 */
extern void shell_sample(Oid relid, double pages, double tuples);

#endif
