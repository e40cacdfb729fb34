/*
 * nap.h: waiting for something that nobody announces.
 */
#ifndef PANDO_BASE_NAP_H
#define PANDO_BASE_NAP_H

#include "pando/compat/compat.h"

/* Waits so many milliseconds, or less if the backend's latch is set; the wait event is
 * Extension. Raises if the statement is cancelled; ends the process if the server is
 * gone. */
extern void nap(long ms);

#endif
