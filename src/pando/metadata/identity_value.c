/*
 * identity_value.c: see identity_value.h.
 *
 * The core has a node of its own for the next value of an identity column, NextValueExpr,
 * which asks for no right on the sequence. pando.sequence_next() asks for the right to
 * insert rows instead.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "parser/parse_func.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "pando/metadata/identity_value.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"

FormData_pg_sequence
sequence_form(Oid seqid)
{
	FormData_pg_sequence form;
	HeapTuple tuple = SearchSysCache1(SEQRELID, ObjectIdGetDatum(seqid));

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("relation with OID %u is not a sequence", seqid)));
	form = *(Form_pg_sequence) GETSTRUCT(tuple);
	ReleaseSysCache(tuple);
	return form;
}

Oid
sequence_identity_table(Oid seqid)
{
	Oid relid;
	int32 attnum;

	return sequenceIsOwned(seqid, DEPENDENCY_INTERNAL, &relid, &attnum) ? relid
																		: InvalidOid;
}

static bool
is_coordinators(const NextValueExpr *next)
{
	FormData_pg_sequence form = sequence_form(next->seqid);
	const DistTable *table;
	Oid relid;

	if (form.seqtypid == INT8OID &&
		form.seqmin == SEQUENCE_RANGE_FIRST(node_local_group()))
		return false;
	relid = sequence_identity_table(next->seqid);
	table = OidIsValid(relid) ? dist_table(relid) : NULL;
	return table != NULL && !table->managed_local;
}

static bool
find_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, NextValueExpr))
		return is_coordinators((NextValueExpr *) node);
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, find_walker, context, 0);
	return expression_tree_walker(node, find_walker, context);
}

/* pando.sequence_next(sequence), as a value of the column's type */
static Node *
ask_coordinator(const NextValueExpr *next)
{
	Oid types[] = {REGCLASSOID};
	Oid function = LookupFuncName(
		list_make2(makeString("pando"), makeString("sequence_next")), 1, types, false);
	Node *seq = (Node *) makeConst(REGCLASSOID, -1, InvalidOid, sizeof(Oid),
								   ObjectIdGetDatum(next->seqid), false, true);
	Node *value = (Node *) makeFuncExpr(function, INT8OID, list_make1(seq), InvalidOid,
										InvalidOid, COERCE_EXPLICIT_CALL);

	return coerce_to_target_type(NULL, value, INT8OID, next->typeId, -1,
								 COERCION_ASSIGNMENT, COERCE_IMPLICIT_CAST, -1);
}

static Node *
value_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, NextValueExpr) && is_coordinators((NextValueExpr *) node))
		return ask_coordinator((NextValueExpr *) node);
	if (IsA(node, Query))
		return (Node *) query_tree_mutator((Query *) node, value_mutator, context, 0);
	return expression_tree_mutator(node, value_mutator, context);
}

Node *
identity_values_from_coordinator(Node *node)
{
	if (node == NULL || node_is_coordinator() || !find_walker(node, NULL))
		return node;
	return value_mutator(node, NULL);
}
