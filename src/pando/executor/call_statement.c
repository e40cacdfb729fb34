/*
 * call_statement.c: CALL of a distributed procedure.
 *
 * The statement goes to another node as text, with the values of its arguments as
 * parameters. A CALL that may end the transaction can't be delegated.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_proc.h"
#include "commands/defrem.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "pando/base/hook.h"
#include "pando/executor/call.h"
#include "pando/metadata/sequence_value.h"
#include "pando/transaction/xact.h"

/* CALL name($1::type, NULL, ...): OUT arguments have a place, but no value. */
static char *
text_of_call(const FuncExpr *call)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(call->funcid));
	Form_pg_proc form;
	Oid *types;
	char **names;
	char *modes;
	int count;
	int number = 0;
	StringInfoData sql;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", call->funcid);
	form = (Form_pg_proc) GETSTRUCT(tuple);
	count = get_func_arg_info(tuple, &types, &names, &modes);
	initStringInfo(&sql);
	appendStringInfo(&sql, "CALL %s(",
					 quote_qualified_identifier(get_namespace_name(form->pronamespace),
												NameStr(form->proname)));
	for (int i = 0; i < count; i++)
	{
		char mode = modes != NULL ? modes[i] : PROARGMODE_IN;

		appendStringInfoString(&sql, i > 0 ? ", " : "");
		if (mode == PROARGMODE_OUT)
			appendStringInfoString(&sql, "NULL");
		else
		{
			Oid type = exprType(list_nth(call->args, number));

			appendStringInfo(&sql, "%s$%d::%s",
							 mode == PROARGMODE_VARIADIC ? "VARIADIC " : "", number + 1,
							 format_type_extended(type == UNKNOWNOID ? TEXTOID : type, -1,
												  FORMAT_TYPE_FORCE_QUALIFY));
			number++;
		}
	}
	appendStringInfoChar(&sql, ')');
	ReleaseSysCache(tuple);
	return sql.data;
}

static Datum
value_of(Expr *expr, Oid *type, EState *estate, bool *isnull)
{
	ExprState *state = ExecPrepareExpr(copyObject(expr), estate);

	*type = exprType((Node *) expr);
	return ExecEvalExprSwitchContext(state, GetPerTupleExprContext(estate), isnull);
}

/* Where the rows of the call's argument are. */
static CallPlace
place_of_call(const DistFunction *function, CallWay way, const FuncExpr *call,
			  EState *estate)
{
	const DistTable *anchor;
	Node *argument;
	Oid type;
	bool isnull;
	Datum value;

	if (function->coordinators)
		return call_coordinator();
	anchor = call_anchor(dist_function_anchor(function), way);
	if (anchor == NULL || anchor->nshards == 0)
		return (CallPlace){false};
	if (anchor->kind != TABLE_HASH)
		return call_place(anchor, 0);
	if (function->argument < 0 || function->argument >= list_length(call->args))
		return (CallPlace){false};
	argument = list_nth(call->args, function->argument);
	type = exprType(argument);
	if (contain_volatile_functions(argument) ||
		!can_coerce_type(1, &type, unconstify(Oid *, &anchor->key_type),
						 COERCION_IMPLICIT))
		return (CallPlace){false};
	argument = coerce_type(NULL, copyObject(argument), type, anchor->key_type, -1,
						   COERCION_IMPLICIT, COERCE_IMPLICIT_CAST, -1);
	value = value_of((Expr *) argument, &type, estate, &isnull);
	return call_place(anchor, shard_index_of_value(anchor, value, isnull));
}

static void
give_rows(Tuplestorestate *store, TupleDesc desc, DestReceiver *dest)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);

	dest->rStartup(dest, CMD_SELECT, desc);
	while (tuplestore_gettupleslot(store, true, false, slot))
		dest->receiveSlot(slot, dest);
	dest->rShutdown(dest);
	ExecDropSingleTupleTableSlot(slot);
}

static void
check_rights(Oid function)
{
	AclResult result = compat_execute_acl(function, GetUserId());

	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_PROCEDURE, get_func_name(function));
}

/* Runs it there; false: it has to run here. */
static bool
call_there(CallStmt *stmt, const DistFunction *function, CallWay way,
		   const DistNode *node, EState *estate, DestReceiver *dest)
{
	FuncExpr *call = stmt->funcexpr;
	int count = list_length(call->args);
	RemoteCall remote = {.function = function,
						 .sql = text_of_call(call),
						 .types = palloc(sizeof(Oid) * (count + 1)),
						 .values = palloc(sizeof(Datum) * (count + 1)),
						 .nulls = palloc(sizeof(bool) * (count + 1))};
	TupleDesc desc = call->funcresulttype == RECORDOID ? CallStmtResultDesc(stmt) : NULL;
	Tuplestorestate *store =
		desc != NULL ? tuplestore_begin_heap(false, false, work_mem) : NULL;
	bool done;

	foreach_ptr (Expr, argument, call->args)
	{
		int i = remote.nparams++;

		remote.values[i] = value_of(argument, &remote.types[i], estate, &remote.nulls[i]);
	}
	done = call_run(node, way, &remote, desc, store);
	if (done && store != NULL)
		give_rows(store, desc, dest);
	if (store != NULL)
		tuplestore_end(store);
	return done;
}

