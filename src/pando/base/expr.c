/*
 * expr.c: small expressions that several modules make.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "pando/base/expr.h"

Node *
expr_if(Node *condition, Node *value)
{
	CaseExpr *choice = makeNode(CaseExpr);
	CaseWhen *when = makeNode(CaseWhen);

	when->expr = (Expr *) condition;
	when->result = (Expr *) value;
	when->location = -1;
	choice->casetype = exprType(value);
	choice->casecollid = exprCollation(value);
	choice->args = list_make1(when);
	choice->defresult = (Expr *) makeNullConst(choice->casetype, -1, choice->casecollid);
	choice->location = -1;
	return (Node *) choice;
}

/* The only element of an array: text says the same, and nobody sees through it. */
static Node *
hidden(Node *value, Oid array_type)
{
	ArrayExpr *array = makeNode(ArrayExpr);
	SubscriptingRef *element = makeNode(SubscriptingRef);

	array->array_typeid = array_type;
	array->element_typeid = exprType(value);
	array->elements = list_make1(value);
	array->location = -1;
	element->refcontainertype = array_type;
	element->refelemtype = element->refrestype = array->element_typeid;
	element->reftypmod = -1;
	element->refupperindexpr = list_make1(
		makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(1), false, true));
	element->refexpr = (Expr *) array;
	return (Node *) element;
}

Node *
expr_row(RowExpr *row)
{
	Oid array_type =
		row->row_typeid != RECORDOID ? get_array_type(row->row_typeid) : InvalidOid;

	foreach_ptr (Node, field, row->args)
	{
		if (IsA(field, Const) && OidIsValid(array_type))
			return hidden((Node *) row, array_type);
	}
	return (Node *) row;
}

Param *
expr_param(ParamKind kind, int number, Oid type, int32 typmod, Oid collation)
{
	Param *param = makeNode(Param);

	param->paramkind = kind;
	param->paramid = number;
	param->paramtype = type;
	param->paramtypmod = typmod;
	param->paramcollid = collation;
	param->location = -1;
	return param;
}

Param *
expr_sublink_param(int column, Node *expr)
{
	return expr_param(PARAM_SUBLINK, column, exprType(expr), exprTypmod(expr),
					  exprCollation(expr));
}

Node *
expr_is_not_null(Node *expr)
{
	NullTest *test = makeNode(NullTest);

	test->arg = (Expr *) expr;
	test->nulltesttype = IS_NOT_NULL;
	test->location = -1;
	return (Node *) test;
}

Node *
expr_widened_integer(const Expr *expr)
{
	const FuncExpr *cast = (const FuncExpr *) expr;

	return IsA(expr, FuncExpr) &&
				   (cast->funcid == F_INT8_INT4 || cast->funcid == F_INT8_INT2 ||
					cast->funcid == F_INT4_INT2)
			   ? linitial(cast->args)
			   : NULL;
}

static Datum
widen(Datum value, Oid cast)
{
	if (cast == F_INT8_INT4)
		return Int64GetDatum(DatumGetInt32(value));
	if (cast == F_INT8_INT2)
		return Int64GetDatum(DatumGetInt16(value));
	return Int32GetDatum(DatumGetInt16(value));
}

static Datum
param_value(const Param *param, ParamListInfo params, bool *isnull)
{
	ParamExternData *value = NULL;
	ParamExternData fetched;

	if (params != NULL && param->paramid > 0 && param->paramid <= params->numParams)
		value = params->paramFetch != NULL
					? params->paramFetch(params, param->paramid, false, &fetched)
					: &params->params[param->paramid - 1];
	if (value == NULL || !OidIsValid(value->ptype))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("no value found for parameter %d", param->paramid)));
	if (value->ptype != param->paramtype)
		ereport(
			ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("type of parameter %d (%s) does not match that when preparing the "
					"plan (%s)",
					param->paramid, format_type_be(value->ptype),
					format_type_be(param->paramtype))));
	*isnull = value->isnull;
	return value->value;
}

bool
expr_value(const Expr *expr, ParamListInfo params, Datum *value, bool *isnull)
{
	const Expr *narrow = (const Expr *) expr_widened_integer(expr);

	if (narrow != NULL)
	{
		if (!expr_value(narrow, params, value, isnull))
			return false;
		*value = widen(*value, ((const FuncExpr *) expr)->funcid);
		return true;
	}
	if (IsA(expr, Param) && ((const Param *) expr)->paramkind == PARAM_EXTERN)
		*value = param_value((const Param *) expr, params, isnull);
	else if (IsA(expr, Const))
	{
		*isnull = ((const Const *) expr)->constisnull;
		*value = ((const Const *) expr)->constvalue;
	}
	else
		return false;
	return true;
}
