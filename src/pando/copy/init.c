/*
 * init.c: what the copy module registers when the library is loaded.
 */
#include "pando/compat/compat.h"

#include "catalog/namespace.h"
#include "tcop/utility.h"

#include "pando/base/hook.h"
#include "pando/copy/from.h"
#include "pando/copy/init.h"
#include "pando/copy/insert_select.h"
#include "pando/copy/shard_insert.h"
#include "pando/copy/to.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

/*
 * The table that a COPY names, if it has shards, or if another node sends rows for the
 * coordinator's own table; else NULL. What does not exist is
 * PostgreSQL's error. Locked as COPY itself does it, for a conversion may be under way
 * that decides where the rows are.
 */
static const DistTable *
copy_target(const CopyStmt *stmt)
{
	const DistTable *table;
	Oid relid;

	if (stmt->relation == NULL || !metadata_active())
		return NULL;
	relid = RangeVarGetRelid(stmt->relation,
							 stmt->is_from ? RowExclusiveLock : AccessShareLock, true);
	table = OidIsValid(relid) ? dist_table(relid) : NULL;
	if (table != NULL && table->kind == TABLE_MANAGED_LOCAL && !stream_in_wanted(stmt))
		return NULL;
	return table;
}

static void
copy_utility(PlannedStmt *pstmt, const char *query_string, bool read_only_tree,
			 ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *env,
			 DestReceiver *dest, QueryCompletion *qc)
{
	Node *statement = pstmt->utilityStmt;
	const DistTable *table;

	if (IsA(statement, CopyStmt) && (table = copy_target((CopyStmt *) statement)) != NULL)
	{
		CopyStmt *stmt = (CopyStmt *) statement;

		if (stmt->is_from)
		{
			uint64 rows = xact_copy_from(stmt, query_string,
										 stream_in_wanted(stmt) ? stream_in : copy_from);

			if (qc != NULL)
				SetQueryCompletion(qc, CMDTAG_COPY, rows);
			return;
		}
		pstmt = copyObject(pstmt);
		pstmt->utilityStmt = (Node *) copy_to_query(stmt, table->relid);
	}

	hook_utility_next(UTILITY_COPY, pstmt, query_string, read_only_tree, context, params,
					  env, dest, qc);
}

void
copy_init(void)
{
	shard_insert_init();
	insert_select_init();
	hook_utility(UTILITY_COPY, copy_utility);
}
