/*
 * row_ctid.c: a ctid names one row of a distributed table, a tableoid its partition.
 *
 * Each shard numbers its rows by itself, so that rows of several shards have the same
 * ctid. To the client and to all that a statement does with it a ctid is what
 * pando.row_ctid() makes of that number and the shard: block * shards + position of the
 * shard. It is evaluated on the shard, in a subquery that stands for the table:
 *
 *     FROM t  ->  FROM (SELECT ..., pando.row_ctid(tableoid, ctid) AS ctid FROM t) t
 *
 * The target of a write, and a table whose rows are locked, can't be a subquery; what
 * reads them has the call in place of the column.
 *
 * A row that is looked for by its ctid is looked for by that in its shard as well, for
 * which PostgreSQL has TID scans:
 *
 *     ctid = value  ->  pando.row_ctid(tableoid, ctid) = value
 *                       AND ctid = pando.shard_ctid(value, shards)
 *
 *     ctid IN (SELECT c ...)  ->  (pando.row_ctid(tableoid, ctid), ctid) IN
 *                                 (SELECT c, pando.shard_ctid(c, shards) ...)
 *
 * The tableoid of a partitioned table's row is that of the partition's shell on this
 * node: pando.row_tableoid() finds it on the shard, in a list that the call has with it.
 * So it is a value like others on whichever node. Of any other table it is one value,
 * known here.
 */
#include "pando/compat/compat.h"

#include "access/sysattr.h"
#include "catalog/pg_class.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "pando/compat/rights.h"
#include "pando/base/expr.h"
#include "pando/metadata/table.h"
#include "pando/plan/row_place.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/query/each_level.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/where/relation_query.h"
#include "pando/planner/where/row_ctid.h"

/* A table of one query level. */
typedef struct Rows
{
	Index varno;
	Index depth; /* levels between */
	int nshards; /* 1: the ctid is the shard's */
	Oid parent;	 /* the partitioned table; 0: the tableoid is one */
} Rows;

static bool
has_ctid(const Bitmapset *columns)
{
	return bms_is_member(
		SelfItemPointerAttributeNumber - FirstLowInvalidHeapAttributeNumber, columns);
}

static bool
has_oid(const Bitmapset *columns)
{
	return bms_is_member(TableOidAttributeNumber - FirstLowInvalidHeapAttributeNumber,
						 columns);
}

static bool
has_tableoid(const RangeTblEntry *rte)
{
	return rte->relkind == RELKIND_PARTITIONED_TABLE &&
		   has_oid(entry_rights(rte)->selectedCols);
}

bool
relation_ctid_is_used(const RangeTblEntry *rte)
{
	return has_ctid(entry_rights(rte)->selectedCols);
}

bool
relation_place_is_used(const RangeTblEntry *rte, const DistTable *table)
{
	return (table->nshards > 1 && relation_ctid_is_used(rte)) || has_tableoid(rte);
}

static bool
is_column(Node *node, const Rows *rows, AttrNumber number)
{
	const Var *var = (const Var *) node;

	return IsA(node, Var) && var->varattno == number && var->varno == rows->varno &&
		   var->varlevelsup == rows->depth;
}

static bool
is_ctid(Node *node, const Rows *rows)
{
	return rows->nshards > 1 && is_column(node, rows, SelfItemPointerAttributeNumber);
}

static bool
is_tableoid(Node *node, const Rows *rows)
{
	return OidIsValid(rows->parent) && is_column(node, rows, TableOidAttributeNumber);
}

/* 'partition'::regclass as an Oid, which shards can compare; NULL: the node is none. */
static Node *
named_oid(Node *node, const Rows *rows)
{
	const RelabelType *cast = (const RelabelType *) node;
	const Const *name;

	if (!OidIsValid(rows->parent) || !IsA(node, RelabelType) ||
		cast->resulttype != OIDOID || !IsA(cast->arg, Const))
		return NULL;
	name = (const Const *) cast->arg;
	if (name->consttype != REGCLASSOID || name->constisnull)
		return NULL;
	return (Node *) makeConst(OIDOID, -1, InvalidOid, sizeof(Oid), name->constvalue,
							  false, true);
}

/* Can the value of a comparison be evaluated once more, in plain text? */
static bool
varies_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return IsA(node, SubLink) ||
		   (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_SUBLINK) ||
		   expression_tree_walker(node, varies_walker, context);
}

static bool
can_be_repeated(Node *value)
{
	return !varies_walker(value, NULL) && !expression_varies(value);
}

/* The same test of the ctid in the shard; NULL: the node is no test for equality. */
static Node *
test_in_shard(Node *node, const Rows *rows)
{
	ScalarArrayOpExpr *any;
	Node *ctid;
	Node *value;

	if (IsA(node, OpExpr) && ((OpExpr *) node)->opno == TIDEqualOperator)
	{
		ctid = linitial(((OpExpr *) node)->args);
		value = lsecond(((OpExpr *) node)->args);
		if (!is_ctid(ctid, rows))
		{
			Node *swap = ctid;

			ctid = value;
			value = swap;
		}
		if (!is_ctid(ctid, rows) || !can_be_repeated(value))
			return NULL;
		return (Node *) make_opclause(
			TIDEqualOperator, BOOLOID, false, copyObject((Expr *) ctid),
			(Expr *) shard_ctid_call(value, rows->nshards), InvalidOid, InvalidOid);
	}
	any = (ScalarArrayOpExpr *) node;
	if (!IsA(node, ScalarArrayOpExpr) || any->opno != TIDEqualOperator || !any->useOr ||
		!is_ctid(linitial(any->args), rows) || !can_be_repeated(lsecond(any->args)))
		return NULL;
	any = copyObject(any);
	lsecond(any->args) = shard_ctid_call(lsecond(any->args), rows->nshards);
	return (Node *) any;
}

