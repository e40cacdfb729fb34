/*
 * init.c: what the statistics module registers when the library is loaded.
 */
#include "pando/compat/compat.h"

#include "pando/statistics/init.h"
#include "pando/statistics/shell_size.h"
#include "pando/statistics/shell_stats.h"

void
statistics_init(void)
{
	shell_size_init();
	shell_stats_init();
}
