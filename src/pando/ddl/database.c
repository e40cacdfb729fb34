/*
 * database.c: other databases, on all nodes.
 *
 * The database of the session is on all nodes, or these were none: what is said of it
 * holds everywhere. Another one is made everywhere if the client wants that
 * (citus.enable_create_database_propagation), and what was so made is recorded like other
 * objects and follows like them.
 *
 * CREATE and DROP DATABASE can't be rolled back, so they are no part of the distributed
 * transaction. The other nodes go first. When one of them can't create the database, it
 * goes again where it was created. A drop that didn't come through can be repeated: the
 * node that leads is the last.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "catalog/pg_database.h"
#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "pando/base/sql.h"
#include "pando/catalog/object.h"
#include "pando/ddl/database.h"
#include "pando/ddl/object.h"
#include "pando/ddl/settings.h"
#include "pando/ddl/statements.h"
#include "pando/metadata/node.h"
#include "pando/transaction/xact.h"

bool
database_is_everywhere(const char *name)
{
	ObjectAddress address;

	ObjectAddressSet(address, DatabaseRelationId, get_database_oid(name, true));
	return address.objectId == MyDatabaseId ||
		   (OidIsValid(address.objectId) && catalog_object_find(&address) != NULL);
}

/* ------------------------------------------------------------------------------------
 * CREATE DATABASE
 */

/* The template; raises where each node would copy something else. */
static char *
template_of(const CreatedbStmt *stmt)
{
	char *name = "template1";

	foreach_ptr (DefElem, option, stmt->options)
	{
		if (strcmp(option->defname, "template") == 0 && option->arg != NULL)
			name = defGetString(option);
	}
	if (strcmp(name, "template0") != 0 && strcmp(name, "template1") != 0)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("database \"%s\" cannot be created on all nodes from template \"%s\"",
					stmt->dbname, name),
			 errdetail("Each node would copy what it has itself."),
			 errhint("Use template0 or template1, or set "
					 "citus.enable_create_database_propagation to off to create it on "
					 "this node alone.")));
	return name;
}

/* A database gets its encoding and locale from the template unless the client says them.
 */
static void
check_templates(List *nodes, const char *name)
{
	char *query = psprintf(
		"SELECT pg_catalog.concat_ws(', ', pg_catalog.pg_encoding_to_char(encoding), "
		"datcollate, datctype, datlocprovider) FROM pg_catalog.pg_database WHERE datname "
		"= %s",
		quote_literal_cstr(name));
	char *here = sql_value("%s", query);

	foreach_ptr (const DistNode, node, nodes)
	{
		char *there = xact_value_from_node(node, query);

		if (here != NULL && (there == NULL || strcmp(here, there) != 0))
			ereport(
				ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("database \"%s\" of node %s:%d has another encoding or locale",
						name, node->host, node->port),
				 errdetail("It has %s, that of this node %s.",
						   there == NULL ? "none" : there, here)));
	}
}

static void
append_option(StringInfo sql, const DefElem *option)
{
	static const char *const numbers[] = {"oid", "connection_limit"};
	bool is_number = false;

	if (option->arg == NULL)
		return; /* DEFAULT */
	for (int i = 0; i < lengthof(numbers); i++)
		is_number |= strcmp(option->defname, numbers[i]) == 0;
	appendStringInfo(sql, " %s = %s",
					 strcmp(option->defname, "connection_limit") == 0 ? "CONNECTION LIMIT"
																	  : option->defname,
					 is_number ? defGetString((DefElem *) option)
							   : quote_literal_cstr(defGetString((DefElem *) option)));
}

/* The statement, with the owner's name. */
static char *
create_command(const CreatedbStmt *stmt)
{
	StringInfoData sql;
	bool has_owner = false;

	initStringInfo(&sql);
	appendStringInfo(&sql, "CREATE DATABASE %s WITH", quote_identifier(stmt->dbname));
	foreach_ptr (DefElem, option, stmt->options)
	{
		has_owner |= strcmp(option->defname, "owner") == 0 && option->arg != NULL;
		append_option(&sql, option);
	}
	if (!has_owner)
		appendStringInfo(&sql, " OWNER = %s",
						 quote_literal_cstr(GetUserNameFromId(GetUserId(), false)));
	return sql.data;
}

static char *
drop_command(const char *name, const char *options)
{
	return psprintf("DROP DATABASE IF EXISTS %s%s", quote_identifier(name), options);
}

static void
create_elsewhere(const CreatedbStmt *stmt, List *nodes)
{
	List *failed;

	check_templates(nodes, template_of(stmt));
	failed = xact_try_outside(nodes, create_command(stmt));
	if (failed == NIL)
		return;
	(void) xact_try_outside(list_difference_ptr(nodes, failed),
							drop_command(stmt->dbname, ""));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("database \"%s\" cannot be created on all nodes", stmt->dbname),
			 errdetail("The warnings say what stands in its way, and where.")));
}

static void
record(const char *name)
{
	ObjectAddress address;