/* ctid IN (SELECT ...): the subquery can give the ctid in the shard as well. */
static bool
is_found_by(Node *node, const Rows *rows)
{
	SubLink *sublink = (SubLink *) node;
	OpExpr *test;
	Query *query;

	if (!IsA(node, SubLink) || sublink->subLinkType != ANY_SUBLINK)
		return false;
	test = (OpExpr *) sublink->testexpr;
	query = (Query *) sublink->subselect;
	return IsA(test, OpExpr) && test->opno == TIDEqualOperator &&
		   is_ctid(linitial(test->args), rows) && query->setOperations == NULL &&
		   query->distinctClause == NIL && !query->hasTargetSRFs &&
		   !expression_varies((Node *) query->targetList);
}

static void
test_place_too(SubLink *sublink, const Rows *rows)
{
	Query *query = (Query *) sublink->subselect;
	TargetEntry *given = linitial(query->targetList);
	Node *place = shard_ctid_call((Node *) given->expr, rows->nshards);
	Expr *ctid = (Expr *) makeVar(rows->varno, SelfItemPointerAttributeNumber, TIDOID, -1,
								  InvalidOid, rows->depth);
	AttrNumber number = 0;

	query->targetList =
		list_insert_nth(query->targetList, 1,
						makeTargetEntry((Expr *) place, 2, pstrdup("place"), false));
	foreach_ptr (TargetEntry, entry, query->targetList)
		entry->resno = ++number;
	sublink->testexpr = (Node *) makeBoolExpr(
		AND_EXPR,
		list_make2(sublink->testexpr,
				   make_opclause(TIDEqualOperator, BOOLOID, false, ctid,
								 (Expr *) expr_sublink_param(2, place), InvalidOid,
								 InvalidOid)),
		-1);
}

static Node *
place_mutator(Node *node, Rows *rows)
{
	Node *result;
	Node *test;

	if (node == NULL || is_shard_call(node))
		return node;
	if (is_ctid(node, rows))
		return row_ctid_call(rows->varno, rows->depth);
	if (is_tableoid(node, rows))
		return row_tableoid_call(rows->varno, rows->depth, rows->parent);
	result = named_oid(node, rows);
	if (result != NULL)
		return result;
	if (IsA(node, Query))
	{
		rows->depth++;
		result = (Node *) query_tree_mutator((Query *) node, place_mutator, rows,
											 QTW_IGNORE_JOINALIASES);
		rows->depth--;
		return result;
	}
	test = test_in_shard(node, rows);
	result = expression_tree_mutator(node, place_mutator, rows);
	if (is_found_by(node, rows))
		test_place_too((SubLink *) result, rows);
	return test == NULL ? result
						: (Node *) makeBoolExpr(AND_EXPR, list_make2(result, test), -1);
}

/* The table in a subquery, with those filters alone that look for a row's place. */
static Query *
table_in_subquery(Query *level, Index varno)
{
	Query *query = relation_become_subquery(level, varno);
	List *kept = NIL;

	foreach_ptr (Node, qual, make_ands_implicit((Expr *) query->jointree->quals))
	{
		Bitmapset *columns = NULL;

		pull_varattnos(qual, 1, &columns);
		if (has_ctid(columns) || has_oid(columns))
			kept = lappend(kept, qual);
	}
	query->jointree->quals = quals_as_node(kept);
	return query;
}

/* A table of the level, if its shards' system columns aren't the table's. */
static void
give_row_places(Query *level, Index varno)
{
	const RangeTblEntry *rte = rt_fetch(varno, level->rtable);
	const DistTable *table;
	Rows rows = {.varno = varno};

	if (rte->rtekind != RTE_RELATION)
		return;
	table = dist_table(rte->relid);
	if (table == NULL || !relation_place_is_used(rte, table))
		return;
	rows.nshards = table->nshards;
	if (has_tableoid(rte))
		rows.parent = rte->relid;
	if (varno != (Index) level->resultRelation && get_parse_rowmark(level, varno) == NULL)
	{
		level = table_in_subquery(level, varno);
		rows.varno = 1;
	}
	query_tree_mutator(level, place_mutator, &rows,
					   QTW_DONT_COPY_QUERY | QTW_IGNORE_JOINALIASES);
}

static bool
give_in_level(Query *level, void *context)
{
	int ntables = list_length(level->rtable);

	for (int varno = 1; varno <= ntables; varno++)
		give_row_places(level, varno);
	level_join_columns_refresh(level);
	return false;
}

Query *
query_with_row_places(Query *query)
{
	query = query_without_join_columns(query);
	(void) query_each_level_inner_first(query, give_in_level, NULL);
	return query;
}
