/*
 * view_check.c: what views ask of the rows that are written through them.
 *
 * PostgreSQL keeps it beside the statement, in withCheckOptions, where no text can say
 * it. On shards it is said by expressions that raise the error:
 *
 *   WITH CHECK OPTION   RETURNING sees each row as it was written. Its first column
 * becomes CASE WHEN check IS NOT TRUE THEN refusal ELSE column END, and a statement
 * without RETURNING gets one, whose rows nobody reads. ON CONFLICT         The row that
 * DO UPDATE meets must be one that the view shows, in those releases that check it: the
 * condition of DO UPDATE becomes CASE WHEN check IS NOT TRUE THEN refusal ELSE condition
 * END.
 *
 * A check that no shard can evaluate is RETURNING's, and so computed here (returning.c).
 * The checks of policies are the shards' own (target_policy.c), but of rows that move
 * (policy_check.c).
 */
#include "pando/compat/compat.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_func.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"

#include "pando/base/expr.h"
#include "pando/metadata/table.h"
#include "pando/planner/write/view_check.h"

/* A column's length in the detail of an error, as PostgreSQL has it. */
#define MAX_SHOWN 64

PG_FUNCTION_INFO_V1(refuse_hidden_row);
PG_FUNCTION_INFO_V1(refuse_written_row);

/* ------------------------------------------------------------------------------------
 * Refusals, called on shards.
 */

/* The target's columns that are there. */
static List *
columns_of_target(const Query *query)
{
	RangeTblEntry *rte = rt_fetch(query->resultRelation, query->rtable);
	List *columns = NIL;

	for (AttrNumber column = 1; column <= list_length(rte->eref->colnames); column++)
	{
		Oid type;
		Oid collation;
		int32 typmod;

		if (get_rte_attribute_is_dropped(rte, column))
			continue;
		get_atttypetypmodcoll(rte->relid, column, &type, &typmod, &collation);
		columns = lappend(
			columns, makeVar(query->resultRelation, column, type, typmod, collation, 0));
	}
	return columns;
}

/* pando.`function`(view, columns): it raises the error. */
static Expr *
refusal(const char *function, const char *view, List *columns)
{
	Oid any[] = {InvalidOid};
	Oid id = LookupFuncName(
		list_make2(makeString("pando"), makeString(pstrdup(function))), -1, any, false);
	Const *name = makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
							CStringGetTextDatum(view), false, false);
	FuncExpr *call = makeFuncExpr(id, BOOLOID, lcons(name, columns), InvalidOid,
								  DEFAULT_COLLATION_OID, COERCE_EXPLICIT_CALL);

	return (Expr *) call;
}

/* refuse_hidden_row(view text, column "any") returns boolean: 55000 */
Datum
refuse_hidden_row(PG_FUNCTION_ARGS)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("conflicting row is not visible through view \"%s\"",
					PG_ARGISNULL(0) ? "" : text_to_cstring(PG_GETARG_TEXT_PP(0)))));
}

/* "(1, null, text)", long values cut as in PostgreSQL's own details. */
static char *
shown_row(FunctionCallInfo fcinfo)
{
	StringInfoData row;

	initStringInfo(&row);
	for (int i = 2; i < PG_NARGS(); i++)
	{
		Oid output;
		bool varlena;
		char *value = "null";
		int length;

		if (!PG_ARGISNULL(i))
		{
			getTypeOutputInfo(get_fn_expr_argtype(fcinfo->flinfo, i), &output, &varlena);
			value = OidOutputFunctionCall(output, PG_GETARG_DATUM(i));
		}
		length = strlen(value);
		appendStringInfoString(&row, i == 2 ? "(" : ", ");
		if (length <= MAX_SHOWN)
			appendStringInfoString(&row, value);
		else
		{
			length = pg_mbcliplen(value, length, MAX_SHOWN);
			appendStringInfo(&row, "%.*s...", length, value);
		}
	}
	appendStringInfoChar(&row, ')');
	return row.data;
}

/* refuse_written_row(view text, shown boolean, VARIADIC columns "any") returns boolean:
 * 44000 */
Datum
refuse_written_row(PG_FUNCTION_ARGS)
{
	bool shown = !PG_ARGISNULL(1) && PG_GETARG_BOOL(1);

	ereport(ERROR,
			(errcode(ERRCODE_WITH_CHECK_OPTION_VIOLATION),
			 errmsg("new row violates check option for view \"%s\"",
					PG_ARGISNULL(0) ? "" : text_to_cstring(PG_GETARG_TEXT_PP(0))),
			 shown ? errdetail("Failing row contains %s.", shown_row(fcinfo)) : 0));
}

