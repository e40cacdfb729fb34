/*
 * utility.c: the ProcessUtility hook.
 */
#include "pando/compat/compat.h"

#include "utils/guc.h"

#include "pando/ddl/utility.h"

static int apply_depth = 0;

void
utility_apply_enter(void)
{
	apply_depth++;
}

void
utility_apply_leave(void)
{
	apply_depth--;
}

bool
utility_is_applying(void)
{
	return apply_depth > 0;
}

bool
utility_is_internal(void)
{
	static const char prefix[] = "citus_internal gpid=";

	return application_name != NULL &&
		   strncmp(application_name, prefix, sizeof(prefix) - 1) == 0;
}
