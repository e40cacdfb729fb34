/*
 * init.c: what the executor module registers when the library is loaded.
 */
#include "pando/compat/compat.h"

#include "pando/executor/init.h"

void
executor_init(void)
{
}
