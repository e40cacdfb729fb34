/*
 * triggered_conflict.c: ON CONFLICT DO UPDATE of tables whose triggers fire here, or that
 * gives rows another value of the distribution column, or values that no shard can
 * compute (functions of users), or would have to compute for each copy (volatile ones).
 *
 * A row is inserted with ON CONFLICT DO NOTHING, once its BEFORE INSERT triggers have
 * been fired. If nothing was inserted, the row that it conflicts with is found and
 * locked,
 *
 *     SELECT row, ctid FROM t WHERE <arbiter column> = $n AND ... FOR UPDATE
 *
 * its new values and the condition are computed by PostgreSQL's own ModifyTable, and it
 * is changed as a row of an UPDATE is. The arbiter's columns hold the distribution
 * column, so both are in one shard.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "pando/base/expr.h"
#include "pando/metadata/firing.h"
#include "pando/plan/deparse.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/write/insert.h"
#include "pando/planner/write/policy_check.h"
#include "pando/planner/write/row_identity.h"
#include "pando/planner/write/target_policy.h"
#include "pando/planner/write/triggered_conflict.h"
#include "pando/planner/write/write_rules.h"

bool
conflict_updates(const Query *query)
{
	return query->onConflict != NULL && query->onConflict->action == ONCONFLICT_UPDATE;
}

static void
refuse(Relation table, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("this ON CONFLICT DO UPDATE is not supported yet for table \"%s\", "
					"whose rows are changed one by one",
					RelationGetRelationName(table)),
			 errdetail("%s.", detail)));
}

static List *
columns_of_constraint(Oid constraint)
{
	HeapTuple tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	List *columns = NIL;
	Datum *numbers;
	int count;
	bool isnull;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "constraint %u does not exist", constraint);
	deconstruct_array(DatumGetArrayTypeP(SysCacheGetAttr(
						  CONSTROID, tuple, Anum_pg_constraint_conkey, &isnull)),
					  INT2OID, sizeof(int16), true, TYPALIGN_SHORT, &numbers, NULL,
					  &count);
	for (int i = 0; i < count; i++)
		columns = lappend_int(columns, DatumGetInt16(numbers[i]));
	ReleaseSysCache(tuple);
	return columns;
}

static bool
has_system_column(Node *expr)
{
	foreach_ptr (Var, var, pull_vars_of_level(expr, 0))
	{
		if (IsA(var, Var) && var->varattno < 0)
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------------------------
 * Values that need subqueries. They are computed by the plan that finds the row which is
 * in the way, where the columns of EXCLUDED are parameters.
 */

typedef struct InFinder
{
	const Query *insert;
	Relation table;
	Index level;
	List *reads;		 /* Oids: tables of subqueries */
	const char *refused; /* why one of them can't be computed so */
} InFinder;

static const char why_row[] = "It has a subquery, and EXCLUDED as a whole row";
static const char why_with[] = "It has a subquery that reads a WITH query";

static Node *
in_finder_mutator(Node *node, void *context)
{
	InFinder *finder = context;
	const OnConflictExpr *conflict = finder->insert->onConflict;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		Query *query = (Query *) node;

		finder->level++;
		foreach_ptr (RangeTblEntry, rte, query->rtable)
		{
			if (rte->rtekind == RTE_CTE && rte->ctelevelsup >= finder->level)
				finder->refused = why_with;
			if (rte->rtekind == RTE_RELATION)
				finder->reads =
					list_append_unique_oid(finder->reads, table_root(rte->relid));
		}
		query = query_tree_mutator(query, in_finder_mutator, context, 0);
		finder->level--;
		return (Node *) query;
	}
	if (IsA(node, Var) && ((Var *) node)->varlevelsup == finder->level &&
		((Var *) node)->varno == conflict->exclRelIndex)
	{
		const Var *var = (const Var *) node;

		if (var->varattno == InvalidAttrNumber)
		{
			finder->refused = why_row;
			return node;
		}
		return (Node *) expr_param(PARAM_EXTERN, var->varattno, var->vartype,
								   var->vartypmod, var->varcollid);
	}
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN)
	{
		Param *param = copyObject((Param *) node);

		param->paramid += TRIGGERED_PARAMS(RelationGetNumberOfAttributes(finder->table));
		return (Node *) param;
	}
	return expression_tree_mutator(node, in_finder_mutator, context);
}

static Node *
in_finder(Node *expr, InFinder *finder)
{
	expr = in_finder_mutator(expr, finder);
	ChangeVarNodes(expr, finder->insert->resultRelation, 1, 0);
	return expr;
}

