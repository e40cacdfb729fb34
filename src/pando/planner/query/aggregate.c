/*
 * aggregate.c: how an aggregate is split between shards and coordinator.
 *
 * A few are their own combination, which gives the shards plain SQL; all others with a
 * combine function go through pando.partial_agg and pando.final_agg
 * (partial_aggregate.c).
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "pando/planner/query/aggregate.h"
#include "parser/parse_func.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

typedef struct SplitRow
{
	const char *name; /* in pg_catalog */
	AggregateSplit split;
} SplitRow;

static const SplitRow split_table[] = {
	{"count", SPLIT_COUNT},	 {"sum", SPLIT_SUM},		{"min", SPLIT_SAME},
	{"max", SPLIT_SAME},	 {"bool_and", SPLIT_SAME},	{"bool_or", SPLIT_SAME},
	{"every", SPLIT_SAME},	 {"bit_and", SPLIT_SAME},	{"bit_or", SPLIT_SAME},
	{"bit_xor", SPLIT_SAME}, {"any_value", SPLIT_SAME},
};

typedef struct SumRow
{
	Oid type; /* of the partial sum */
	Oid function;
} SumRow;

static const SumRow sum_table[] = {
	{INT8OID, F_SUM_INT8},	   {NUMERICOID, F_SUM_NUMERIC}, {FLOAT4OID, F_SUM_FLOAT4},
	{FLOAT8OID, F_SUM_FLOAT8}, {CASHOID, F_SUM_MONEY},		{INTERVALOID, F_SUM_INTERVAL},
};

typedef struct AverageRow
{
	Oid function;
	Oid sum; /* of its argument, exact */
	Oid sum_type;
} AverageRow;

/* Those of float numbers go by their states: they fail where a sum of squares does. */
static const AverageRow average_table[] = {
	{F_AVG_INT2, F_SUM_INT2, INT8OID},
	{F_AVG_INT4, F_SUM_INT4, INT8OID},
	{F_AVG_INT8, F_SUM_INT8, NUMERICOID},
	{F_AVG_NUMERIC, F_SUM_NUMERIC, NUMERICOID},
};

static const AverageRow *
average_row(Oid function)
{
	for (int i = 0; i < lengthof(average_table); i++)
	{
		if (average_table[i].function == function)
			return &average_table[i];
	}
	return NULL;
}

static Oid
sum_function(Oid type)
{
	for (int i = 0; i < lengthof(sum_table); i++)
	{
		if (sum_table[i].type == type)
			return sum_table[i].function;
	}
	return InvalidOid;
}

/* Has the type a binary or text form that another node reads? */
static bool
type_travels(Oid type)
{
	return get_typtype(type) != TYPTYPE_PSEUDO;
}

static bool
arguments_are_concrete(Oid function)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc form;
	bool concrete;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	concrete = !OidIsValid(form->provariadic) && !IsPolymorphicType(form->prorettype);
	for (int i = 0; i < form->pronargs; i++)
	{
		if (get_typtype(form->proargtypes.values[i]) == TYPTYPE_PSEUDO)
			concrete = false;
	}
	ReleaseSysCache(tuple);
	return concrete;
}

bool
aggregate_state_travels(Oid aggregate)
{
	HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	Form_pg_aggregate form;
	bool travels;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	travels = form->aggkind == AGGKIND_NORMAL && OidIsValid(form->aggcombinefn) &&
			  arguments_are_concrete(aggregate);
	if (form->aggtranstype == INTERNALOID)
		travels =
			travels && OidIsValid(form->aggserialfn) && OidIsValid(form->aggdeserialfn);
	else
		travels = travels && type_travels(form->aggtranstype);
	ReleaseSysCache(tuple);
	return travels;
}

static AggregateSplit
split_of_function(const Aggref *aggref)
{
	if (get_func_namespace(aggref->aggfnoid) == PG_CATALOG_NAMESPACE)
	{
		const char *name = get_func_name(aggref->aggfnoid);

		for (int i = 0; i < lengthof(split_table); i++)
		{
			if (strcmp(name, split_table[i].name) != 0)
				continue;
			if (split_table[i].split == SPLIT_SUM &&
				!OidIsValid(sum_function(aggref->aggtype)))
				break;
			return split_table[i].split;
		}
	}
	if (average_row(aggref->aggfnoid) != NULL)
		return SPLIT_AVERAGE;
	/* Parts, which PostgreSQL 16 combines, would lose the order of a sorted subquery. */
	if (aggref->aggfnoid == F_STRING_AGG_TEXT_TEXT ||
		aggref->aggfnoid == F_STRING_AGG_BYTEA_BYTEA)
		return SPLIT_NONE;
	return aggregate_state_travels(aggref->aggfnoid) ? SPLIT_GENERIC : SPLIT_NONE;
}

AggregateSplit
aggregate_split(const Aggref *aggref)
{
	if (aggref->aggkind != AGGKIND_NORMAL)
		return SPLIT_NONE;
	if (aggref->aggdistinct != NIL)
	{
		/* All that the aggregate sees is in DISTINCT, so duplicates may go early. */
		return list_length(aggref->aggdistinct) == list_length(aggref->args)
				   ? SPLIT_DISTINCT
				   : SPLIT_NONE;
	}
	if (aggref->aggorder != NIL || aggref->aggvariadic)
		return SPLIT_NONE;
	return split_of_function(aggref);
}

static Oid
generic_function(const char *name, const Oid *arguments, int count)
{
	return LookupFuncName(list_make2(makeString("pando"), makeString(pstrdup(name))),
						  count, arguments, false);
}

static Node *
aggregate_constant(Oid aggregate)
{
	return (Node *) makeConst(REGPROCEDUREOID, -1, InvalidOid, sizeof(Oid),
							  ObjectIdGetDatum(aggregate), false, true);
}

