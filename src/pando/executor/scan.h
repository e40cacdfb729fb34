/*
 * scan.h: the plan node "Citus Adaptive".
 */
#ifndef PANDO_EXECUTOR_SCAN_H
#define PANDO_EXECUTOR_SCAN_H

#include "pando/compat/compat.h"

/* Registers the node's methods; once, when the library is loaded. */
extern void scan_register(void);

#endif