/* Does an UPDATE of the target change rows of the table, by actions of foreign keys? */
static bool
follows(Oid relid, Oid target, List **seen)
{
	Relation table;
	bool found = false;

	if (list_member_oid(*seen, relid))
		return false;
	*seen = lappend_oid(*seen, relid);
	table = table_open(relid, AccessShareLock);
	foreach_ptr (ForeignKeyCacheInfo, key, RelationGetFKeyList(table))
	{
		Oid referenced = table_root(key->confrelid);

		if (!found && key_has_update_action(key->conoid))
			found = referenced == target || follows(referenced, target, seen);
	}
	table_close(table, AccessShareLock);
	return found;
}

/* A table that follows the target changes with it. */
static List *
with_what_they_follow(List *reads, Oid target)
{
	bool found = false;
	List *seen = NIL;

	foreach_oid(relid, reads) found = found || follows(relid, target, &seen);
	return found ? list_append_unique_oid(reads, target) : reads;
}

List *
conflict_computed(const Query *insert, Relation table, List **reads)
{
	const OnConflictExpr *conflict = insert->onConflict;
	InFinder finder = {.insert = insert, .table = table};
	List *values = NIL;

	if (checkExprHasSubLink(conflict->onConflictWhere))
		values = list_make1(in_finder(conflict->onConflictWhere, &finder));
	foreach_ptr (TargetEntry, entry, conflict->onConflictSet)
	{
		Node *value = (Node *) entry->expr;

		if (!checkExprHasSubLink(value))
			continue;
		value = in_finder(value, &finder);
		/* What WHERE leaves out is not computed. */
		if (conflict->onConflictWhere != NULL)
			value = expr_if(in_finder(conflict->onConflictWhere, &finder), value);
		values = lappend(values, value);
	}
	if (finder.refused != NULL)
		refuse(table, finder.refused);
	*reads = with_what_they_follow(finder.reads, table_root(RelationGetRelid(table)));
	return values;
}

static const char *
why_not_subqueries(const Query *insert)
{
	const OnConflictExpr *conflict = insert->onConflict;

	foreach_ptr (TargetEntry, entry, conflict->onConflictSet)
	{
		if (entry->resjunk)
			return "It assigns several columns from one subquery";
	}
	if (checkExprHasSubLink((Node *) conflict->onConflictSet) &&
		expression_varies(conflict->onConflictWhere))
		return "It has a subquery beside a volatile condition";
	return NULL;
}

/* NULL, or why the row that is in the way can't be found and changed by itself. */
static const char *
why_not(const Query *insert)
{
	const OnConflictExpr *conflict = insert->onConflict;

	if (checkExprHasSubLink((Node *) conflict->onConflictSet) ||
		checkExprHasSubLink(conflict->onConflictWhere))
	{
		const char *why = why_not_subqueries(insert);

		if (why != NULL)
			return why;
	}
	if (has_system_column((Node *) conflict->onConflictSet) ||
		has_system_column(conflict->onConflictWhere))
		return "It has a system column";
	foreach_ptr (InferenceElem, elem, conflict->arbiterElems)
	{
		const Var *var = (const Var *) elem->expr;

		if (!IsA(var, Var) || var->varattno <= 0 || OidIsValid(elem->inferopclass) ||
			OidIsValid(elem->infercollid))
			return "Its arbiter is another than columns";
	}
	return NULL;
}

/* A node that has what the subqueries read can compute it all. */
static bool
conflict_subqueries_go_along(const Query *query)
{
	return conflict_has_sublinks(query) &&
		   !expression_varies((Node *) list_make2(query->onConflict->onConflictSet,
												  query->onConflict->onConflictWhere));
}

bool
conflict_is_computed_here(const Query *query, const DistTable *target)
{
	const OnConflictExpr *conflict = query->onConflict;

	if (!conflict_updates(query) || conflict_subqueries_go_along(query) ||
		(!conflict_is_for_here(query) &&
		 !(table_has_copies(target) &&
		   expression_varies(
			   (Node *) list_make2(conflict->onConflictSet, conflict->onConflictWhere)))))
		return false;
	return why_not(query) == NULL;
}

List *
conflict_columns(const Query *insert, Relation table)
{
	const OnConflictExpr *conflict = insert->onConflict;
	const char *why = why_not(insert);
	List *columns = NIL;

	if (why != NULL)
		refuse(table, why);
	if (OidIsValid(conflict->constraint))
	{
		(void) conflict_index(conflict);
		return columns_of_constraint(conflict->constraint);
	}
	foreach_ptr (InferenceElem, elem, conflict->arbiterElems)
		columns = lappend_int(columns, ((Var *) elem->expr)->varattno);
	return columns;
}

