/*
 * init.c: what the planner module registers when the library is loaded.
 */
#include "pando/compat/compat.h"

#include "pando/planner/init.h"

void
planner_init(void)
{
}
