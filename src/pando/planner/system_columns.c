/*
 * system_columns.c: system columns in UPDATE and DELETE.
 *
 * tableoid is the shell table's: a constant for the statement.
 *
 * ctid names a row of one shard, and a row of each other shard as well. What is compared
 * with it must come from the same shard, which holds for rows that are joined there, and
 * for all that a statement of one shard group reads. Nothing else may be compared with
 * it, but for one thing that people write to change some rows at a time:
 *
 *     ctid IN (SELECT ctid FROM the same table ... LIMIT n)
 *
 * and the same with = ANY (ARRAY (SELECT ...)) and = (SELECT ...): there the rows'
 * places, which tell the shard, are compared instead (plan/row_place.h).
 */
#include "pando/compat/compat.h"

#include "access/sysattr.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "pando/plan/row_place.h"
#include "pando/planner/cut.h"
#include "pando/planner/flatten.h"
#include "pando/planner/write.h"

static bool
use_walker(Node *node, void *context)
{
	SystemColumns *use = context;

	if (node == NULL)
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

static bool
is_ctid(Node *node)
{
	return IsA(node, Var) && ((Var *) node)->varattno == SelfItemPointerAttributeNumber;
}

/* ------------------------------------------------------------------------------------
 * Places instead.
 */

/* The output column that is the ctid of that table, of rows as they are; NULL: none. */
static TargetEntry *
ctid_column(Query *query, Oid relid)
{
	TargetEntry *entry = linitial(query->targetList);
	const RangeTblEntry *rte;

	if (query->setOperations != NULL || query->hasAggs || query->groupClause != NIL ||
		query->groupingSets != NIL || query->distinctClause != NIL ||
		entry->ressortgroupref != 0 || !is_ctid((Node *) entry->expr) ||
		((Var *) entry->expr)->varlevelsup != 0)
		return NULL;
	rte = rt_fetch(((Var *) entry->expr)->varno, query->rtable);
	return rte->rtekind == RTE_RELATION && rte->relid == relid ? entry : NULL;
}

/* Does the comparison of ctids become one of places? sublink: where the other comes from.
 */
static bool
compare_places(Query *write, List *args, SubLink *sublink)
{
	Oid target = rt_fetch(write->resultRelation, write->rtable)->relid;
	Var *ctid = linitial(args);
	TargetEntry *entry;

	if (!is_ctid((Node *) ctid) || ctid->varno != write->resultRelation ||
		ctid->varlevelsup != 0)
		return false;
	entry = ctid_column((Query *) sublink->subselect, target);
	if (entry == NULL)
		return false;
	entry->expr = (Expr *) row_place_call(((Var *) entry->expr)->varno);
	linitial(args) = row_place_call(write->resultRelation);
	if (IsA(lsecond(args), Param))
	{
		Param *param = lsecond(args);

		param->paramtype = TEXTOID;
		param->paramcollid = DEFAULT_COLLATION_OID;
	}
	return true;
}

/* Places are texts. */
static void
compare_texts(Oid *operator, Oid * function, Oid *collation)
{
	*operator= TextEqualOperator;
	*function = F_TEXTEQ;
	*collation = C_COLLATION_OID;
}

static bool
places_in_operator(Query *write, OpExpr *test, SubLink *sublink)
{
	if (!IsA(test, OpExpr) || test->opno != TIDEqualOperator || !IsA(sublink, SubLink) ||
		!compare_places(write, test->args, sublink))
		return false;
	compare_texts(&test->opno, &test->opfuncid, &test->inputcollid);
	return true;
}

static bool
places_in_array(Query *write, ScalarArrayOpExpr *test)
{
	SubLink *sublink = lsecond(test->args);

	if (test->opno != TIDEqualOperator || !IsA(sublink, SubLink) ||
		sublink->subLinkType != ARRAY_SUBLINK ||
		!compare_places(write, test->args, sublink))
		return false;
	compare_texts(&test->opno, &test->opfuncid, &test->inputcollid);
	return true;
}

static bool
places_walker(Node *node, void *context)
{
	Query *write = context;

	if (node == NULL || IsA(node, Query))
		return false;
	if (IsA(node, SubLink))
	{
		SubLink *sublink = (SubLink *) node;

		if (sublink->subLinkType == ANY_SUBLINK && sublink->testexpr != NULL &&
			places_in_operator(write, (OpExpr *) sublink->testexpr, sublink))
			return false;
	}
	else if (IsA(node, OpExpr) && list_length(((OpExpr *) node)->args) == 2)
	{
		SubLink *sublink = lsecond(((OpExpr *) node)->args);

		if (IsA(sublink, SubLink) && sublink->subLinkType == EXPR_SUBLINK &&
			places_in_operator(write, (OpExpr *) node, sublink))
			return false;
	}
	else if (IsA(node, ScalarArrayOpExpr) &&
			 places_in_array(write, (ScalarArrayOpExpr *) node))
		return false;
	return expression_tree_walker(node, places_walker, context);
}

void
write_use_places(Query *write)
{
	places_walker((Node *) write->jointree, write);
}

/* ------------------------------------------------------------------------------------
 * What is refused.
 */

/* Does the value depend on rows that are where it is compared? */
static bool
depends_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return true;
	if (IsA(node, SubLink))
		return query_refers_outside((Query *) ((SubLink *) node)->subselect, false);
	return expression_tree_walker(node, depends_walker, context);
}

static bool
contains_ctid(Node *node, void *context)
{
	if (node == NULL || is_row_place(node) || IsA(node, Query))
		return false;
	return is_ctid(node) || expression_tree_walker(node, contains_ctid, context);
}

static bool
from_outside(Node *ctid, Node *value)
{
	return contains_ctid(ctid, NULL) && !depends_walker(value, NULL);
}

/* The arguments of a comparison, if it is one. */
static List *
comparison_arguments(Node *node)
{
	if (IsA(node, OpExpr) || IsA(node, DistinctExpr))
		return ((OpExpr *) node)->args;
	return IsA(node, ScalarArrayOpExpr) ? ((ScalarArrayOpExpr *) node)->args : NIL;
}

/* *context: have rows come from elsewhere? Then all but rows of shards are suspect. */
static bool
outside_walker(Node *node, void *context)
{
	bool strict = *(bool *) context;
	List *args;

	if (node == NULL || is_row_place(node))
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, outside_walker, context,
								 QTW_IGNORE_JOINALIASES);
	if (is_ctid(node))
		return strict;
	args = comparison_arguments(node);
	if (list_length(args) == 2)
	{
		if (is_ctid(linitial(args)) && is_ctid(lsecond(args)))
			return false;
		if (from_outside(linitial(args), lsecond(args)) ||
			from_outside(lsecond(args), linitial(args)))
			return true;
	}
	if (IsA(node, SubLink) && contains_ctid(((SubLink *) node)->testexpr, NULL))
		return strict || !depends_walker((Node *) node, NULL) ||
			   outside_walker(((SubLink *) node)->subselect, context);
	return expression_tree_walker(node, outside_walker, context);
}

void
refuse_ctid_from_outside(Query *write, bool results_are_read)
{
	const RangeTblEntry *rte = rt_fetch(write->resultRelation, write->rtable);

	if (outside_walker((Node *) write->jointree, &results_are_read) ||
		outside_walker((Node *) write->targetList, &results_are_read))
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("a change of table \"%s\" by a ctid from outside of its shards is "
					"not supported",
					get_rel_name(rte->relid)),
			 errdetail("Rows of several shards have the same ctid."),
			 errhint("Name the rows by a key, write ctid IN (SELECT ctid FROM the same "
					 "table ...), or give the distribution column a value.")));
}
