/*
 * rescan.h: which fragments of a plan may be read more than once.
 */
#ifndef PANDO_PLANNER_RESCAN_H
#define PANDO_PLANNER_RESCAN_H

#include "pando/compat/compat.h"
#include "nodes/plannodes.h"

/* Sets `store` in the fragments of a finished plan that may be scanned again. */
extern void rescan_mark_fragments(PlannedStmt *stmt);

#endif
