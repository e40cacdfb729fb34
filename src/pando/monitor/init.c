/*
 * init.c: what the monitor module registers when the library is loaded.
 */
#include "pando/compat/compat.h"

#include "pando/monitor/init.h"
#include "pando/monitor/stats.h"
#include "pando/monitor/visibility.h"

void
monitor_init(void)
{
	visibility_init();
	stats_init();
}
