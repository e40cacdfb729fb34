/*
 * partial_aggregate.c: any aggregate in two halves, through its own support functions.
 *
 * pando.partial_agg(aggregate, arguments...) runs the transition function and yields the
 * state as bytes. pando.final_agg(aggregate, bytes, NULL::result, internal) reads states
 * back, combines them and runs the final function. Both do what nodeAgg.c does for a
 * plain aggregate; its rules for strict functions and for states passed by reference are
 * kept.
 *
 * Deserialise functions trust their bytes. So only plans that the planner made can call
 * final_agg: no SQL yields a value of type internal, not even NULL.
 *
 * Support functions find out that they run in an aggregate, and in which memory context,
 * from the call's context node, which is passed on to them.
 *
 * State as bytes: a letter and what the aggregate's serialise function gives ('s'), or
 * the state type's binary form ('b'), or its text form ('t') for types whose binary form
 * may hold OIDs of this node. The letter 'n' alone: a state that input has made NULL,
 * which a combine function that isn't strict is called with; no bytes: nothing was put
 * in.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "pando/planner/query/aggregate.h"
#include "parser/parse_agg.h"
#include "parser/parse_coerce.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(partial_agg_step);
PG_FUNCTION_INFO_V1(partial_agg_done);
PG_FUNCTION_INFO_V1(final_agg_step);
PG_FUNCTION_INFO_V1(final_agg_done);
PG_FUNCTION_INFO_V1(worker_partial_agg_done);
PG_FUNCTION_INFO_V1(coord_combine_agg_step);

/* An aggregate as it is called in one place; kept in the caller's FmgrInfo. */
typedef struct AggregateCall
{
	Oid aggregate;
	Oid state_type;
	Oid result_type;
	int16 state_length;
	bool state_by_value;
	int ninputs;
	Oid inputs[FUNC_MAX_ARGS];
	char *initial; /* text form of the initial state, or NULL */
	bool final_extra;
	FmgrInfo transition; /* fn_oid is invalid where there is none */
	FmgrInfo combine;
	FmgrInfo serialise;
	FmgrInfo deserialise;
	FmgrInfo final;
} AggregateCall;

/* The state of one group, in the aggregate's memory context. */
typedef struct SplitState
{
	AggregateCall *call;
	Datum value;
	bool isnull;
	bool empty; /* no initial state, no input yet: the first input becomes the state */
} SplitState;

static void
load_function(FmgrInfo *function, Oid oid, Oid collation, Expr *expr,
			  MemoryContext context)
{
	if (!OidIsValid(oid))
		return;
	fmgr_info_cxt(oid, function, context);
	if (expr != NULL)
		fmgr_info_set_expr((Node *) expr, function);
}

static void
load_functions(AggregateCall *call, Form_pg_aggregate form, Oid collation,
			   MemoryContext context)
{
	Expr *expr;

	build_aggregate_transfn_expr(call->inputs, call->ninputs, 0, false, call->state_type,
								 collation, form->aggtransfn, InvalidOid, &expr, NULL);
	load_function(&call->transition, form->aggtransfn, collation, expr, context);
	load_function(&call->combine, form->aggcombinefn, collation, NULL, context);
	if (OidIsValid(form->aggserialfn))
	{
		build_aggregate_serialfn_expr(form->aggserialfn, &expr);
		load_function(&call->serialise, form->aggserialfn, collation, expr, context);
		build_aggregate_deserialfn_expr(form->aggdeserialfn, &expr);
		load_function(&call->deserialise, form->aggdeserialfn, collation, expr, context);
	}
	if (OidIsValid(form->aggfinalfn))
	{
		build_aggregate_finalfn_expr(
			call->inputs, form->aggfinalextra ? call->ninputs + 1 : 1, call->state_type,
			call->result_type, collation, form->aggfinalfn, &expr);
		load_function(&call->final, form->aggfinalfn, collation, expr, context);
	}
}

