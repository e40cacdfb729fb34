/*
 * decoder.c: an output plugin under the name of another one, which it wraps.
 *
 * Compiled once for each name (DECODER). What is done is the extension's: src/pando/capture.
 */
#include "postgres.h"

#include "fmgr.h"
#include "replication/output_plugin.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_output_plugin_init(OutputPluginCallbacks *callbacks);

void
_PG_output_plugin_init(OutputPluginCallbacks *callbacks)
{
	void (*wrap)(const char *plugin, OutputPluginCallbacks *callbacks) =
		load_external_function("pando", "capture_wrap", true, NULL);

	wrap(DECODER, callbacks);
}