static Node *
column_is_new(Relation table, AttrNumber number)
{
	Form_pg_attribute attr = TupleDescAttr(RelationGetDescr(table), number - 1);
	Var *column =
		makeVar(1, number, attr->atttypid, attr->atttypmod, attr->attcollation, 0);
	Oid equal = lookup_type_cache(attr->atttypid, TYPECACHE_EQ_OPR)->eq_opr;
	Param *value = expr_param(PARAM_EXTERN, number, attr->atttypid, attr->atttypmod,
							  attr->attcollation);
	OpExpr *test =
		(OpExpr *) make_opclause(equal, BOOLOID, false, (Expr *) column, (Expr *) value,
								 InvalidOid, attr->attcollation);

	set_opfuncid(test);
	return (Node *) test;
}

Query *
conflict_update(const Query *insert, Relation table)
{
	Query *update = query_new();
	Node *where = copyObject(insert->onConflict->arbiterWhere);
	List *quals = NIL;

	foreach_int(number, conflict_columns(insert, table)) quals =
		lappend(quals, column_is_new(table, number));
	if (where != NULL)
	{
		ChangeVarNodes(where, insert->resultRelation, 1, 0);
		quals = lappend(quals, where);
	}
	update->commandType = CMD_UPDATE;
	update->resultRelation = 1;
	update->rtable =
		list_make1(copyObject(rt_fetch(insert->resultRelation, insert->rtable)));
	/* In whichever partition. */
	((RangeTblEntry *) linitial(update->rtable))->inh = true;
	update->hasSubLinks = conflict_has_sublinks(insert);
	update->jointree = makeFromExpr(from_one(1)->fromlist, quals_as_node(quals));
	return update;
}

Query *
query_with_conflict_policies(const Query *insert, const Query *given,
							 const DistTable *target, bool *secured)
{
	Query *query = copyObject(unconstify(Query *, insert));
	OnConflictExpr *conflict = query->onConflict;
	Index varno = query->resultRelation;
	Relation table = table_open(target->relid, NoLock);
	Node *check = policy_check(
		given->withCheckOptions, WCO_RLS_CONFLICT_CHECK,
		(Node *) var_of_attribute(varno, target->relid,
								  linitial_int(conflict_columns(insert, table))));

	*secured = check != NULL;
	if (*secured)
	{
		ChangeVarNodes(check, given->resultRelation, varno, 0);
		/* Before the condition, as PostgreSQL does it since 15.20. */
		conflict->onConflictWhere = conflict->onConflictWhere != NULL
										? expr_if(check, conflict->onConflictWhere)
										: check;
		query->hasSubLinks |= checkExprHasSubLink(check);
	}
	table_close(table, NoLock);
	return query;
}

/* The next of the values that were computed, or the expression. */
static Expr *
computed_or_planned(Node *expr, ListCell **computed, const List *params)
{
	Expr *value;

	if (!checkExprHasSubLink(expr))
		return expression_planner((Expr *) expr);
	value = lfirst(*computed);
	*computed = lnext(params, *computed);
	return value;
}

void
conflict_set(ModifyTable *modify, const Query *insert, Index target, const List *computed)
{
	OnConflictExpr *conflict = copyObject(insert->onConflict);
	List *set = conflict->onConflictSet;
	ListCell *next = list_head(computed);

	ChangeVarNodes((Node *) set, conflict->exclRelIndex, INNER_VAR, 0);
	ChangeVarNodes(conflict->onConflictWhere, conflict->exclRelIndex, INNER_VAR, 0);
	ChangeVarNodes((Node *) set, insert->resultRelation, target, 0);
	ChangeVarNodes(conflict->onConflictWhere, insert->resultRelation, target, 0);
	ChangeVarNodes((Node *) conflict->exclRelTlist, conflict->exclRelIndex, target, 0);
	if (conflict->onConflictWhere != NULL)
		modify->onConflictWhere = (Node *) make_ands_implicit(
			computed_or_planned(conflict->onConflictWhere, &next, computed));
	foreach_ptr (TargetEntry, entry, set)
		entry->expr = computed_or_planned((Node *) entry->expr, &next, computed);
	modify->onConflictAction = ONCONFLICT_UPDATE;
	modify->onConflictCols = extract_update_targetlist_colnos(set);
	modify->onConflictSet = set;
	modify->exclRelTlist = conflict->exclRelTlist;
}
