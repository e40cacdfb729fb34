/*
 * partition_choice.c: values that choose among many partitions.
 *
 * A plan for all values of a parameter has every partition that one of them may need.
 * With a thousand of them it takes a fifth of a second and some MB, for each shard and in
 * each backend, to find out that a plan for the values at hand is better; so nobody is to
 * ask for it.
 */
#include "pando/compat/compat.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "nodes/bitmapset.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "partitioning/partdesc.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "pando/planner/fragment/partition_choice.h"

/* What fewer of them cost is hardly seen. */
#define MANY_PARTITIONS 32

/* The columns that the table is partitioned by, if it has many partitions. Its lock is
 * held. */
static Bitmapset *
key_of_many(Oid relid)
{
	Relation table = table_open(relid, NoLock);
	Bitmapset *columns = NULL;

	if (RelationGetPartitionDesc(table, true)->nparts > MANY_PARTITIONS)
	{
		PartitionKey key = RelationGetPartitionKey(table);

		for (int i = 0; i < key->partnatts; i++)
		{
			if (key->partattrs[i] != InvalidAttrNumber)
				columns = bms_add_member(columns, key->partattrs[i] -
													  FirstLowInvalidHeapAttributeNumber);
		}
		pull_varattnos((Node *) key->partexprs, 1, &columns);
	}
	table_close(table, NoLock);
	return columns;
}

/* Of one level: for each entry of its range table. */
typedef struct Keys
{
	Bitmapset **columns;
	int length;
} Keys;

static bool
key_walker(Node *node, void *context)
{
	const Keys *keys = context;

	if (node == NULL || IsA(node, Query))
		return false;
	if (IsA(node, Var))
	{
		const Var *var = (Var *) node;

		return var->varlevelsup == 0 && var->varno <= keys->length &&
			   bms_is_member(var->varattno - FirstLowInvalidHeapAttributeNumber,
							 keys->columns[var->varno - 1]);
	}
	return expression_tree_walker(node, key_walker, context);
}

static bool
param_walker(Node *node, void *context)
{
	if (node == NULL || IsA(node, Query))
		return false;
	return (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN) ||
		   expression_tree_walker(node, param_walker, context);
}

static bool
comparison_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_partitions_by_params((Query *) node);
	if ((IsA(node, OpExpr) || IsA(node, ScalarArrayOpExpr)) &&
		key_walker(node, context) && param_walker(node, NULL))
		return true;
	return expression_tree_walker(node, comparison_walker, context);
}

bool
query_partitions_by_params(Query *query)
{
	Keys keys = {.length = list_length(query->rtable)};

	keys.columns = palloc0(sizeof(Bitmapset *) * (keys.length + 1));
	for (int i = 0; i < keys.length; i++)
	{
		const RangeTblEntry *rte = list_nth(query->rtable, i);

		if (rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_PARTITIONED_TABLE)
			keys.columns[i] = key_of_many(rte->relid);
	}
	return query_tree_walker(query, comparison_walker, &keys, QTW_IGNORE_JOINALIASES);
}
