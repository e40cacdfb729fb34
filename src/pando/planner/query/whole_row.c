/*
 * whole_row.c: rows as values in RETURNING.
 *
 * `RETURNING to_jsonb(t)` means a value of the table's row type; on a shard the same text
 * is a value of the shard's. So the row is written out: ROW(t.a, t.b)::t, with the type
 * of the shell table, which every node has.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/rel.h"

#include "pando/base/expr.h"
#include "pando/planner/query/whole_row.h"

typedef struct WrittenOut
{
	int varno;
	Index depth;
	TupleDesc desc; /* of the relation with that number */
} WrittenOut;

/* A dropped column has its place in a row of a named type. */
static Expr *
column_value(const WrittenOut *out, const Var *row, Form_pg_attribute attr)
{
	if (attr->attisdropped)
		return (Expr *) makeNullConst(INT4OID, -1, InvalidOid);
	return (Expr *) makeVar(row->varno, attr->attnum, attr->atttypid, attr->atttypmod,
							attr->attcollation, row->varlevelsup);
}

static Node *
write_out(const WrittenOut *out, const Var *var)
{
	RowExpr *row = makeNode(RowExpr);

	for (int i = 0; i < out->desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(out->desc, i);

		row->args = lappend(row->args, column_value(out, var, attr));
		row->colnames =
			lappend(row->colnames, makeString(pstrdup(NameStr(attr->attname))));
	}
	row->row_typeid = var->vartype;
	row->row_format = COERCE_EXPLICIT_CAST;
	row->location = -1;
	return expr_row(row);
}

static Node *
whole_row_mutator(Node *node, void *context)
{
	WrittenOut *out = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var *var = (Var *) node;

		if (var->varno == out->varno && var->varlevelsup == out->depth &&
			var->varattno == InvalidAttrNumber && var->vartype != RECORDOID)
			return write_out(out, var);
	}
	/* PostgreSQL would count the places of dropped columns as NULLs. */
	if (IsA(node, NullTest) && IsA(((NullTest *) node)->arg, Var))
		return copyObject(node);
	if (IsA(node, Query))
	{
		Query *query;

		out->depth++;
		query = query_tree_mutator((Query *) node, whole_row_mutator, context, 0);
		out->depth--;
		return (Node *) query;
	}
	return expression_tree_mutator(node, whole_row_mutator, context);
}

Query *
query_with_rows_written_out(Query *query)
{
	WrittenOut out = {.varno = query->resultRelation};
	Relation relation;
	Query *copy;

	if (query->returningList == NIL)
		return query;
	relation = table_open(rt_fetch(query->resultRelation, query->rtable)->relid, NoLock);
	out.desc = RelationGetDescr(relation);
	copy = palloc(sizeof(Query));
	*copy = *query;
	copy->returningList = (List *) whole_row_mutator((Node *) query->returningList, &out);
	table_close(relation, NoLock);
	return copy;
}
