/*
 * role.c: roles as commands.
 */
#include "pando/compat/compat.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_auth_members.h"
#include "catalog/pg_authid.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "pando/base/literal.h"
#include "pando/base/sql.h"
#include "pando/ddl/role.h"

static void
append_attributes(StringInfo out, const FormData_pg_authid *role)
{
	appendStringInfo(out, " %s %s %s %s %s %s %s CONNECTION LIMIT %d",
					 role->rolsuper ? "SUPERUSER" : "NOSUPERUSER",
					 role->rolinherit ? "INHERIT" : "NOINHERIT",
					 role->rolcreaterole ? "CREATEROLE" : "NOCREATEROLE",
					 role->rolcreatedb ? "CREATEDB" : "NOCREATEDB",
					 role->rolcanlogin ? "LOGIN" : "NOLOGIN",
					 role->rolreplication ? "REPLICATION" : "NOREPLICATION",
					 role->rolbypassrls ? "BYPASSRLS" : "NOBYPASSRLS",
					 role->rolconnlimit);
}

static char *
role_attribute_command(Oid roleid, bool exists)
{
	HeapTuple tuple = SearchSysCache1(AUTHOID, ObjectIdGetDatum(roleid));
	Form_pg_authid role;
	StringInfoData sql;
	Datum value;
	bool isnull;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("role with OID %u does not exist", roleid)));
	role = (Form_pg_authid) GETSTRUCT(tuple);
	initStringInfo(&sql);
	appendStringInfo(&sql, "%s ROLE %s WITH", exists ? "ALTER" : "CREATE",
					 quote_identifier(NameStr(role->rolname)));
	append_attributes(&sql, role);
	value = SysCacheGetAttr(AUTHOID, tuple, Anum_pg_authid_rolpassword, &isnull);
	if (isnull)
		appendStringInfoString(&sql, " PASSWORD NULL");
	else
		appendStringInfo(&sql, " PASSWORD %s",
						 quote_literal_cstr(TextDatumGetCString(value)));
	value = SysCacheGetAttr(AUTHOID, tuple, Anum_pg_authid_rolvaliduntil, &isnull);
	if (!isnull)
		appendStringInfo(&sql, " VALID UNTIL %s",
						 quote_literal_cstr(literal_text(value, false, TIMESTAMPTZOID)));
	ReleaseSysCache(tuple);
	return sql.data;
}

/* Pairs of roles: those that `roleid` is a member of, as GRANTs or as Oids. */
static List *
role_membership_scan(Oid roleid, bool as_commands)
{
	Relation rel = table_open(AuthMemRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;
	List *result = NIL;

	ScanKeyInit(&key, Anum_pg_auth_members_member, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(roleid));
	scan = systable_beginscan(rel, AuthMemMemRoleIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_auth_members member = (Form_pg_auth_members) GETSTRUCT(tuple);

		if (as_commands)
			result = lappend(
				result,
				psprintf("GRANT %s TO %s%s",
						 quote_identifier(GetUserNameFromId(member->roleid, false)),
						 quote_identifier(GetUserNameFromId(roleid, false)),
						 member->admin_option ? " WITH ADMIN OPTION" : ""));
		else
			result = list_append_unique_oid(result, member->roleid);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return result;
}

List *
role_memberships(Oid roleid)
{
	return role_membership_scan(roleid, false);
}

/* ALTER ROLE ... SET for its settings in all databases and in this one; 0: of all roles.
 */
List *
role_setting_commands(Oid roleid)
{
	return sql_column("SELECT pando.role_setting_commands(%u)", roleid);
}

List *
role_commands(Oid roleid, bool exists)
{
	List *commands = list_make1(role_attribute_command(roleid, exists));

	commands = list_concat(commands, role_setting_commands(roleid));
	commands = list_concat(
		commands,
		sql_column(
			"SELECT pg_catalog.format('COMMENT ON ROLE %%I IS %%L', "
			"pg_catalog.pg_get_userbyid(objoid), description) FROM "
			"pg_catalog.pg_shdescription WHERE classoid = %u AND objoid = %u "
			"UNION ALL "
			"SELECT pg_catalog.format('SECURITY LABEL FOR %%I ON ROLE %%I IS %%L', "
			"provider, pg_catalog.pg_get_userbyid(objoid), label) FROM "
			"pg_catalog.pg_shseclabel WHERE classoid = %u AND objoid = %u",
			AuthIdRelationId, roleid, AuthIdRelationId, roleid));
	return list_concat(commands, role_membership_scan(roleid, true));
}

List *
role_all(void)
{
	List *roles = NIL;

	foreach_ptr (char, id,
				 sql_column("SELECT oid FROM pg_catalog.pg_roles WHERE oid >= %u "
							"ORDER BY oid",
							FirstNormalObjectId))
		roles = lappend_oid(roles, atooid(id));
	return roles;
}
