/*
 * init.c: what the base module registers when the library is loaded.
 */
#include "pando/compat/compat.h"

#include "pando/base/counter.h"
#include "pando/base/debug_point.h"
#include "pando/base/init.h"
#include "pando/base/statement_caches.h"

void
base_init(void)
{
	counter_init();
	debug_point_init();
	statement_caches_init();
}
