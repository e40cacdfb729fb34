/*
 * init.c: what the transaction module registers when the library is loaded.
 */
#include "pando/compat/compat.h"

#include "pando/transaction/init.h"

void
transaction_init(void)
{
}
