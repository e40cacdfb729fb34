/*
 * init.c: what the metadata module registers when the library is loaded.
 */
#include "pando/compat/compat.h"

#include "pando/metadata/init.h"

void
metadata_init(void)
{
}
