/*
 * statement_caches.c: the setting that forces caches of statements on or off.
 */
#include "pando/compat/compat.h"

#include "utils/guc.h"

#include "pando/base/statement_caches.h"

int statement_caches = STATEMENT_CACHES_AUTO;

static const struct config_enum_entry options[] = {
	{"never", STATEMENT_CACHES_NEVER, false},
	{"auto", STATEMENT_CACHES_AUTO, false},
	{"always", STATEMENT_CACHES_ALWAYS, false},
	{NULL, 0, false}};

void
statement_caches_init(void)
{
	DefineCustomEnumVariable("pando.statement_caches",
							 "Uses what is kept of a statement when it comes again: for "
							 "tests, which need never "
							 "and always.",
							 NULL, &statement_caches, STATEMENT_CACHES_AUTO, options,
							 PGC_USERSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
}
