/*
 * fragment.c: a Fragment as Lists, and back; the registry of CustomScan methods.
 *
 * A packed fragment is one List with a fixed number of elements in the order of enum
 * Field. Each element is an ordinary node or a List (a NULL pointer where it is empty),
 * so that PostgreSQL can copy and print the plan that carries it. Pack and unpack share
 * the nodes: neither copies what it is given.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/plannodes.h"
#include "catalog/pg_type.h"
#include "nodes/value.h"
#include "utils/builtins.h"
#include "utils/typcache.h"

#include "pando/plan/fragment.h"

/* Positions in FIELD_NUMBERS. */
typedef enum Number
{
	NUMBER_COMMAND,
	NUMBER_CHOICE,
	NUMBER_WIDTH,
	NUMBER_STORE,
	NUMBER_EARLY,
	NUMBER_LOCKS,
	NUMBER_ONLY_READS,
	NUMBER_FIRST_COPY,
	NUMBER_RESTART,
	NUMBER_SPREAD,
	NUMBER_MERGES,
	NUMBER_BY_CTID,
	NUMBER_BY_LINE,
	NUMBER_PLANS_ANEW,
	NUMBER_ID_HIGH,
	NUMBER_ID_LOW
} Number;

typedef enum Field
{
	FIELD_NUMBERS, /* int list: enum Number */
	FIELD_ANCHOR,  /* Oid list of one */
	FIELD_KEYS,
	FIELD_RELATIONS,
	FIELD_TEMPLATE,
	FIELD_PARAMS,
	FIELD_COLUMN_NAMES,
	FIELD_COLUMN_TYPES,
	FIELD_COLUMN_TYPMODS,
	FIELD_COLUMN_COLLATIONS,
	FIELD_ROWS, /* Const, which is read at each execution: a Float is text */
	FIELD_COST,
	FIELD_INSERT_COLUMNS,
	FIELD_INSERT_ROWS,
	FIELD_PER_NODE,
	FIELD_ORDER,
	FIELD_SUBPLANS,	 /* List of (int list, PlannedStmt) */
	FIELD_LOCAL,	 /* NIL or (Integer cursor options, Query, key) */
	FIELD_CONSTANTS, /* NIL or (int list: first, high and low half of the statement;
					  * values) */
	FIELDS
} Field;

typedef struct ExecutedKind
{
	CustomScanMethods scan; /* first: what a plan node points to */
	const CustomExecMethods *exec;
	Size state_size;
} ExecutedKind;

static ExecutedKind kinds[PLAN_KINDS];
bool plan_explained = false;
bool plan_logs_local = false;

static List *
subplans_pack(const List *subplans)
{
	List *packed = NIL;

	foreach_ptr (SubResult, sub, subplans)
	{
		List *numbers =
			lappend_int(list_make5_int(sub->number, sub->exchange, sub->column,
									   sub->keep_nulls, sub->from_nodes),
						sub->stored);

		packed = lappend(packed, list_make3(numbers, sub->distinct, sub->plan));
	}
	return packed;
}

static List *
subplans_unpack(const List *packed)
{
	List *subplans = NIL;

	foreach_ptr (List, triple, packed)
	{
		SubResult *sub = palloc(sizeof(SubResult));
		List *numbers = linitial(triple);

		sub->number = list_nth_int(numbers, 0);
		sub->exchange = list_nth_int(numbers, 1) != 0;
		sub->column = list_nth_int(numbers, 2);
		sub->keep_nulls = list_nth_int(numbers, 3) != 0;
		sub->from_nodes = list_nth_int(numbers, 4) != 0;
		sub->stored = list_nth_int(numbers, 5) != 0;
		sub->distinct = lsecond(triple);
		sub->plan = lthird_node(PlannedStmt, triple);
		subplans = lappend(subplans, sub);
	}
	return subplans;
}

static List *
local_pack(const FragmentLocal *local)
{
	if (local == NULL)
		return NIL;
	return list_make4(makeInteger(local->cursor_options), local->query, local->key,
					  makeBoolean(local->only));
}

static Const *
number_pack(double number)
{
	return makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8), Float8GetDatum(number),
					 false, FLOAT8PASSBYVAL);
}

static double
number_unpack(const Const *packed)
{
	return DatumGetFloat8(packed->constvalue);
}

/* A number as two members of an int list, and back. */
static List *
append_halves(List *numbers, uint64 number)
{
	numbers = lappend_int(numbers, (int) (uint32) (number >> 32));
	return lappend_int(numbers, (int) (uint32) number);
}

static uint64
number_of_halves(const List *numbers, int high)
{
	return ((uint64) (uint32) list_nth_int(numbers, high) << 32) |
		   (uint32) list_nth_int(numbers, high + 1);
}

uint64
fragment_packed_id(List *packed)
{
	return number_of_halves(list_nth(packed, FIELD_NUMBERS), NUMBER_ID_HIGH);
}

