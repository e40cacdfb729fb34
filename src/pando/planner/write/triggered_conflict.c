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

#include "pando/planner/query/from_item.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/write/insert.h"
#include "pando/planner/write/row_identity.h"
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

/* NULL, or why the row that is in the way can't be found and changed by itself. */
static const char *
why_not(const Query *insert, Relation table)
{
	const OnConflictExpr *conflict = insert->onConflict;

	if (table->rd_rel->relrowsecurity)
		return "It has row-level security";
	if (checkExprHasSubLink((Node *) conflict->onConflictSet) ||
		checkExprHasSubLink(conflict->onConflictWhere))
		return "It has a subquery";
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

bool
conflict_is_computed_here(const Query *query, const DistTable *target)
{
	const OnConflictExpr *conflict = query->onConflict;
	Relation table;
	const char *why;

	if (!conflict_updates(query) || rows_have_no_name(target) ||
		(!conflict_is_for_here(query) &&
		 !(table_has_copies(target) &&
		   expression_varies(
			   (Node *) list_make2(conflict->onConflictSet, conflict->onConflictWhere)))))
		return false;
	table = table_open(target->relid, NoLock);
	why = why_not(query, table);
	table_close(table, NoLock);
	return why == NULL;
}

List *
conflict_columns(const Query *insert, Relation table)
{
	const OnConflictExpr *conflict = insert->onConflict;
	const char *why = why_not(insert, table);
	List *columns = NIL;

	if (why != NULL)
		refuse(table, why);
	if (OidIsValid(conflict->constraint))
		return columns_of_constraint(conflict->constraint);
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
	Param *value = makeNode(Param);
	OpExpr *test;

	value->paramkind = PARAM_EXTERN;
	value->paramid = number;
	value->paramtype = attr->atttypid;
	value->paramtypmod = attr->atttypmod;
	value->paramcollid = attr->attcollation;
	value->location = -1;
	test = (OpExpr *) make_opclause(equal, BOOLOID, false, (Expr *) column,
									(Expr *) value, InvalidOid, attr->attcollation);
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
	update->jointree = makeFromExpr(from_one(1)->fromlist, quals_as_node(quals));
	return update;
}

void
conflict_set(ModifyTable *modify, const Query *insert, Index target)
{
	OnConflictExpr *conflict = copyObject(insert->onConflict);
	List *set = conflict->onConflictSet;

	ChangeVarNodes((Node *) set, conflict->exclRelIndex, INNER_VAR, 0);
	ChangeVarNodes(conflict->onConflictWhere, conflict->exclRelIndex, INNER_VAR, 0);
	ChangeVarNodes((Node *) set, insert->resultRelation, target, 0);
	ChangeVarNodes(conflict->onConflictWhere, insert->resultRelation, target, 0);
	ChangeVarNodes((Node *) conflict->exclRelTlist, conflict->exclRelIndex, target, 0);
	foreach_ptr (TargetEntry, entry, set)
		entry->expr = expression_planner(entry->expr);
	modify->onConflictAction = ONCONFLICT_UPDATE;
	modify->onConflictCols = extract_update_targetlist_colnos(set);
	modify->onConflictSet = set;
	if (conflict->onConflictWhere != NULL)
		modify->onConflictWhere = (Node *) make_ands_implicit(
			expression_planner((Expr *) conflict->onConflictWhere));
	modify->exclRelTlist = conflict->exclRelTlist;
}
