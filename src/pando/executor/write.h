/*
 * write.h: a run that changes rows.
 */
#ifndef PANDO_EXECUTOR_WRITE_H
#define PANDO_EXECUTOR_WRITE_H

#include "pando/compat/compat.h"

typedef struct FragmentRun FragmentRun;

/* All of it; afterwards the rows of RETURNING are in the run's spill. */
extern void write_run(FragmentRun *run);

#endif
