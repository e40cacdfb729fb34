/*
 * init.c: what the cluster module registers when the library is loaded.
 */
#include "pando/compat/compat.h"

#include "pando/cluster/init.h"

void
cluster_init(void)
{
}
