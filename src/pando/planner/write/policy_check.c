/*
 * policy_check.c: what policies ask of rows that shards don't ask.
 *
 * A shard checks the policies of the change that it makes. To it a row that moves is one
 * that is deleted, or inserted, of which other policies know; so that is done as the
 * table's owner (key_change.c), and the checks of UPDATE are made here, before anything
 * changes, by an expression that raises the error. So are those of the row that is in the
 * way of an ON CONFLICT DO UPDATE which is computed here, and of the rows that a MERGE
 * changes whose actions are chosen here: they are found as the owner.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "parser/parse_func.h"
#include "utils/builtins.h"

#include "pando/planner/write/policy_check.h"

PG_FUNCTION_INFO_V1(refuse_secured_row);

/* refuse_secured_row("row" text, "table" text, policy text, "column" "any") returns
 * boolean: 42501. row: "new" or "target"; policy: what the message says of it, or NULL.
 */
Datum
refuse_secured_row(PG_FUNCTION_ARGS)
{
	char *row = PG_ARGISNULL(0) ? "" : text_to_cstring(PG_GETARG_TEXT_PP(0));
	char *table = PG_ARGISNULL(1) ? "" : text_to_cstring(PG_GETARG_TEXT_PP(1));
	char *policy =
		PG_ARGISNULL(2) ? "" : psprintf(" %s", text_to_cstring(PG_GETARG_TEXT_PP(2)));

	ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					errmsg("%s row violates row-level security policy%s for table \"%s\"",
						   row, policy, table)));
}

static Const *
text_const(const char *text)
{
	return makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
					 text != NULL ? CStringGetTextDatum(text) : (Datum) 0, text == NULL,
					 false);
}

static bool
is_of_target(WCOKind kind)
{
	return kind == WCO_RLS_MERGE_UPDATE_CHECK || kind == WCO_RLS_MERGE_DELETE_CHECK;
}

static char *
words_of_policy(const WithCheckOption *option)
{
	const char *using =
		option->kind == WCO_RLS_CONFLICT_CHECK || is_of_target(option->kind)
			? "(USING expression)"
			: NULL;

	if (option->polname == NULL)
		return using ? pstrdup(using) : NULL;
	return psprintf("\"%s\"%s%s", option->polname, using ? " " : "", using ? using : "");
}

/* Called with something of the row, so that it is no constant. */
static Expr *
refusal(const WithCheckOption *option, Node *of_row)
{
	Oid types[] = {TEXTOID, TEXTOID, TEXTOID, ANYOID};
	Oid function =
		LookupFuncName(list_make2(makeString("pando"), makeString("refuse_secured_row")),
					   4, types, false);

	return (Expr *) makeFuncExpr(
		function, BOOLOID,
		list_make4(text_const(is_of_target(option->kind) ? "target" : "new"),
				   text_const(option->relname), text_const(words_of_policy(option)),
				   of_row),
		InvalidOid, DEFAULT_COLLATION_OID, COERCE_EXPLICIT_CALL);
}

static CaseWhen *
refused_unless(const WithCheckOption *option, Node *of_row)
{
	CaseWhen *when = makeNode(CaseWhen);
	BooleanTest *test = makeNode(BooleanTest);

	test->arg = copyObject((Expr *) option->qual);
	test->booltesttype = IS_NOT_TRUE;
	test->location = -1;
	when->expr = (Expr *) test;
	when->result = refusal(option, of_row);
	when->location = -1;
	return when;
}

List *
policy_options(List *options, WCOKind kind)
{
	List *policies = NIL;

	foreach_ptr (WithCheckOption, option, options)
	{
		if (option->kind == kind)
			policies = lappend(policies, option);
	}
	return policies;
}

Node *
policy_check(List *options, WCOKind kind, Node *of_row)
{
	CaseExpr *choice = makeNode(CaseExpr);

	foreach_ptr (WithCheckOption, option, policy_options(options, kind))
		choice->args = lappend(choice->args, refused_unless(option, of_row));
	choice->casetype = BOOLOID;
	choice->defresult = (Expr *) makeBoolConst(true, false);
	choice->location = -1;
	return choice->args != NIL ? (Node *) choice : NULL;
}
