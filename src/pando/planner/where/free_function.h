/*
 * free_function.h: which functions give the same for a row's values wherever they run.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_FREE_FUNCTION_H
#define PANDO_PLANNER_FREE_FUNCTION_H

#include "pando/compat/compat.h"

/*
 * May the function be called, with values of a row, on any node that has the row? False
 * for one that isn't known, or is gone.
 */
extern bool function_is_free(Oid function);

#endif
