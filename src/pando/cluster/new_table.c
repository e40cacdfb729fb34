/*
 * new_table.c: what becomes of a table that was made (see the header).
 *
 * In a distributed schema it becomes one of the schema's. Elsewhere, or if it is a
 * foreign table, also one that IMPORT FOREIGN SCHEMA made, it becomes a managed local
 * table, where the user wishes so (citus.use_citus_managed_tables), as if
 * citus_add_local_table_to_metadata() had been called. What these would refuse (temporary
 * tables, children) stays a local table; partitions have followed their parents. On
 * another node than the coordinator CREATE TABLE and CREATE FOREIGN TABLE make the table
 * there then.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "tcop/utility.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pando/base/hook.h"
#include "pando/base/sql.h"
#include "pando/catalog/schema.h"
#include "pando/cluster/new_table.h"
#include "pando/cluster/schema.h"
#include "pando/ddl/local_lead.h"
#include "pando/ddl/utility.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"

static bool manage_new_tables = false;

/* The relation that a statement makes a table of; NULL for other statements. */
static const RangeVar *
table_to_be(const Node *stmt)
{
	if (IsA(stmt, CreateStmt))
		return ((const CreateStmt *) stmt)->relation;
	if (IsA(stmt, CreateForeignTableStmt))
		return ((const CreateForeignTableStmt *) stmt)->base.relation;
	if (IsA(stmt, CreateTableAsStmt) &&
		((const CreateTableAsStmt *) stmt)->objtype == OBJECT_TABLE)
		return ((const CreateTableAsStmt *) stmt)->into->rel;
	return NULL;
}

/* Was it made just now, and is it more than this node's or session's own? */
static bool
can_be_everywhere(Oid relid)
{
	Relation rel = table_open(relid, NoLock);
	bool can = rel->rd_createSubid != InvalidSubTransactionId &&
			   rel->rd_rel->relpersistence != RELPERSISTENCE_TEMP &&
			   !has_superclass(relid) && dist_table(relid) == NULL;

	table_close(rel, NoLock);
	return can;
}

static bool
can_be_managed(Oid relid)
{
	char relkind = get_rel_relkind(relid);

	return manage_new_tables &&
		   (relkind == RELKIND_RELATION || relkind == RELKIND_FOREIGN_TABLE ||
			relkind == RELKIND_PARTITIONED_TABLE) &&
		   node_is_coordinator() && node_local() != NULL && node_local()->listed;
}

static void
table_made(const RangeVar *relation)
{
	Oid relid;

	CommandCounterIncrement();
	relid = RangeVarGetRelid(relation, AccessShareLock, true);
	if (!OidIsValid(relid) || !can_be_everywhere(relid) || schema_take_table(relid))
		return;
	if (can_be_managed(relid))
		(void) sql_run_as_is(
			psprintf("SELECT pg_catalog.citus_add_local_table_to_metadata("
					 "%u::pg_catalog.oid::pg_catalog.regclass)",
					 relid));
}

/* On another node the coordinator makes it, whose it is to be. */
static bool
made_there(const PlannedStmt *pstmt, const char *text)
{
	const Node *stmt = pstmt->utilityStmt;
	const RangeVar *relation = table_to_be(stmt);
	const CreateStmt *create = (const CreateStmt *) stmt;

	if (!manage_new_tables || node_is_coordinator() || relation == NULL ||
		IsA(stmt, CreateTableAsStmt) || create->inhRelations != NIL ||
		relation->relpersistence == RELPERSISTENCE_TEMP ||
		!OidIsValid(RangeVarGetCreationNamespace(relation)) ||
		isTempNamespace(RangeVarGetCreationNamespace(relation)) ||
		catalog_schema_colocation(RangeVarGetCreationNamespace(relation)) != 0)
		return false;
	if (pstmt->stmt_location > 0)
		text += pstmt->stmt_location;
	local_lead_text(pnstrdup(text, pstmt->stmt_len > 0 ? pstmt->stmt_len : strlen(text)));
	return true;
}

static void
new_table_utility(PlannedStmt *pstmt, const char *query_string, bool read_only_tree,
				  ProcessUtilityContext context, ParamListInfo params,
				  QueryEnvironment *env, DestReceiver *dest, QueryCompletion *qc)
{
	/* The tree may be changed while the statement runs. */
	const RangeVar *relation = copyObject(table_to_be(pstmt->utilityStmt));

	if (utility_is_clients() && context != PROCESS_UTILITY_SUBCOMMAND &&
		made_there(pstmt, query_string))
		return;
	hook_utility_next(UTILITY_NEW_TABLE, pstmt, query_string, read_only_tree, context,
					  params, env, dest, qc);
	if (relation != NULL && utility_is_clients())
		table_made(relation);
}

void
new_table_init(void)
{
	DefineCustomBoolVariable("citus.use_citus_managed_tables",
							 "Makes new local tables usable on all nodes.", NULL,
							 &manage_new_tables, false, PGC_USERSET, 0, NULL, NULL, NULL);
	hook_utility(UTILITY_NEW_TABLE, new_table_utility);
}