/* May the detail of an error show all columns to the user? As PostgreSQL decides it. */
static bool
user_may_see(Oid relid)
{
	return check_enable_rls(relid, InvalidOid, true) != RLS_ENABLED &&
		   pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK;
}

/* ------------------------------------------------------------------------------------
 * The statement.
 */

static CaseWhen *
when_then(Expr *condition, Expr *result)
{
	CaseWhen *when = makeNode(CaseWhen);

	when->expr = condition;
	when->result = result;
	when->location = -1;
	return when;
}

static CaseWhen *
when_not_true(const WithCheckOption *option, Expr *result)
{
	BooleanTest *test = makeNode(BooleanTest);

	test->arg = copyObject((Expr *) option->qual);
	test->booltesttype = IS_NOT_TRUE;
	test->location = -1;
	return when_then((Expr *) test, result);
}

/* The columns that a refusal is called with: more than none, so that it is no constant.
 */
static Expr *
refusal_of_written(const Query *query, const WithCheckOption *option)
{
	Oid relid = rt_fetch(query->resultRelation, query->rtable)->relid;

	return refusal(
		"refuse_written_row", option->relname,
		lcons(makeBoolConst(user_may_see(relid), false), columns_of_target(query)));
}

static void
check_in_returning(Query *query, List *options)
{
	CaseExpr *choice = makeNode(CaseExpr);
	TargetEntry *first;
	Node *none;

	if (query->returningList == NIL)
		query->returningList = list_make1(makeTargetEntry(
			(Expr *) makeBoolConst(true, false), 1, pstrdup("checked"), false));
	first = linitial(query->returningList);
	choice->casetype = exprType((Node *) first->expr);
	choice->casecollid = exprCollation((Node *) first->expr);
	choice->defresult = first->expr;
	choice->location = -1;
	none = (Node *) makeNullConst(choice->casetype, -1, choice->casecollid);
	foreach_ptr (WithCheckOption, option, options)
	{
		Node *refused = (Node *) refusal_of_written(query, option);

		choice->args =
			lappend(choice->args, when_not_true(option, (Expr *) expr_if(refused, none)));
	}
	first->expr = (Expr *) choice;
}

/* The conditions in front of that of DO UPDATE, in the order of the checks. */
static void
check_in_conflict(Query *query, List *options)
{
	OnConflictExpr *conflict = query->onConflict;
	CaseExpr *choice = makeNode(CaseExpr);

	foreach_ptr (WithCheckOption, option, options)
	{
		Expr *refused = refusal("refuse_hidden_row", option->relname,
								list_make1(linitial(columns_of_target(query))));

		choice->args = lappend(choice->args, when_not_true(option, refused));
	}
	choice->casetype = BOOLOID;
	choice->defresult =
		(Expr *) (conflict->onConflictWhere != NULL ? conflict->onConflictWhere
													: makeBoolConst(true, false));
	choice->location = -1;
	conflict->onConflictWhere = (Node *) choice;
}

static bool
has_view_check(const Query *query)
{
	const DistTable *target;

	if (query->commandType != CMD_INSERT && query->commandType != CMD_UPDATE)
		return false;
	target = dist_table(rt_fetch(query->resultRelation, query->rtable)->relid);
	if (target == NULL || target->kind == TABLE_MANAGED_LOCAL)
		return false;
	foreach_ptr (WithCheckOption, option, query->withCheckOptions)
	{
		if (option->kind == WCO_VIEW_CHECK || compat_is_view_conflict_check(option->kind))
			return true;
	}
	return false;
}

static void
level_take_checks(Query *query)
{
	List *written = NIL;
	List *conflicts = NIL;
	List *others = NIL;

	foreach_ptr (WithCheckOption, option, query->withCheckOptions)
	{
		/* A view without WHERE asks nothing, for all that it has the option. */
		if (option->qual == NULL)
			continue;
		if (option->kind == WCO_VIEW_CHECK)
			written = lappend(written, option);
		else if (compat_is_view_conflict_check(option->kind))
			conflicts = lappend(conflicts, option);
		else
			others = lappend(others, option);
	}
	query->withCheckOptions = others;
	if (written != NIL)
		check_in_returning(query, written);
	if (conflicts != NIL)
		check_in_conflict(query, conflicts);
}

Query *
query_with_view_checks(Query *query)
{
	bool found = has_view_check(query);

	foreach_ptr (CommonTableExpr, cte, query->cteList)
		found |= has_view_check((Query *) cte->ctequery);
	if (!found)
		return query;
	query = copyObject(query);
	if (has_view_check(query))
		level_take_checks(query);
	foreach_ptr (CommonTableExpr, cte, query->cteList)
	{
		if (has_view_check((Query *) cte->ctequery))
			level_take_checks((Query *) cte->ctequery);
	}
	return query;
}