static void
load_types(AggregateCall *call)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(call->aggregate));
	Form_pg_proc form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", call->aggregate);
	form = (Form_pg_proc) GETSTRUCT(tuple);
	call->result_type = form->prorettype;
	call->ninputs = form->pronargs;
	for (int i = 0; i < call->ninputs; i++)
		call->inputs[i] = form->proargtypes.values[i];
	ReleaseSysCache(tuple);
}

/* The aggregate, with the rights of the user checked; kept for the next call. */
static AggregateCall *
aggregate_call(FunctionCallInfo fcinfo, Oid aggregate)
{
	AggregateCall *call = fcinfo->flinfo->fn_extra;
	MemoryContext old;
	HeapTuple tuple;
	Datum initial;
	bool isnull;

	if (call != NULL && call->aggregate == aggregate)
		return call;
	if (!aggregate_state_travels(aggregate))
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("aggregate %s cannot be computed in parts",
					format_procedure(aggregate)),
			 errdetail("It needs a combine function, types known without its call, and "
					   "a way to send its state.")));
	if (compat_execute_acl(aggregate, GetUserId()) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_AGGREGATE, get_func_name(aggregate));

	old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	call = palloc0(sizeof(AggregateCall));
	call->aggregate = aggregate;
	load_types(call);
	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggregate);
	call->state_type = ((Form_pg_aggregate) GETSTRUCT(tuple))->aggtranstype;
	call->final_extra = ((Form_pg_aggregate) GETSTRUCT(tuple))->aggfinalextra;
	get_typlenbyval(call->state_type, &call->state_length, &call->state_by_value);
	initial = SysCacheGetAttr(AGGFNOID, tuple, Anum_pg_aggregate_agginitval, &isnull);
	if (!isnull)
		call->initial = TextDatumGetCString(initial);
	load_functions(call, (Form_pg_aggregate) GETSTRUCT(tuple), fcinfo->fncollation,
				   fcinfo->flinfo->fn_mcxt);
	ReleaseSysCache(tuple);
	fcinfo->flinfo->fn_extra = call;
	MemoryContextSwitchTo(old);
	return call;
}

static SplitState *
new_state(AggregateCall *call, MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	SplitState *state = palloc0(sizeof(SplitState));

	state->call = call;
	state->isnull = state->empty = call->initial == NULL;
	if (call->initial != NULL)
	{
		Oid input;
		Oid ioparam;

		getTypeInputInfo(call->state_type, &input, &ioparam);
		state->value = OidInputFunctionCall(input, call->initial, ioparam, -1);
	}
	MemoryContextSwitchTo(old);
	return state;
}

/* Makes a function's result the state: by-reference values live in the context. */
static void
set_state(SplitState *state, Datum value, bool isnull, MemoryContext context)
{
	AggregateCall *call = state->call;

	if (!call->state_by_value &&
		(isnull || state->isnull ||
		 DatumGetPointer(value) != DatumGetPointer(state->value)))
	{
		Datum before = state->value;
		MemoryContext old = MemoryContextSwitchTo(context);

		if (!isnull)
			value = datumCopy(value, false, call->state_length);
		MemoryContextSwitchTo(old);
		if (!state->isnull)
			pfree(DatumGetPointer(before));
	}
	state->value = value;
	state->isnull = isnull;
	state->empty = false;
}

static MemoryContext
aggregate_context(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (AggCheckCallContext(fcinfo, &context) != AGG_CONTEXT_AGGREGATE)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("aggregates in parts cannot be window functions")));
	return context;
}

static SplitState *
current_state(FunctionCallInfo fcinfo, AggregateCall *call, MemoryContext context)
{
	return PG_ARGISNULL(0) ? new_state(call, context)
						   : (SplitState *) PG_GETARG_POINTER(0);
}

/* The arguments must be what the aggregate takes: anybody may call this. */
static void
check_arguments(FunctionCallInfo fcinfo, AggregateCall *call)
{
	int given = PG_NARGS() - 2;
	bool fits = call->ninputs == 0 ? given == 1 : given == call->ninputs;

	for (int i = 0; fits && i < call->ninputs; i++)
	{
		Oid type = get_fn_expr_argtype(fcinfo->flinfo, i + 2);

		fits = type == call->inputs[i] || IsBinaryCoercible(type, call->inputs[i]);
	}
	if (!fits)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("the arguments do not fit aggregate %s",
							   format_procedure(call->aggregate))));
}

