/*
 * point.c: statements on one table that name one value of its distribution column.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "pando/planner/query/equality.h"
#include "pando/planner/where/key_value.h"
#include "pando/planner/where/point.h"

/* Is it the distribution column of the statement's only table? */
static bool
is_key(Node *expr, const DistTable *table)
{
	Var *var = (Var *) equality_strip(expr);

	return var != NULL && IsA(var, Var) && var->varno == 1 &&
		   var->varattno == table->key && var->varlevelsup == 0;
}

/* The expression as a value of the key's type; NULL when it is none. */
static Node *
value_for_key(Node *expr, const DistTable *table)
{
	if ((IsA(expr, Const) && ((Const *) expr)->consttype == table->key_type) ||
		(IsA(expr, Param) && ((Param *) expr)->paramkind == PARAM_EXTERN &&
		 ((Param *) expr)->paramtype == table->key_type))
		return expr;
	return key_value(expr, table->key_type);
}

/* NULL is a value here: it says where rows without one are. */
static Node *
key_of_null_test(NullTest *test, const DistTable *table)
{
	if (test->nulltesttype != IS_NULL || test->argisrow ||
		!is_key((Node *) test->arg, table))
		return NULL;
	return (Node *) makeNullConst(table->key_type, -1, table->key_collation);
}

/* The value that the condition demands of the key; NULL when it demands none. */
static Node *
key_of_qual(Node *qual, const DistTable *table)
{
	OpExpr *clause = (OpExpr *) qual;
	Node *key;
	Node *value;

	if (qual == NULL)
		return NULL;
	if (is_andclause(qual))
	{
		foreach_ptr (Node, arg, ((BoolExpr *) qual)->args)
		{
			value = key_of_qual(arg, table);
			if (value != NULL)
				return value;
		}
		return NULL;
	}
	if (IsA(qual, NullTest))
		return key_of_null_test((NullTest *) qual, table);
	/* IS NOT DISTINCT FROM, for NULL is a value here. */
	if (is_notclause(qual))
		clause = (OpExpr *) get_notclausearg(qual);
	if (nodeTag(clause) != (is_notclause(qual) ? T_DistinctExpr : T_OpExpr) ||
		list_length(clause->args) != 2)
		return NULL;
	key = linitial(clause->args);
	value = lsecond(clause->args);
	if (!is_key(key, table))
	{
		key = value;
		value = linitial(clause->args);
		if (!is_key(key, table))
			return NULL;
	}
	if (equality_family(clause->opno, key, clause->inputcollid) !=
		hash_family_of_type(table->key_type))
		return NULL;
	return value_for_key(value, table);
}

static Node *
key_of_insert(Query *query, const DistTable *table)
{
	foreach_ptr (TargetEntry, tle, query->targetList)
	{
		Node *integer;

		if (tle->resjunk || tle->resno != table->key)
			continue;
		integer = key_integer((Node *) tle->expr, table->key_type);
		/* In the row as well, so that nobody has to cast it again. */
		if (integer != NULL)
			tle->expr = (Expr *) integer;
		return value_for_key((Node *) tle->expr, table);
	}
	return NULL;
}

/* The statement's only table, if that is what it has. */
static const RangeTblEntry *
only_table(Query *query)
{
	int ntables = query->onConflict ? 2 : 1; /* EXCLUDED */
	const RangeTblEntry *rte;

	if (query->hasSubLinks || query->hasTargetSRFs || query->cteList != NIL ||
		query->setOperations != NULL || list_length(query->rtable) != ntables)
		return NULL;
	switch (query->commandType)
	{
		case CMD_SELECT:
		case CMD_UPDATE:
		case CMD_DELETE:
			if (list_length(query->jointree->fromlist) != 1)
				return NULL;
			break;
		case CMD_INSERT:
			if (query->jointree->fromlist != NIL || query->resultRelation != 1)
				return NULL;
			break;
		default:
			return NULL;
	}
	rte = linitial(query->rtable);
	return rte->rtekind == RTE_RELATION ? rte : NULL;
}

bool
point_of_query(Query *query, Point *point)
{
	const RangeTblEntry *rte = only_table(query);

	if (rte == NULL)
		return false;
	point->table = dist_table(rte->relid);
	if (point->table == NULL || !dist_table_is_sharded(point->table))
		return false;
	point->key = NULL;
	if (point->table->kind == TABLE_SINGLE)
		return true;
	if (!dist_table_key_tells(point->table) ||
		(point->table->kind == TABLE_RANGE && query->commandType == CMD_INSERT))
		return false;
	if (query->commandType == CMD_INSERT)
		point->key = key_of_insert(query, point->table);
	else
		point->key = key_of_qual(query->jointree->quals, point->table);
	return point->key != NULL;
}

/* A parameter's value where the plan may be made for it. */
static bool
bound_value(const Param *param, ParamListInfo params, Datum *value, bool *isnull)
{
	ParamExternData *data;
	ParamExternData fetched;

	if (params == NULL || param->paramid < 1 || param->paramid > params->numParams)
		return false;
	data = params->paramFetch != NULL
			   ? params->paramFetch(params, param->paramid, true, &fetched)
			   : &params->params[param->paramid - 1];
	if (data->ptype != param->paramtype || (data->pflags & PARAM_FLAG_CONST) == 0)
		return false;
	*value = data->value;
	*isnull = data->isnull;
	return true;
}

int
point_shard(const Point *point, ParamListInfo params)
{
	Datum value;
	bool isnull;

	if (point->key == NULL)
		return point->table->nshards > 0 ? 0 : -1;
	if (IsA(point->key, Const))
	{
		value = ((Const *) point->key)->constvalue;
		isnull = ((Const *) point->key)->constisnull;
	}
	else if (!IsA(point->key, Param) ||
			 !bound_value((Param *) point->key, params, &value, &isnull))
		return -1;
	return shard_index_of_value(point->table, value, isnull);
}
