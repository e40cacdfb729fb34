/*
 * manage_new.c: new local tables become managed ones at once (see the header).
 *
 * After CREATE TABLE, CREATE TABLE AS and CREATE FOREIGN TABLE, also those that IMPORT
 * FOREIGN SCHEMA runs, as if citus_add_local_table_to_metadata() had
 * been called. What that function would refuse (temporary tables, partitions, children)
 * stays a local table.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/extension.h"
#include "tcop/utility.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "pando/base/hook.h"
#include "pando/base/sql.h"
#include "pando/cluster/manage_new.h"
#include "pando/ddl/settings.h"
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

/* Was it made just now, and can it be a managed local table? */
static bool
can_be_managed(Oid relid)
{
	Relation rel = table_open(relid, NoLock);
	bool can = rel->rd_createSubid != InvalidSubTransactionId &&
			   (rel->rd_rel->relkind == RELKIND_RELATION ||
				rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE) &&
			   rel->rd_rel->relpersistence != RELPERSISTENCE_TEMP &&
			   !has_superclass(relid) && dist_table(relid) == NULL;

	table_close(rel, NoLock);
	return can;
}

static void
manage_new_table(const RangeVar *relation)
{
	Oid relid;

	CommandCounterIncrement();
	relid = RangeVarGetRelid(relation, AccessShareLock, true);
	if (OidIsValid(relid) && can_be_managed(relid))
		(void) sql_run_as_is(
			psprintf("SELECT pg_catalog.citus_add_local_table_to_metadata("
					 "%u::pg_catalog.oid::pg_catalog.regclass)",
					 relid));
}

static void
manage_new_utility(PlannedStmt *pstmt, const char *query_string, bool read_only_tree,
				   ProcessUtilityContext context, ParamListInfo params,
				   QueryEnvironment *env, DestReceiver *dest, QueryCompletion *qc)
{
	/* The tree may be changed while the statement runs. */
	const RangeVar *relation =
		manage_new_tables ? copyObject(table_to_be(pstmt->utilityStmt)) : NULL;

	hook_utility_next(UTILITY_MANAGE, pstmt, query_string, read_only_tree, context,
					  params, env, dest, qc);
	if (relation != NULL && !creating_extension && !utility_is_applying() &&
		!utility_is_internal() && ddl_propagation_enabled && metadata_active() &&
		node_is_coordinator() && node_list(NODES_ALL) != NIL)
		manage_new_table(relation);
}

void
manage_new_init(void)
{
	DefineCustomBoolVariable("citus.use_citus_managed_tables",
							 "Makes new local tables usable on all nodes.", NULL,
							 &manage_new_tables, false, PGC_USERSET, 0, NULL, NULL, NULL);
	hook_utility(UTILITY_MANAGE, manage_new_utility);
}