static bool
any_null(FunctionCallInfo fcinfo, int first, int count)
{
	for (int i = first; i < first + count; i++)
	{
		if (PG_ARGISNULL(i))
			return true;
	}
	return false;
}

static void
advance(FunctionCallInfo fcinfo, SplitState *state, MemoryContext context)
{
	AggregateCall *call = state->call;
	Datum result;

	LOCAL_FCINFO(inner, FUNC_MAX_ARGS);

	if (call->transition.fn_strict)
	{
		if (any_null(fcinfo, 2, call->ninputs))
			return;
		if (state->empty)
		{
			set_state(state, PG_GETARG_DATUM(2), false, context);
			return;
		}
		if (state->isnull)
			return;
	}
	InitFunctionCallInfoData(*inner, &call->transition, call->ninputs + 1,
							 fcinfo->fncollation, fcinfo->context, NULL);
	inner->args[0].value = state->value;
	inner->args[0].isnull = state->isnull;
	for (int i = 0; i < call->ninputs; i++)
		inner->args[i + 1] = fcinfo->args[i + 2];
	result = FunctionCallInvoke(inner);
	set_state(state, result, inner->isnull, context);
}

/* partial_agg_step(internal, regprocedure, VARIADIC "any") returns internal */
Datum
partial_agg_step(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	const AggregateCall *before = fcinfo->flinfo->fn_extra;
	AggregateCall *call;
	SplitState *state;

	if (PG_ARGISNULL(1))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("the aggregate must not be null")));
	call = aggregate_call(fcinfo, PG_GETARG_OID(1));
	/* Another group's rows may name another aggregate. */
	if (call != before)
		check_arguments(fcinfo, call);
	state = current_state(fcinfo, call, context);
	if (state->call->aggregate != call->aggregate)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("the aggregate must be the same in all rows")));
	advance(fcinfo, state, context);
	PG_RETURN_POINTER(state);
}

/* Do values of the type mean the same in binary form on every node? */
static bool
binary_travels(Oid type)
{
	Oid element = get_element_type(type);

	return (OidIsValid(element) ? element : type) < FirstNormalObjectId;
}

static bytea *
state_as_bytes(const AggregateCall *call, Datum value)
{
	StringInfoData out;
	Oid function;
	bool varlena;

	pq_begintypsend(&out);
	if (binary_travels(call->state_type))
	{
		bytea *form;

		getTypeBinaryOutputInfo(call->state_type, &function, &varlena);
		form = OidSendFunctionCall(function, value);
		pq_sendbyte(&out, 'b');
		pq_sendbytes(&out, VARDATA(form), VARSIZE(form) - VARHDRSZ);
	}
	else
	{
		getTypeOutputInfo(call->state_type, &function, &varlena);
		pq_sendbyte(&out, 't');
		pq_sendstring(&out, OidOutputFunctionCall(function, value));
	}
	return pq_endtypsend(&out);
}

