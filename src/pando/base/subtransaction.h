/*
 * subtransaction.h: a step that may fail without the transaction failing.
 */
#ifndef PANDO_BASE_SUBTRANSACTION_H
#define PANDO_BASE_SUBTRANSACTION_H

#include "pando/compat/compat.h"

/*
 * Runs the step in a subtransaction. Returns NULL if it succeeded; what it did stays if
 * `keep` says so. Else the subtransaction is rolled back, and the error, any error, is
 * returned in the caller's memory context: to be looked at, and thrown again if it is not
 * one that the caller can go on after.
 */
extern ErrorData *subtransaction_try(void (*step)(void *arg), void *arg, bool keep);

#endif
