/*
 * init.c: what the ddl module registers when the library is loaded.
 */
#include "pando/compat/compat.h"

#include "pando/ddl/init.h"

void
ddl_init(void)
{
}
