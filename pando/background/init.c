/*
 * init.c: what the background module registers when the library is loaded.
 */
#include "pando/compat/compat.h"

#include "pando/background/init.h"

void
background_init(void)
{
}
