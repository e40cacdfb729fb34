/*
 * settings.h: settings of the ddl module.
 */
#ifndef PANDO_DDL_SETTINGS_H
#define PANDO_DDL_SETTINGS_H

#include "pando/compat/compat.h"

extern bool ddl_propagation_enabled; /* citus.enable_ddl_propagation */
extern bool ddl_role_propagation;
extern bool ddl_alter_role_propagation;
extern bool ddl_alter_role_set_propagation;
extern bool ddl_type_propagation;	  /* citus.enable_create_role_propagation */
extern bool ddl_database_propagation; /* citus.enable_create_database_propagation */
extern bool ddl_database_owner_propagation;
extern bool ddl_enforce_restrictions; /* what can't be on all nodes is refused */
extern bool ddl_unsafe_triggers;	  /* citus.enable_unsafe_triggers */

/* Defines them; called from ddl_init only. */
extern void settings_init(void);

#endif
