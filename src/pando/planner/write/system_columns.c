/*
 * system_columns.c: system columns in UPDATE and DELETE.
 *
 * tableoid is the shell table's: a constant for the statement. ctid is row_ctid.c's
 * business; the others are those of the shards' rows.
 */
#include "pando/compat/compat.h"

#include "access/sysattr.h"
#include "nodes/nodeFuncs.h"

#include "pando/plan/row_place.h"
#include "pando/planner/write/system_columns.h"
#include "pando/planner/query/flatten.h"

static bool
use_walker(Node *node, void *context)
{
	SystemColumns *use = context;

	/* What it says holds for each copy. */
	if (node == NULL || is_row_acts_elsewhere(node) || is_row_keys_wait(node))
		return false;
	if (IsA(node, Var))
	{
		if (((Var *) node)->varattno == TableOidAttributeNumber)
			use->tableoid = true;
		else if (((Var *) node)->varattno < 0)
			use->others = true;
		return false;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, use_walker, context,
								 QTW_IGNORE_JOINALIASES);
	return expression_tree_walker(node, use_walker, context);
}

SystemColumns
write_system_columns(Query *write)
{
	SystemColumns use = {0};

	use_walker((Node *) write->jointree, &use);
	use_walker((Node *) write->targetList, &use);
	use_walker((Node *) write->onConflict, &use);
	return use;
}

Query *
write_with_shell_oids(Query *write)
{
	Query *result = palloc(sizeof(Query));

	*result = *write;
	result->jointree =
		(FromExpr *) expression_with_shell_oids((Node *) write->jointree, write);
	result->targetList =
		(List *) expression_with_shell_oids((Node *) write->targetList, write);
	return result;
}