	ObjectAddressSet(address, DatabaseRelationId, get_database_oid(name, false));
	if (catalog_object_find(&address) == NULL)
		catalog_object_insert(catalog_object_new(&address));
	CommandCounterIncrement();
	xact_wrote_locally();
}

static void
record_on(List *nodes, const char *name)
{
	xact_tell_nodes(nodes, psprintf("SELECT pando.object_register('database', ARRAY[%s], "
									"ARRAY[]::pg_catalog.text[])",
									quote_literal_cstr(name)));
}

static bool
may_create(void)
{
	return sql_value("SELECT 1 FROM pg_catalog.pg_roles WHERE oid = %u AND (rolsuper OR "
					 "rolcreatedb)",
					 GetUserId()) != NULL;
}

void
database_create_prepare(DdlJob *job)
{
	job->concerned = !job->applying && ddl_database_propagation;
}

bool
database_create_run(DdlJob *job)
{
	const CreatedbStmt *stmt = (CreatedbStmt *) job->stmt;
	List *nodes = node_list(NODES_OTHER);

	PreventInTransactionBlock(job->call->context == PROCESS_UTILITY_TOPLEVEL,
							  "CREATE DATABASE");
	if (!may_create() || OidIsValid(get_database_oid(stmt->dbname, true)))
		nodes = NIL; /* PostgreSQL raises */
	else
		create_elsewhere(stmt, nodes);
	PG_TRY();
	{
		if (nodes != NIL)
			record_on(nodes, stmt->dbname);
		job_run_shell(job);
	}
	PG_CATCH();
	{
		MemoryContext context = MemoryContextSwitchTo(TopTransactionContext);
		ErrorData *error = CopyErrorData();

		FlushErrorState();
		if (nodes != NIL)
			(void) xact_try_outside(nodes, drop_command(stmt->dbname, ""));
		MemoryContextSwitchTo(context);
		ReThrowError(error);
	}
	PG_END_TRY();
	CommandCounterIncrement();
	record(stmt->dbname);
	return true;
}

void
database_send(const DistNode *node)
{
	List *nodes = list_make1((void *) node);

	foreach_ptr (char, name,
				 sql_column("SELECT d.datname FROM pg_catalog.pg_dist_object o JOIN "
							"pg_catalog.pg_database d ON d.oid = o.objid WHERE o.classid "
							"= %u ORDER BY 1",
							DatabaseRelationId))
	{
		List *commands =
			sql_column("SELECT pando.database_commands(%s)", quote_literal_cstr(name));

		if (xact_value_from_node(node, psprintf("SELECT 1 FROM pg_catalog.pg_database "
												"WHERE datname = %s",
												quote_literal_cstr(name))) == NULL &&
			xact_try_outside(nodes, linitial(commands)) != NIL)
			ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
							errmsg("database \"%s\" cannot be created on node %s:%d",
								   name, node->host, node->port)));
		foreach_ptr (char, command, list_copy_tail(commands, 1))
			xact_tell_nodes(nodes, command);
		record_on(nodes, name);
	}
}

/* ------------------------------------------------------------------------------------
 * DROP and ALTER
 */

void
database_drop_prepare(DdlJob *job)
{
	const char *name = ((DropdbStmt *) job->stmt)->dbname;

	job->concerned = !job->applying && get_database_oid(name, true) != MyDatabaseId &&
					 database_is_everywhere(name);
}

bool
database_drop_run(DdlJob *job)
{
	const DropdbStmt *stmt = (DropdbStmt *) job->stmt;
	List *nodes = node_list(NODES_OTHER);
	bool force = false;

	PreventInTransactionBlock(job->call->context == PROCESS_UTILITY_TOPLEVEL,
							  "DROP DATABASE");
	foreach_ptr (DefElem, option, stmt->options)
		force |= strcmp(option->defname, "force") == 0;
	if (compat_owns_database(get_database_oid(stmt->dbname, false), GetUserId()) &&
		xact_try_outside(nodes,
						 drop_command(stmt->dbname, force ? " WITH (FORCE)" : "")) != NIL)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("database \"%s\" could not be dropped on all nodes",
							   stmt->dbname),
						errdetail("The warnings say where, and why."),
						errhint("Run the statement again.")));
	job_run_shell(job);
	return true;
}

/* Where its files are is each server's own, and can't be changed in a transaction. */
void
database_alter_prepare(DdlJob *job)
{
	if (IsA(job->stmt, AlterDatabaseStmt))
	{
		foreach_ptr (DefElem, option, ((AlterDatabaseStmt *) job->stmt)->options)
		{
			if (strcmp(option->defname, "tablespace") == 0)
				return;
		}
	}
	object_prepare(job);
}

void
database_owner_prepare(DdlJob *job)
{
	if (!job->applying && !ddl_database_owner_propagation)
		return;
	object_prepare(job);
	if (job->concerned && !job->applying)
		object_ensure_roles(list_make1(((AlterOwnerStmt *) job->stmt)->newowner));
}
