/*
 * row_identity.c: which row of a table it is, as values.
 */
#include "pando/compat/compat.h"

#include "access/genam.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_func.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "pando/base/literal.h"
#include "pando/plan/row_place.h"
#include "pando/planner/write/write_rules.h"
#include "pando/planner/write/row_identity.h"

List *
primary_key(Oid relid)
{
	Relation relation = table_open(relid, NoLock);
	Oid index;
	List *columns = NIL;

	RelationGetIndexList(relation);
	index = relation->rd_pkindex;
	if (OidIsValid(index))
	{
		Relation key = index_open(index, AccessShareLock);

		for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(key); i++)
			columns = lappend_int(columns, key->rd_index->indkey.values[i]);
		index_close(key, AccessShareLock);
	}
	table_close(relation, NoLock);
	return columns;
}

Var *
var_of_attribute(Index varno, Oid relid, AttrNumber number)
{
	Oid type;
	int32 typmod;
	Oid collation;

	get_atttypetypmodcoll(relid, number, &type, &typmod, &collation);
	return makeVar(varno, number, type, typmod, collation, 0);
}

bool
rows_have_no_name(const DistTable *table)
{
	return table_has_copies(table) && primary_key(table->relid) == NIL;
}

Node *
row_line(Index varno, Oid relid)
{
	Oid types[] = {RECORDOID};
	Oid function = LookupFuncName(list_make2(makeString("pando"), makeString("row_line")),
								  1, types, false);
	Relation relation = table_open(relid, NoLock);
	TupleDesc desc = RelationGetDescr(relation);
	RowExpr *row = makeNode(RowExpr);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);

		if (attr->attisdropped)
			continue;
		row->args = lappend(row->args, var_of_attribute(varno, relid, attr->attnum));
		row->colnames =
			lappend(row->colnames, makeString(psprintf("f%d", list_length(row->args))));
	}
	table_close(relation, NoLock);
	row->row_typeid = RECORDOID;
	row->row_format = COERCE_EXPLICIT_CALL;
	row->location = -1;
	return (Node *) makeFuncExpr(function, TEXTOID, list_make1(row), C_COLLATION_OID,
								 InvalidOid, COERCE_EXPLICIT_CALL);
}

PG_FUNCTION_INFO_V1(row_line_of);

/* pando.row_line(row): its text, which no setting of the session changes. */
Datum
row_line_of(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(literal_text(PG_GETARG_DATUM(0), false, RECORDOID)));
}

List *
row_identity(const DistTable *table, Index varno)
{
	List *exprs = NIL;

	if (rows_have_no_name(table))
		return list_make1(row_place_call(varno));
	if (!table_has_copies(table))
	{
		exprs = list_make1(row_ctid_call(varno, 0));
		if (get_rel_relkind(table->relid) == RELKIND_PARTITIONED_TABLE)
			exprs = lappend(exprs, row_place_call(varno));
		return exprs;
	}
	foreach_int(number, primary_key(table->relid)) exprs =
		lappend(exprs, var_of_attribute(varno, table->relid, number));
	return exprs;
}

Node *
same_value(Node *a, Node *b)
{
	Oid equal = lookup_type_cache(exprType(a), TYPECACHE_EQ_OPR)->eq_opr;
	OpExpr *test = (OpExpr *) make_opclause(equal, BOOLOID, false, (Expr *) a, (Expr *) b,
											InvalidOid, exprCollation(a));

	set_opfuncid(test);
	return (Node *) test;
}

List *
row_is(const DistTable *table, Index varno, List *values)
{
	List *quals = NIL;
	ListCell *expr;
	ListCell *value;

	forboth(expr, row_identity(table, varno), value, values) quals =
		lappend(quals, same_value(lfirst(expr), lfirst(value)));
	/* PostgreSQL can look for this one in each shard. */
	if (!table_has_copies(table))
		quals = lappend(quals,
						same_value((Node *) makeVar(varno, SelfItemPointerAttributeNumber,
													TIDOID, -1, InvalidOid, 0),
								   shard_ctid_call(linitial(values), table->nshards)));
	return quals;
}
