/*
 * role.h: roles as commands.
 */
#ifndef PANDO_DDL_ROLE_H
#define PANDO_DDL_ROLE_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

/*
 * Commands (char *) that create the role, or change one that is there (`exists`):
 * attributes, the password as it is stored (hashed), settings, membership in other roles.
 * Not shown to users: read from the catalogs without a check of rights.
 */
extern List *role_commands(Oid roleid, bool exists);

/* Roles that it is a member of (Oids). */
extern List *role_memberships(Oid roleid);

/* All roles that users made (Oids). */
extern List *role_all(void);

/* ALTER ROLE ... SET for its settings in all databases and in this one; InvalidOid: those
 * of all roles in this one. */
extern List *role_setting_commands(Oid roleid);

#endif
