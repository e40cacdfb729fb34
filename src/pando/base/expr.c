/*
 * expr.c: small expressions that several modules make.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

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

Param *
expr_sublink_param(int column, Node *expr)
{
	Param *param = makeNode(Param);

	param->paramkind = PARAM_SUBLINK;
	param->paramid = column;
	param->paramtype = exprType(expr);
	param->paramtypmod = exprTypmod(expr);
	param->paramcollid = exprCollation(expr);
	param->location = -1;
	return param;
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