/* A type without a name can't be read here, and a cursor stays where it was opened. */
static bool
type_can_be_sent(Oid type)
{
	return type == UNKNOWNOID ||
		   (get_typtype(type) != TYPTYPE_PSEUDO && type != REFCURSOROID);
}

static bool
can_be_sent(CallStmt *stmt)
{
	foreach_ptr (Node, argument, stmt->funcexpr->args)
	{
		if (!type_can_be_sent(exprType(argument)) || contain_volatile_functions(argument))
			return false;
	}
	foreach_ptr (Node, argument, stmt->outargs)
	{
		if (!type_can_be_sent(exprType(argument)))
			return false;
	}
	return true;
}

/* A CALL, and what PostgreSQL runs it with. */
typedef struct Call
{
	PlannedStmt *pstmt;
	const char *text;
	bool read_only_tree;
	ProcessUtilityContext context;
	ParamListInfo params;
	QueryEnvironment *environment;
	DestReceiver *dest;
	QueryCompletion *qc;
} Call;

static void
run_plainly(void *arg)
{
	Call *call = arg;

	hook_utility_next(UTILITY_CALL, call->pstmt, call->text, call->read_only_tree,
					  call->context, call->params, call->environment, call->dest,
					  call->qc);
}

/* True: the procedure has run on another node. Else `*place` says where a forced one has
 * to keep to. */
static bool
call_elsewhere(const Call *call, const DistFunction *function, CallPlace *place)
{
	CallStmt *stmt = (CallStmt *) call->pstmt->utilityStmt;
	bool alone = call->context == PROCESS_UTILITY_TOPLEVEL;
	bool atomic = call->context == PROCESS_UTILITY_QUERY || IsTransactionBlock();
	CallWay way = !xact_is_for_node() && can_be_sent(stmt)
					  ? call_way(function, NULL, alone, atomic)
					  : CALL_STAYS;
	EState *estate;
	const DistNode *node;
	bool done = false;

	if (way == CALL_STAYS && !function->forced)
		return false;
	check_rights(function->funcid);
	PushActiveSnapshot(GetTransactionSnapshot());
	estate = CreateExecutorState();
	estate->es_param_list_info = call->params;
	*place = place_of_call(function, way, stmt->funcexpr, estate);
	node = way != CALL_STAYS ? place->node : NULL;
	if (node != NULL)
		done = call_there(stmt, function, way, node, estate, call->dest);
	FreeExecutorState(estate);
	PopActiveSnapshot();
	return done;
}

/* Arguments aren't planned. */
static PlannedStmt *
call_with_sequence_values(PlannedStmt *given)
{
	Node *args = (Node *) ((CallStmt *) given->utilityStmt)->funcexpr->args;
	Node *values = sequence_values_of_cluster(args, NULL);
	PlannedStmt *pstmt;

	if (values == args)
		return given;
	pstmt = copyObject(given);
	((CallStmt *) pstmt->utilityStmt)->funcexpr->args = (List *) values;
	return pstmt;
}

static void
call_utility(PlannedStmt *pstmt, const char *text, bool read_only_tree,
			 ProcessUtilityContext context, ParamListInfo params,
			 QueryEnvironment *environment, DestReceiver *dest, QueryCompletion *qc)
{
	Call call = {pstmt, text, read_only_tree, context, params, environment, dest, qc};
	const DistFunction *found = NULL;
	DistFunction function;
	CallPlace place = {false};

	if (IsA(pstmt->utilityStmt, CallStmt))
		call.pstmt = pstmt = call_with_sequence_values(pstmt);
	xact_serve_utility(pstmt->utilityStmt);
	/* What a call that is served calls in turn is a part of it. */
	if (IsA(pstmt->utilityStmt, CallStmt) &&
		(context == PROCESS_UTILITY_TOPLEVEL || !xact_serves_call()))
		found = dist_function(((CallStmt *) pstmt->utilityStmt)->funcexpr->funcid);
	if (found == NULL)
	{
		run_plainly(&call);
		return;
	}
	function = *found;
	if (!call_elsewhere(&call, &function, &place))
		call_run_here(function.forced, place, run_plainly, &call);
}

void
call_statement_init(void)
{
	hook_utility(UTILITY_CALL, call_utility);
}
