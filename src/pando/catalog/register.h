/*
 * register.h: who may change the metadata through SQL functions.
 */
#ifndef PANDO_CATALOG_REGISTER_H
#define PANDO_CATALOG_REGISTER_H

#include "pando/compat/compat.h"

/* Set once, at load: raises unless a node of the cluster, or a superuser, calls it. */
extern void register_set_guard(void (*require_node)(const char *function));

#endif