bool
fragment_packed_local(List *packed, FragmentLocal *local)
{
	List *fields = list_nth(packed, FIELD_LOCAL);

	if (fields == NIL)
		return false;
	local->id = fragment_packed_id(packed);
	local->anchor = linitial_oid((List *) list_nth(packed, FIELD_ANCHOR));
	local->cursor_options = intVal(linitial(fields));
	local->query = lsecond_node(Query, fields);
	local->key = lthird(fields);
	local->only = boolVal(lfourth(fields));
	return true;
}

bool
fragment_packed_is_routed(List *packed)
{
	ShardChoice choice = (ShardChoice) list_nth_int(
		(List *) list_nth(packed, FIELD_NUMBERS), NUMBER_CHOICE);

	return (choice == SHARDS_BY_KEY || choice == SHARDS_BY_ROW) &&
		   list_nth(packed, FIELD_SUBPLANS) == NULL;
}

List *
fragment_packed_with_constants(List *packed, const FragmentConstants *constants)
{
	List *numbers = append_halves(list_make1_int(constants->first), constants->statement);

	packed = list_copy(packed);
	lfirst(list_nth_cell(packed, FIELD_CONSTANTS)) =
		list_make2(numbers, constants->values);
	return packed;
}

bool
fragment_packed_constants(List *packed, FragmentConstants *constants)
{
	List *fields = list_nth(packed, FIELD_CONSTANTS);
	const List *numbers;

	if (fields == NIL)
		return false;
	numbers = linitial(fields);
	constants->first = linitial_int(numbers);
	constants->statement = number_of_halves(numbers, 1);
	constants->values = lsecond(fields);
	return true;
}

char *
fragment_order_text(const Fragment *fragment, bool by_name)
{
	StringInfoData text;
	const char *separator = "";

	initStringInfo(&text);
	foreach_ptr (SortGroupClause, clause, fragment->order)
	{
		int column = clause->tleSortGroupRef - 1;
		Oid type = list_nth_oid(fragment->column_types, column);
		bool descends =
			clause->sortop != lookup_type_cache(type, TYPECACHE_LT_OPR)->lt_opr;

		appendStringInfoString(&text, separator);
		if (by_name)
			appendStringInfoString(&text, quote_identifier(strVal(
											  list_nth(fragment->column_names, column))));
		else
			appendStringInfo(&text, "%d", column + 1);
		if (descends)
			appendStringInfoString(&text, " DESC");
		if (clause->nulls_first != descends)
			appendStringInfoString(&text,
								   clause->nulls_first ? " NULLS FIRST" : " NULLS LAST");
		separator = ", ";
	}
	return text.data;
}

/* What custom_private holds. */
List *
fragment_pack(const Fragment *fragment)
{
	static uint64 last_id = 0;
	List *packed = NIL;
	List *numbers = list_make4_int(fragment->command, fragment->choice, fragment->width,
								   fragment->store);

	numbers = lappend_int(numbers, fragment->early);
	numbers = lappend_int(numbers, fragment->locks);
	numbers = lappend_int(numbers, fragment->only_reads);
	numbers = lappend_int(numbers, fragment->first_copy);
	numbers = lappend_int(numbers, fragment->restart);
	numbers = lappend_int(numbers, fragment->spread);
	numbers = lappend_int(numbers, fragment->merges);
	numbers = lappend_int(numbers, fragment->by_ctid);
	numbers = lappend_int(numbers, fragment->by_line);
	numbers = lappend_int(numbers, fragment->plans_anew);
	last_id++;
	numbers = append_halves(numbers, last_id);
	packed = lappend(packed, numbers);
	packed = lappend(packed, list_make1_oid(fragment->anchor));
	packed = lappend(packed, fragment->keys);
	packed = lappend(packed, fragment->relations);
	packed = lappend(packed, template_pack(fragment->template));
	packed = lappend(packed, fragment->params);
	packed = lappend(packed, fragment->column_names);
	packed = lappend(packed, fragment->column_types);
	packed = lappend(packed, fragment->column_typmods);
	packed = lappend(packed, fragment->column_collations);
	packed = lappend(packed, number_pack(fragment->rows));
	packed = lappend(packed, number_pack(fragment->cost));
	packed = lappend(packed, fragment->insert_columns);
	packed = lappend(packed, fragment->insert_rows);
	packed = lappend(packed, fragment->per_node);
	packed = lappend(packed, fragment->order);
	packed = lappend(packed, subplans_pack(fragment->subplans));
	packed = lappend(packed, local_pack(fragment->local));
	packed = lappend(packed, NIL); /* FIELD_CONSTANTS */
	Assert(list_length(packed) == FIELDS);
	return packed;
}

