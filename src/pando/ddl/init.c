/*
 * init.c: what the ddl module registers when the library is loaded.
 */
#include "pando/compat/compat.h"

#include "pando/ddl/drop.h"
#include "pando/ddl/event_trigger.h"
#include "pando/ddl/init.h"
#include "pando/ddl/lead.h"
#include "pando/ddl/settings.h"
#include "pando/ddl/utility.h"

void
ddl_init(void)
{
	settings_init();
	drop_init();
	event_trigger_init();
	utility_init();
	lead_init();
}
