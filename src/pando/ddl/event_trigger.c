/*
 * event_trigger.c: event triggers fire where the client is.
 *
 * All nodes have them, like other objects. PostgreSQL fires them on each node whose
 * statement it runs, so their functions do nothing while a backend runs what another node
 * sent, or what the propagation itself makes of a client's statement. It has no switch
 * for that: the function is exchanged when it is looked up to be called (fmgr_hook). Who
 * only says that he is a node, or calls pando.ddl_apply() by himself, does not escape
 * them.
 *
 * A trigger function sees the cluster as it is: with ddl_command_end all nodes have the
 * statement, and its queries see rows, though PostgreSQL is still at work on the shell.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "fmgr.h"
#include "utils/lsyscache.h"

#include "pando/ddl/event_trigger.h"
#include "pando/ddl/utility.h"

static needs_fmgr_hook_type next_needs = NULL;
static fmgr_hook_type next_hook = NULL;
static PGFunction called = NULL; /* in whose place call_in_shell() is called */

static bool
is_silent(Oid function)
{
	return utility_maybe_nodes_own() && get_func_rettype(function) == EVENT_TRIGGEROID &&
		   utility_is_nodes_own();
}

static Datum
do_nothing(PG_FUNCTION_ARGS)
{
	PG_RETURN_NULL();
}

static bool
is_in_shell(Oid function)
{
	return utility_is_in_shell() && get_func_rettype(function) == EVENT_TRIGGEROID;
}

static Datum
call_in_shell(PG_FUNCTION_ARGS)
{
	PGFunction function = called;

	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		return function(fcinfo);
	return utility_call_event_trigger(function, fcinfo);
}

static bool
needs_hook(Oid function)
{
	return (next_needs != NULL && next_needs(function)) || is_silent(function) ||
		   is_in_shell(function);
}

/* The FmgrInfo is made for this one call, which comes next. */
static void
call_hook(FmgrHookEventType event, FmgrInfo *function, Datum *private)
{
	if (event == FHET_START && is_silent(function->fn_oid))
		function->fn_addr = do_nothing;
	else if (event == FHET_START && is_in_shell(function->fn_oid))
	{
		called = function->fn_addr;
		function->fn_addr = call_in_shell;
	}
	if (next_hook != NULL)
		next_hook(event, function, private);
}

void
event_trigger_init(void)
{
	next_needs = needs_fmgr_hook;
	needs_fmgr_hook = needs_hook;
	next_hook = fmgr_hook;
	fmgr_hook = call_hook;
}
