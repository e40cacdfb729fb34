/*
 * init.c: what the remote module registers when the library is loaded.
 */
#include "pando/compat/compat.h"

#include "pando/remote/init.h"

void
remote_init(void)
{
}
