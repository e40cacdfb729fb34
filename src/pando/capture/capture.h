/*
 * capture.h: changes of distributed tables for who reads the WAL.
 */
#ifndef PANDO_CAPTURE_CAPTURE_H
#define PANDO_CAPTURE_CAPTURE_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"
#include "replication/output_plugin.h"

/* Called from _PG_init: the setting, and where output plugins are found if it is on. */
extern void capture_init(void);

/* What the libraries of src/decoders call: fills in the callbacks of the plugin of that
 * name in $libdir, with ours around them. */
extern PGDLLEXPORT void capture_wrap(const char *plugin,
									 OutputPluginCallbacks *callbacks);

/* Until capture_resume(), or the end of the (sub)transaction: what this backend writes is
 * no change. */
extern void capture_pause(void);
extern void capture_resume(void);

/* The same, or its end, for what the transaction writes on these nodes (List of const
 * DistNode *); nothing while the setting is off here. */
extern void capture_pause_on(List *nodes, bool pause);

#endif