/* A plain call of an aggregate with arguments that have its types. */
static Aggref *
make_aggref(Oid function, Oid type, const Aggref *like, List *arguments)
{
	Aggref *result = makeNode(Aggref);
	ListCell *cell;

	result->aggfnoid = function;
	result->aggtype = type;
	result->aggcollid = like->aggcollid;
	result->inputcollid = like->inputcollid;
	result->aggkind = AGGKIND_NORMAL;
	result->aggsplit = AGGSPLIT_SIMPLE;
	result->aggno = result->aggtransno = result->location = -1;
	foreach (cell, arguments)
	{
		result->args = lappend(
			result->args,
			makeTargetEntry(lfirst(cell), list_length(result->args) + 1, NULL, false));
		result->aggargtypes = lappend_oid(result->aggargtypes, exprType(lfirst(cell)));
	}
	return result;
}

Aggref *
aggregate_partial(const Aggref *aggref)
{
	const Oid types[] = {REGPROCEDUREOID, ANYOID};
	List *arguments = list_make1(aggregate_constant(aggref->aggfnoid));
	Aggref *result;
	ListCell *cell;

	if (aggregate_split(aggref) != SPLIT_GENERIC)
		return copyObject((Aggref *) aggref);
	foreach (cell, aggref->args)
		arguments = lappend(arguments, copyObject(((TargetEntry *) lfirst(cell))->expr));
	/* The function takes at least one. */
	if (aggref->args == NIL)
		arguments = lappend(arguments, makeBoolConst(true, false));
	result = make_aggref(generic_function("partial_agg", types, 2), BYTEAOID, aggref,
						 arguments);
	result->aggcollid = InvalidOid;
	result->aggfilter = copyObject(aggref->aggfilter);
	return result;
}

Aggref *
aggregate_set_partial(const Aggref *aggref)
{
	const Oid types[] = {ANYELEMENTOID};
	const TargetEntry *argument = linitial(aggref->args);
	Aggref *result = make_aggref(generic_function("distinct_set", types, 1), BYTEAOID,
								 aggref, list_make1(copyObject(argument->expr)));

	result->aggcollid = InvalidOid;
	result->aggfilter = copyObject(aggref->aggfilter);
	return result;
}

Node *
aggregate_set_final(const Aggref *aggref, Var *column)
{
	const Oid types[] = {BYTEAOID};
	Aggref *result = make_aggref(generic_function("distinct_count", types, 1), INT8OID,
								 aggref, list_make1(column));

	result->agglevelsup = column->varlevelsup;
	return (Node *) result;
}

static Node *
final_count(Aggref *sum)
{
	CoalesceExpr *result = makeNode(CoalesceExpr);

	result->coalescetype = INT8OID;
	result->args = list_make2(sum, makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
											 Int64GetDatum(0), false, FLOAT8PASSBYVAL));
	result->location = -1;
	return (Node *) result;
}

static Node *
final_generic(const Aggref *aggref, Var *column)
{
	const Oid types[] = {REGPROCEDUREOID, BYTEAOID, ANYELEMENTOID, INTERNALOID};
	/* The last one can't be written in SQL: states must not come from a client. */
	List *arguments =
		list_make4(aggregate_constant(aggref->aggfnoid), column,
				   makeNullConst(aggref->aggtype, -1, get_typcollation(aggref->aggtype)),
				   makeNullConst(INTERNALOID, -1, InvalidOid));
	Aggref *result = make_aggref(generic_function("final_agg", types, 4), aggref->aggtype,
								 aggref, arguments);

	result->agglevelsup = column->varlevelsup;
	return (Node *) result;
}

static Aggref *
average_part(const Aggref *aggref, Oid function, Oid type)
{
	Aggref *result = copyObject((Aggref *) aggref);

	result->aggfnoid = function;
	result->aggtype = type;
	result->aggtranstype = InvalidOid;
	return result;
}

Aggref *
aggregate_average_sum(const Aggref *aggref)
{
	const AverageRow *row = average_row(aggref->aggfnoid);

	return average_part(aggref, row->sum, row->sum_type);
}

Aggref *
aggregate_average_count(const Aggref *aggref)
{
	return average_part(aggref, F_COUNT_ANY, INT8OID);
}

/* Without any input the sum is NULL, and so is the quotient. */
Node *
aggregate_average_final(const Aggref *aggref, Var *sum, Var *count)
{
	Oid total = sum->vartype == INT8OID ? F_SUM_INT8 : F_SUM_NUMERIC;
	Aggref *dividend = make_aggref(total, NUMERICOID, aggref, list_make1(sum));
	Aggref *divisor = make_aggref(F_SUM_INT8, NUMERICOID, aggref, list_make1(count));

	dividend->agglevelsup = divisor->agglevelsup = sum->varlevelsup;
	return (Node *) makeFuncExpr(F_NUMERIC_DIV, NUMERICOID, list_make2(dividend, divisor),
								 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

Node *
aggregate_final(const Aggref *aggref, Var *column)
{
	AggregateSplit split = aggregate_split(aggref);
	Aggref *result;
	Oid function = aggref->aggfnoid;
	Oid type = aggref->aggtype;

	if (split == SPLIT_GENERIC)
		return final_generic(aggref, column);
	if (type == INT8OID && (split == SPLIT_COUNT || split == SPLIT_SUM))
		function = generic_function("sum", &type, 1);
	else if (split == SPLIT_SUM)
		function = sum_function(type);
	result = make_aggref(function, type, aggref, list_make1(column));
	result->agglevelsup = column->varlevelsup;
	if (split == SPLIT_COUNT)
		return final_count(result);
	return (Node *) result;
}
