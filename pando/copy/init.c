/*
 * init.c: what the copy module registers when the library is loaded.
 */
#include "pando/compat/compat.h"

#include "pando/copy/init.h"

void
copy_init(void)
{
}
