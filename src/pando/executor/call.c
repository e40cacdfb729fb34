/*
 * call.c: CALL of a distributed procedure; running a call's text on another node.
 *
 * A CALL that is all of its transaction goes to the node that has the rows of its
 * distribution argument, with the values of its arguments as parameters; the node is its
 * transaction's leader, so that the procedure can COMMIT. Any other runs here.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
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

#include "pando/base/counter.h"
#include "pando/base/hook.h"
#include "pando/base/literal.h"
#include "pando/base/name.h"
#include "pando/executor/call.h"
#include "pando/executor/decode.h"
#include "pando/metadata/function.h"
#include "pando/remote/session.h"
#include "pando/transaction/xact.h"

const DistNode *
call_node(const DistTable *anchor, int index)
{
	const Shard *shard = &anchor->shards[Max(index, 0)];
	const DistNode *node;

	if (anchor->nshards == 0 || shard->nplacements == 0)
		return NULL;
	node = node_by_group(shard->placements[0].group);
	return node != NULL && node->active && node->group != node_local_group() ? node
																			 : NULL;
}

static void
take_rows(const PGresult *result, TupleDesc desc, Tuplestorestate *store)
{
	RowDecoder *decoder = decoder_create(desc, false);
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "call row", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Datum *values = palloc(sizeof(Datum) * (desc->natts + 1));
	bool *nulls = palloc(sizeof(bool) * (desc->natts + 1));

	for (int row = 0; row < PQntuples(result); row++)
	{
		MemoryContext row_context =
			AllocSetContextCreate(context, "call row values", ALLOCSET_SMALL_SIZES);

		MemoryContextSwitchTo(row_context);
		(void) decode_result_row(decoder, result, row, values, nulls);
		MemoryContextSwitchTo(context);
		tuplestore_putvalues(store, desc, values, nulls);
		MemoryContextDelete(row_context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

bool
call_run(const DistNode *node, const RemoteCall *call, TupleDesc desc,
		 Tuplestorestate *store)
{
	Session *session = xact_session_to_serve(node);
	const char **texts;
	PGresult *result;

	if (session == NULL)
		return false;
	counter_add(COUNTER_QUERY_SINGLE);
	texts = palloc(sizeof(char *) * (call->nparams + 1));
	for (int i = 0; i < call->nparams; i++)
		texts[i] = literal_text(call->values[i], call->nulls[i],
								call->types[i] == UNKNOWNOID ? TEXTOID : call->types[i]);
	session_send_params(session, call->sql, call->nparams, texts, NULL, false, true);
	result = session_finish(session);
	if (store != NULL && result != NULL)
		take_rows(result, desc, store);
	session_result_free(result);
	return true;
}

/* ------------------------------------------------------------------------------------
 * CALL
 */

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

/* The node that has the rows of the call's argument; NULL: it is this one, or nobody
 * knows. */
static const DistNode *
node_of_call(const DistFunction *function, const FuncExpr *call, EState *estate)
{
	const DistTable *anchor = dist_function_anchor(function);
	Node *argument;
	Oid type;
	bool isnull;
	Datum value;

	if (anchor == NULL || anchor->kind != TABLE_HASH)
		return anchor != NULL ? call_node(anchor, -1) : NULL;
	if (function->argument < 0 || function->argument >= list_length(call->args))
		return NULL;
	argument = list_nth(call->args, function->argument);
	type = exprType(argument);
	if (contain_volatile_functions(argument) ||
		!can_coerce_type(1, &type, unconstify(Oid *, &anchor->key_type),
						 COERCION_IMPLICIT))
		return NULL;
	argument = coerce_type(NULL, copyObject(argument), type, anchor->key_type, -1,
						   COERCION_IMPLICIT, COERCE_IMPLICIT_CAST, -1);
	value = value_of((Expr *) argument, &type, estate, &isnull);
	return call_node(anchor, shard_index_of_value(anchor, value, isnull));
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
	AclResult result = pg_proc_aclcheck(function, GetUserId(), ACL_EXECUTE);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_PROCEDURE, get_func_name(function));
}

/* Runs it there; false: it has to run here. */
static bool
call_there(CallStmt *stmt, const DistNode *node, EState *estate, DestReceiver *dest)
{
	FuncExpr *call = stmt->funcexpr;
	int count = list_length(call->args);
	RemoteCall remote = {.sql = text_of_call(call),
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
	done = call_run(node, &remote, desc, store);
	if (done && store != NULL)
		give_rows(store, desc, dest);
	if (store != NULL)
		tuplestore_end(store);
	return done;
}

/* Columns of the result that only exist as a type without a name can't be read. */
static bool
can_be_sent(CallStmt *stmt)
{
	foreach_ptr (Node, argument, stmt->funcexpr->args)
	{
		if (get_typtype(exprType(argument)) == TYPTYPE_PSEUDO &&
			exprType(argument) != UNKNOWNOID)
			return false;
		if (contain_volatile_functions(argument))
			return false;
	}
	foreach_ptr (Node, argument, stmt->outargs)
	{
		if (get_typtype(exprType(argument)) == TYPTYPE_PSEUDO &&
			exprType(argument) != UNKNOWNOID)
			return false;
	}
	return true;
}

/* True: the procedure has run on another node. */
static bool
call_elsewhere(CallStmt *stmt, const DistFunction *found, ParamListInfo params,
			   DestReceiver *dest)
{
	DistFunction function = *found;
	EState *estate;
	const DistNode *node;
	bool done = false;

	if (!xact_may_hand_over() || !can_be_sent(stmt))
		return false;
	check_rights(function.funcid);
	PushActiveSnapshot(GetTransactionSnapshot());
	estate = CreateExecutorState();
	estate->es_param_list_info = params;
	node = node_of_call(&function, stmt->funcexpr, estate);
	if (node != NULL)
		done = call_there(stmt, node, estate, dest);
	FreeExecutorState(estate);
	PopActiveSnapshot();
	return done;
}

static void
call_serve(PlannedStmt *pstmt, const char *text, bool read_only_tree,
		   ProcessUtilityContext context, ParamListInfo params,
		   QueryEnvironment *environment, DestReceiver *dest, QueryCompletion *qc)
{
	xact_serve(true);
	PG_TRY();
	{
		hook_utility_next(UTILITY_CALL, pstmt, text, read_only_tree, context, params,
						  environment, dest, qc);
	}
	PG_FINALLY();
	{
		xact_serve(false);
	}
	PG_END_TRY();
}

static void
call_utility(PlannedStmt *pstmt, const char *text, bool read_only_tree,
			 ProcessUtilityContext context, ParamListInfo params,
			 QueryEnvironment *environment, DestReceiver *dest, QueryCompletion *qc)
{
	CallStmt *stmt = (CallStmt *) pstmt->utilityStmt;
	const DistFunction *function = NULL;

	if (IsA(stmt, CallStmt) && context == PROCESS_UTILITY_TOPLEVEL)
		function = dist_function(stmt->funcexpr->funcid);
	if (function != NULL && xact_is_for_node())
		call_serve(pstmt, text, read_only_tree, context, params, environment, dest, qc);
	else if (function == NULL || !call_elsewhere(stmt, function, params, dest))
		hook_utility_next(UTILITY_CALL, pstmt, text, read_only_tree, context, params,
						  environment, dest, qc);
}

void
call_init(void)
{
	hook_utility(UTILITY_CALL, call_utility);
	call_scan_register();
}
