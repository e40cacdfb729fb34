/*
 * rule.c: rules of distributed tables.
 *
 * PostgreSQL rewrites a statement by the rules of the tables that it names before
 * anything is planned, on the node where the client is. So rules are the shells', on all
 * nodes, and shards have none.
 *
 * What a rule names has to be on all nodes as well: it is sent after the tables and the
 * views, and what it needs can't become one node's own while it is there. Rules of views
 * are parts of these (view.c); those of managed local tables are the coordinator's.
 */
#include "pando/compat/compat.h"

#include "catalog/objectaddress.h"
#include "catalog/pg_rewrite.h"
#include "nodes/parsenodes.h"
#include "rewrite/rewriteSupport.h"
#include "utils/lsyscache.h"

#include "pando/base/sql.h"
#include "pando/ddl/dependency.h"
#include "pando/ddl/rule.h"
#include "pando/ddl/statements.h"
#include "pando/ddl/table_def.h"
#include "pando/ddl/view.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

void
rule_create_prepare(DdlJob *job)
{
	RuleStmt *stmt = (RuleStmt *) job->stmt;
	Oid relid = job_distributed_table(stmt->relation);

	if (!OidIsValid(relid))
	{
		view_prepare(job, stmt->relation);
		return;
	}
	if (stmt->event == CMD_SELECT)
		job_refuse(job, "CREATE RULE ... ON SELECT", "Create a view.");
	job_add_table(job, relid);
}

static void
rule_ensure(Oid rule)
{
	ObjectAddress address;

	ObjectAddressSet(address, RewriteRelationId, rule);
	dependency_ensure(&address);
}

/* What the rule needs goes to the other nodes before its text does. */
void
rule_create_changed(DdlJob *job)
{
	if (job->applying || job->tables == NIL)
		return;
	rule_ensure(get_rewrite_oid(linitial_oid(job->tables),
								((RuleStmt *) job->stmt)->rulename, false));
}

void
rules_follow_table(Oid relid)
{
	List *commands = table_def_rules(list_make1_oid(relid));
	List *nodes = node_list(NODES_OTHER);

	if (commands == NIL)
		return;
	foreach_ptr (char, rule,
				 sql_column("SELECT oid FROM pg_catalog.pg_rewrite WHERE ev_class = %u "
							"AND rulename OPERATOR(pg_catalog.<>) '_RETURN'",
							relid))
		rule_ensure(atooid(rule));
	if (nodes != NIL)
		xact_run_on_nodes(nodes, sql_join(commands));
}

static void
refuse_leaving(Oid relid, Oid rule)
{
	ObjectAddress address;

	ObjectAddressSet(address, RewriteRelationId, rule);
	ereport(ERROR, (errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
					errmsg("table \"%s\" has to stay on all nodes", get_rel_name(relid)),
					errdetail("%s needs it.", getObjectDescription(&address, false)),
					errhint("Drop the rule first.")));
}

void
rules_let_go(List *relids)
{
	foreach_oid(relid, relids)
	{
		foreach_ptr (
			char, row,
			sql_column(
				"SELECT DISTINCT pg_catalog.concat(r.ev_class, ' ', r.oid) "
				"FROM (SELECT class, obj FROM pando.table_dependents(%u) UNION ALL "
				"SELECT 'pg_catalog.pg_class'::pg_catalog.regclass, %u) n "
				"JOIN pg_catalog.pg_depend d ON d.refclassid OPERATOR(pg_catalog.=) "
				"n.class AND d.refobjid OPERATOR(pg_catalog.=) n.obj AND d.classid "
				"OPERATOR(pg_catalog.=) 'pg_catalog.pg_rewrite'::pg_catalog.regclass "
				"JOIN pg_catalog.pg_rewrite r ON r.oid OPERATOR(pg_catalog.=) d.objid",
				relid, relid))
		{
			char *end;
			Oid owner = strtoul(row, &end, 10);
			const DistTable *table = dist_table(owner);

			if (table != NULL && !table->managed_local && !list_member_oid(relids, owner))
				refuse_leaving(relid, strtoul(end, NULL, 10));
		}
	}
}