/* The fragment, in the current memory context; its nodes are those of the packed list. */
Fragment *
fragment_unpack(List *packed)
{
	Fragment *fragment = palloc0(sizeof(Fragment));
	List *numbers;

	if (list_length(packed) != FIELDS)
		elog(ERROR, "packed fragment has %d fields instead of %d", list_length(packed),
			 (int) FIELDS);

	numbers = list_nth(packed, FIELD_NUMBERS);
	fragment->id = fragment_packed_id(packed);
	fragment->command = (CmdType) list_nth_int(numbers, NUMBER_COMMAND);
	fragment->choice = (ShardChoice) list_nth_int(numbers, NUMBER_CHOICE);
	fragment->width = list_nth_int(numbers, NUMBER_WIDTH);
	fragment->store = list_nth_int(numbers, NUMBER_STORE) != 0;
	fragment->early = list_nth_int(numbers, NUMBER_EARLY) != 0;
	fragment->locks = list_nth_int(numbers, NUMBER_LOCKS) != 0;
	fragment->only_reads = list_nth_int(numbers, NUMBER_ONLY_READS) != 0;
	fragment->first_copy = list_nth_int(numbers, NUMBER_FIRST_COPY) != 0;
	fragment->restart = list_nth_int(numbers, NUMBER_RESTART);
	fragment->spread = (FragmentSpread) list_nth_int(numbers, NUMBER_SPREAD);
	fragment->merges = list_nth_int(numbers, NUMBER_MERGES) != 0;
	fragment->by_ctid = list_nth_int(numbers, NUMBER_BY_CTID) != 0;
	fragment->by_line = list_nth_int(numbers, NUMBER_BY_LINE) != 0;
	fragment->plans_anew = list_nth_int(numbers, NUMBER_PLANS_ANEW) != 0;
	fragment->anchor = linitial_oid((List *) list_nth(packed, FIELD_ANCHOR));
	fragment->keys = list_nth(packed, FIELD_KEYS);
	fragment->relations = list_nth(packed, FIELD_RELATIONS);
	fragment->template = template_unpack(list_nth(packed, FIELD_TEMPLATE));
	fragment->params = list_nth(packed, FIELD_PARAMS);
	fragment->column_names = list_nth(packed, FIELD_COLUMN_NAMES);
	fragment->column_types = list_nth(packed, FIELD_COLUMN_TYPES);
	fragment->column_typmods = list_nth(packed, FIELD_COLUMN_TYPMODS);
	fragment->column_collations = list_nth(packed, FIELD_COLUMN_COLLATIONS);
	fragment->rows = number_unpack(list_nth(packed, FIELD_ROWS));
	fragment->cost = number_unpack(list_nth(packed, FIELD_COST));
	fragment->insert_columns = list_nth(packed, FIELD_INSERT_COLUMNS);
	fragment->insert_rows = list_nth(packed, FIELD_INSERT_ROWS);
	fragment->per_node = list_nth(packed, FIELD_PER_NODE);
	fragment->order = list_nth(packed, FIELD_ORDER);
	fragment->subplans = subplans_unpack(list_nth(packed, FIELD_SUBPLANS));
	return fragment;
}

void
fragment_packed_store(List *packed)
{
	lfirst_int(list_nth_cell(list_nth(packed, FIELD_NUMBERS), NUMBER_STORE)) = true;
}

void
fragment_packed_restart(List *packed, int param)
{
	lfirst_int(list_nth_cell(list_nth(packed, FIELD_NUMBERS), NUMBER_RESTART)) =
		param + 1;
}

static Node *
create_state(CustomScan *plan)
{
	const ExecutedKind *kind = (const ExecutedKind *) plan->methods;
	CustomScanState *state =
		(CustomScanState *) newNode(kind->state_size, T_CustomScanState);

	state->methods = kind->exec;
	return (Node *) state;
}

void
plan_register_kind(PlanKind kind, Size state_size, const CustomExecMethods *methods)
{
	Assert(kind < PLAN_KINDS && kinds[kind].exec == NULL);
	kinds[kind] =
		(ExecutedKind){{methods->CustomName, create_state}, methods, state_size};
	RegisterCustomScanMethods(&kinds[kind].scan);
}

const CustomScanMethods *
plan_scan_methods(PlanKind kind)
{
	Assert(kinds[kind].exec != NULL);
	return &kinds[kind].scan;
}

bool
plan_is_kind(const Plan *plan, PlanKind kind)
{
	return plan != NULL && IsA(plan, CustomScan) &&
		   ((const CustomScan *) plan)->methods == &kinds[kind].scan;
}

PlannedStmt *(*triggered_change_planner)(Query *change) = NULL;

List *
triggered_change_pack(const TriggeredChange *change)
{
	List *packed =
		list_make5(list_make5_int(change->ctid, change->place, change->leaf,
								  change->found_ctid, change->found_place),
				   change->plan, change->find, change->update, change->conflict_columns);

	packed = lappend(lappend(packed, change->move), change->gone);
	packed = lappend(packed, change->found_params);
	return lappend(packed, change->found_reads);
}

TriggeredChange
triggered_change_unpack(const List *packed)
{
	const List *numbers = linitial(packed);

	return (TriggeredChange){.ctid = linitial_int(numbers),
							 .place = lsecond_int(numbers),
							 .leaf = lthird_int(numbers),
							 .found_ctid = lfourth_int(numbers),
							 .found_place = list_nth_int(numbers, 4),
							 .plan = lsecond(packed),
							 .find = lthird(packed),
							 .update = lfourth(packed),
							 .conflict_columns = list_nth(packed, 4),
							 .move = list_nth(packed, 5),
							 .gone = list_nth(packed, 6),
							 .found_params = list_nth(packed, 7),
							 .found_reads = list_nth(packed, 8)};
}
