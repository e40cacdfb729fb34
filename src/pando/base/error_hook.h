/*
 * error_hook.h: a look at each error on its way to the client.
 */
#ifndef PANDO_BASE_ERROR_HOOK_H
#define PANDO_BASE_ERROR_HOOK_H

#include "pando/compat/compat.h"

/*
 * From now on the part is called with each message that nobody catches and that goes to
 * the client or the log, before it does; it may change what the message says. Called from
 * _PG_init only, once.
 */
extern void error_hook_take(emit_log_hook_type part);

#endif
