/*
 * settings.c: settings of the ddl module.
 */
#include "pando/compat/compat.h"

#include "utils/guc.h"

#include "pando/ddl/settings.h"

bool ddl_propagation_enabled = true;
bool ddl_role_propagation = true;
bool ddl_alter_role_propagation = true;
bool ddl_alter_role_set_propagation = true;
bool ddl_type_propagation = true;
bool ddl_database_propagation = false;
bool ddl_database_owner_propagation = true;
bool ddl_enforce_restrictions = false;
bool ddl_unsafe_triggers = false;

/* Accepted: objects are always made at once. */
static int object_propagation = 0;
static int propagate_set_commands = 0;

static const struct config_enum_entry object_propagations[] = {{"immediate", 0, false},
															   {"automatic", 1, false},
															   {"deferred", 2, false},
															   {NULL, 0, false}};
static const struct config_enum_entry set_propagations[] = {
	{"none", 0, false}, {"local", 1, false}, {NULL, 0, false}};

void
settings_init(void)
{
	DefineCustomBoolVariable("citus.enable_ddl_propagation",
							 "Applies schema changes to shards and to the other nodes.",
							 NULL, &ddl_propagation_enabled, true, PGC_USERSET, 0, NULL,
							 NULL, NULL);
	DefineCustomBoolVariable("citus.enable_create_role_propagation",
							 "Creates, changes and drops roles on all nodes.", NULL,
							 &ddl_role_propagation, true, PGC_USERSET, 0, NULL, NULL,
							 NULL);
	DefineCustomBoolVariable(
		"citus.enable_alter_role_propagation", "Changes roles on all nodes.", NULL,
		&ddl_alter_role_propagation, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("citus.enable_alter_role_set_propagation",
							 "Changes settings of roles on all nodes.", NULL,
							 &ddl_alter_role_set_propagation, true, PGC_USERSET, 0, NULL,
							 NULL, NULL);
	DefineCustomBoolVariable("citus.enable_create_type_propagation",
							 "Creates types on all nodes before a table needs them.",
							 NULL, &ddl_type_propagation, true, PGC_USERSET, 0, NULL,
							 NULL, NULL);
	DefineCustomBoolVariable(
		"citus.enable_create_database_propagation", "Creates databases on all nodes.",
		NULL, &ddl_database_propagation, false, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable(
		"citus.enable_alter_database_owner", "Changes owners of databases on all nodes.",
		NULL, &ddl_database_owner_propagation, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("citus.enforce_object_restrictions_for_local_objects",
							 "Refuses an object that cannot be on all nodes.",
							 "Otherwise it is created on the node where the client is.",
							 &ddl_enforce_restrictions, false, PGC_USERSET, 0, NULL, NULL,
							 NULL);
	DefineCustomBoolVariable(
		"citus.enable_unsafe_triggers", "Allows triggers on distributed tables.",
		"They run on the nodes, once per shard, with what is there.",
		&ddl_unsafe_triggers, false, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("citus.create_object_propagation",
							 "Accepted; objects are created on all nodes at once.", NULL,
							 &object_propagation, 0, object_propagations, PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomEnumVariable(
		"citus.propagate_set_commands",
		"Accepted; sessions on other nodes follow the client's settings.", NULL,
		&propagate_set_commands, 0, set_propagations, PGC_USERSET, 0, NULL, NULL, NULL);
}
