/*
 * error_hook.c: a look at each error, and each notice, on its way to the client.
 *
 * PostgreSQL calls emit_log_hook only for what goes to the server's log: notices don't
 * with log_min_messages as it is by default, nor errors with it at log, fatal or panic;
 * they go to the client alone. So that they pass by all the same, the server's own
 * variable is never above notice, and what the log is not to have is taken from it here.
 * The setting's value, which SHOW tells, is in a variable of ours.
 */
#include "pando/compat/compat.h"

#include "utils/guc.h"
#include "utils/guc_tables.h"

#include "pando/base/error_hook.h"

static emit_log_hook_type next_hook = NULL;
static emit_log_hook_type our_part = NULL;

/* log_min_messages, as it was set. */
static int log_level = WARNING;

/* Assigns log_min_messages. */
static void
level_assigned(int level, void *extra)
{
	log_min_messages = level == LOG ? NOTICE : Min(level, NOTICE);
}

/* As PostgreSQL has it, with LOG between ERROR and FATAL. */
static bool
is_for_log(const ErrorData *error)
{
	if (error->elevel == LOG || error->elevel == LOG_SERVER_ONLY)
		return log_level == LOG || log_level <= ERROR;
	if (log_level == LOG)
		return error->elevel >= FATAL;
	return error->elevel >= log_level;
}

static void
error_passes(ErrorData *error)
{
	our_part(error);
	if (!is_for_log(error))
		error->output_to_server = false;
	else if (next_hook != NULL)
		next_hook(error);
}

/* The setting gets a variable of its own, and a hook for the server's. */
static void
take_log_level(void)
{
	int count;
	struct config_generic **settings = compat_guc_variables(&count);

	for (int i = 0; i < count; i++)
	{
		struct config_enum *setting = (struct config_enum *) settings[i];

		if (strcmp(settings[i]->name, "log_min_messages") != 0)
			continue;
		log_level = *setting->variable;
		setting->variable = &log_level;
		setting->assign_hook = level_assigned;
		level_assigned(log_level, NULL);
	}
}

void
error_hook_take(emit_log_hook_type part)
{
	our_part = part;
	next_hook = emit_log_hook;
	emit_log_hook = error_passes;
	take_log_level();
}
