/*
 * init.c: what the monitor module registers when the library is loaded.
 */
#include "pando/compat/compat.h"

#include "pando/monitor/init.h"

void
monitor_init(void)
{
}