static Datum
state_from_bytes(const AggregateCall *call, bytea *bytes)
{
	StringInfoData in;
	Oid function;
	Oid ioparam;
	char form;

	initStringInfo(&in);
	appendBinaryStringInfo(&in, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
	form = pq_getmsgbyte(&in);
	if (form == 'b' && binary_travels(call->state_type))
	{
		getTypeBinaryInputInfo(call->state_type, &function, &ioparam);
		return OidReceiveFunctionCall(function, &in, ioparam, -1);
	}
	getTypeInputInfo(call->state_type, &function, &ioparam);
	return OidInputFunctionCall(function, (char *) pq_getmsgstring(&in), ioparam, -1);
}

/* Calls a support function of the aggregate with up to two arguments. */
static Datum
call_support(FunctionCallInfo fcinfo, FmgrInfo *function, int nargs, Datum a, bool a_null,
			 Datum b, bool b_null, bool *isnull)
{
	Datum result;

	LOCAL_FCINFO(inner, 2);

	InitFunctionCallInfoData(*inner, function, nargs, fcinfo->fncollation,
							 fcinfo->context, NULL);
	inner->args[0].value = a;
	inner->args[0].isnull = a_null;
	inner->args[1].value = b;
	inner->args[1].isnull = b_null;
	result = FunctionCallInvoke(inner);
	*isnull = inner->isnull;
	return result;
}

/*
 * Does a NULL that came of input have a say in the other parts' result? A strict combine
 * function passes over it.
 */
static bool
null_is_combined(const SplitState *state)
{
	return !state->empty && !state->call->combine.fn_strict;
}

/* The letter, and bytes after it. */
static bytea *
lettered(char letter, const void *bytes, Size length)
{
	bytea *result = palloc(VARHDRSZ + 1 + length);

	SET_VARSIZE(result, VARHDRSZ + 1 + length);
	*VARDATA(result) = letter;
	if (length > 0)
		memcpy(VARDATA(result) + 1, bytes, length);
	return result;
}

/* partial_agg_done(internal) returns bytea: NULL where there is nothing to combine */
Datum
partial_agg_done(PG_FUNCTION_ARGS)
{
	SplitState *state;
	bytea *form;
	Datum result;
	bool isnull;

	aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = (SplitState *) PG_GETARG_POINTER(0);
	if (state->isnull && !null_is_combined(state))
		PG_RETURN_NULL();
	if (state->isnull)
		PG_RETURN_BYTEA_P(lettered('n', NULL, 0));
	if (!OidIsValid(state->call->serialise.fn_oid))
		PG_RETURN_BYTEA_P(state_as_bytes(state->call, state->value));
	result = call_support(fcinfo, &state->call->serialise, 1, state->value, false, 0,
						  true, &isnull);
	if (isnull)
		PG_RETURN_NULL();
	form = DatumGetByteaPP(result);
	PG_RETURN_BYTEA_P(lettered('s', VARDATA_ANY(form), VARSIZE_ANY_EXHDR(form)));
}

static Datum
received_state(FunctionCallInfo fcinfo, AggregateCall *call, bool *isnull)
{
	bytea *bytes = PG_GETARG_BYTEA_PP(2);
	const char *letter = VARDATA_ANY(bytes);
	int length = VARSIZE_ANY_EXHDR(bytes);
	bytea *form;

	*isnull = length == 1 && *letter == 'n';
	if (*isnull)
		return (Datum) 0;
	if (!OidIsValid(call->deserialise.fn_oid))
		return state_from_bytes(call, bytes);
	if (length < 1 || *letter != 's')
		ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
						errmsg("invalid state of aggregate %s",
							   format_procedure(call->aggregate))));
	form = palloc(VARHDRSZ + length - 1);
	SET_VARSIZE(form, VARHDRSZ + length - 1);
	memcpy(VARDATA(form), letter + 1, length - 1);
	return call_support(fcinfo, &call->deserialise, 2, PointerGetDatum(form), false,
						(Datum) 0, true, isnull);
}

/* Adds a part's state to the state. */
static void
combine(FunctionCallInfo fcinfo, SplitState *state, Datum received, bool isnull,
		MemoryContext context)
{
	AggregateCall *call = state->call;
	Datum result;

	if (isnull && call->combine.fn_strict)
		return;
	/* The first part is the state: nothing was there to combine it with. */
	if (state->empty &&
		(call->combine.fn_strict || !OidIsValid(call->deserialise.fn_oid)))
	{
		set_state(state, received, isnull, context);
		return;
	}
	if (call->combine.fn_strict && state->isnull)
		return;
	result = call_support(fcinfo, &call->combine, 2, state->value, state->isnull,
						  received, isnull, &isnull);
	set_state(state, result, isnull, context);
}

/* The state that a part is to be added to, of the aggregate that the call names. */
static SplitState *
state_of_parts(FunctionCallInfo fcinfo, MemoryContext context)
{
	AggregateCall *call;
	SplitState *state;

	if (PG_ARGISNULL(1))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("the aggregate must not be null")));
	call = aggregate_call(fcinfo, PG_GETARG_OID(1));
	state = current_state(fcinfo, call, context);
	if (!PG_ARGISNULL(2) && state->call->aggregate != call->aggregate)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("the aggregate must be the same in all rows")));
	return state;
}

/* final_agg_step(internal, regprocedure, bytea, anyelement, internal) returns internal */
Datum
final_agg_step(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	SplitState *state = state_of_parts(fcinfo, context);
	Datum received;
	bool isnull;

	/* A group without input has nothing to add. */
	if (PG_ARGISNULL(2))
		PG_RETURN_POINTER(state);
	received = received_state(fcinfo, state->call, &isnull);
	combine(fcinfo, state, received, isnull, context);
	PG_RETURN_POINTER(state);
}

/* Bytes of a state of type internal are trusted, and anybody may call what is below. */
static void
check_state_has_text(const AggregateCall *call)
{
	if (call->state_type == INTERNALOID)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("the state of aggregate %s has no text form",
							   format_procedure(call->aggregate))));
}

/* worker_partial_agg_done(internal) returns cstring: the state in its type's text form */
Datum
worker_partial_agg_done(PG_FUNCTION_ARGS)
{
	SplitState *state;
	Oid function;
	bool varlena;

	aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = (SplitState *) PG_GETARG_POINTER(0);
	check_state_has_text(state->call);
	if (state->isnull)
		PG_RETURN_NULL();
	getTypeOutputInfo(state->call->state_type, &function, &varlena);
	PG_RETURN_CSTRING(OidOutputFunctionCall(function, state->value));
}

/* coord_combine_agg_step(internal, oid, cstring, anyelement) returns internal */
Datum
coord_combine_agg_step(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	SplitState *state = state_of_parts(fcinfo, context);
	Oid function;
	Oid ioparam;

	check_state_has_text(state->call);
	if (PG_ARGISNULL(2))
		PG_RETURN_POINTER(state);
	getTypeInputInfo(state->call->state_type, &function, &ioparam);
	combine(fcinfo, state,
			OidInputFunctionCall(function, PG_GETARG_CSTRING(2), ioparam, -1), false,
			context);
	PG_RETURN_POINTER(state);
}

/* The aggregate that is the first argument, a constant, of the call being finished. */
static Oid
aggregate_of_call(FunctionCallInfo fcinfo)
{
	Aggref *aggref = AggGetAggref(fcinfo);
	Node *argument;

	if (aggref == NULL || list_length(aggref->args) < 1)
		elog(ERROR, "aggregate function called in non-aggregate context");
	argument = (Node *) ((TargetEntry *) linitial(aggref->args))->expr;
	if (!IsA(argument, Const) || ((Const *) argument)->constisnull)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("the aggregate must be a constant")));
	return DatumGetObjectId(((Const *) argument)->constvalue);
}

/* final_agg_done(internal, regprocedure, bytea, anyelement, internal) returns anyelement
 */
Datum
final_agg_done(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	AggregateCall *call = aggregate_call(fcinfo, aggregate_of_call(fcinfo));
	SplitState *state = current_state(fcinfo, call, context);
	int nargs = call->final_extra ? call->ninputs + 1 : 1;
	Datum result;

	LOCAL_FCINFO(inner, FUNC_MAX_ARGS);

	if (get_fn_expr_rettype(fcinfo->flinfo) != call->result_type)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("aggregate %s does not yield type %s",
							   format_procedure(call->aggregate),
							   format_type_be(get_fn_expr_rettype(fcinfo->flinfo)))));
	if (!OidIsValid(call->final.fn_oid))
	{
		if (state->isnull)
			PG_RETURN_NULL();
		return state->value;
	}
	if (call->final.fn_strict && (state->isnull || nargs > 1))
		PG_RETURN_NULL();
	InitFunctionCallInfoData(*inner, &call->final, nargs, fcinfo->fncollation,
							 fcinfo->context, NULL);
	inner->args[0].value = state->value;
	inner->args[0].isnull = state->isnull;
	for (int i = 1; i < nargs; i++)
	{
		inner->args[i].value = (Datum) 0;
		inner->args[i].isnull = true;
	}
	result = FunctionCallInvoke(inner);
	fcinfo->isnull = inner->isnull;
	return result;
}
