/*
 * fragment.h: a fragment as data: all that planner and executor share.
 *
 * A fragment is a part of a query that runs whole on the nodes that hold the shards. It
 * is one statement with slots for shard names (a Template), values that are computed once
 * per execution on this node (params), and a choice of shard groups. At execution it
 * yields one task per chosen shard group; placements are looked up then, never stored.
 *
 * In a plan tree a fragment is a CustomScan named "Citus Adaptive" whose custom_private
 * is fragment_pack(fragment): Lists and ordinary nodes, so that PostgreSQL can copy it.
 */
#ifndef PANDO_PLAN_FRAGMENT_H
#define PANDO_PLAN_FRAGMENT_H

#include "pando/compat/compat.h"
#include "nodes/extensible.h"
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"
#include "pando/plan/template.h"

typedef enum ShardChoice
{
	SHARDS_ALL,		 /* every shard group of `anchor` */
	SHARDS_BY_KEY,	 /* the shard groups that hold one of the values of `keys` */
	SHARDS_ANY_COPY, /* reference tables only: one task, on this node if it has a copy */
	SHARDS_ALL_COPIES, /* a write to a reference table: one task per placement */
	SHARDS_BY_ROW	   /* INSERT: each row's distribution column value decides */
} ShardChoice;

/* What is gained when several sessions of one node share its tasks (SELECT). */
typedef enum FragmentSpread
{
	SPREAD_NEVER,	/* not allowed: the statement may write */
	SPREAD_NOTHING, /* the node can run the tasks in parallel by itself */
	SPREAD_COST,	/* it can't; worth it if they cost much */
	SPREAD_UNKNOWN	/* nobody knows what they cost */
} FragmentSpread;

/* How a fragment that is a whole statement may run as PostgreSQL's own plan. */
typedef struct FragmentLocal
{
	uint64 id; /* the fragment's */
	Oid anchor;
	Query *query;
	Expr *key; /* its shard group is the one that is needed; NULL: there is but one */
	int cursor_options;
	bool only; /* no node can run the fragment's text */
} FragmentLocal;

/* Of a statement whose constants are parameters of its plan (planner/repeat.c). */
typedef struct FragmentConstants
{
	uint64 statement; /* what planner/repeat.c knows it by */
	int first;		  /* number of the parameter that stands for the first of them */
	List *values;	  /* Const * */
} FragmentConstants;

typedef struct Fragment
{
	uint64 id;		 /* given when it is packed; no other fragment of this backend has it.
					  * Fragments with different constants may have the same one, if
					  * nothing else is different */
	CmdType command; /* CMD_SELECT, CMD_INSERT, CMD_UPDATE, CMD_DELETE */
	Oid anchor;		 /* table whose shards the tasks follow; the target of a write */
	ShardChoice choice;
	List *keys;		 /* SHARDS_BY_KEY: Exprs of anchor's key type over external Params and
					  * stable functions only; NULL has a shard group as well. The union of
					  * their shard groups is run */
	List *relations; /* Oids: distributed tables by slot number of the template */
	Template *template;
	List *params; /* Exprs, evaluated once per execution; $1.. of the template. A
				   * PARAM_EXEC Param is the expression with that number, from 0, among
				   * custom_exprs of the plan node */

	/* What comes out (SELECT, RETURNING); all lists empty when nothing does. */
	List *column_names; /* String */
	List *column_types; /* Oid list */
	List *column_typmods;
	List *column_collations;
	double rows; /* estimate, all tasks together */
	int width;
	Cost cost;			/* of the tasks' work, as on one core */
	List *column_stats; /* HeapTuple per column, pg_statistic's, or NULL; for planning
						 * only, not packed */
	bool mixed;			/* the columns are of several tables; not packed */

	/* SHARDS_BY_ROW: the rows, each a List of Exprs without Vars, all as long as
	 * insert_columns; evaluated per row on this node. The template's VALUES part is a
	 * slot of its own (TEMPLATE_ROWS). */
	List *insert_columns; /* int list: attribute numbers */
	List *insert_rows;	  /* NIL: the rows are those of the node's only child plan */

	/* What a node (or a session) does with its tasks' rows, which have other columns
	 * then: two Strings, the text before and after the tasks joined by UNION ALL; NIL:
	 * nothing */
	List *per_node;

	List *order; /* SortGroupClause *, tleSortGroupRef the column's number: what the text
				  * sorts by, and the order in which the rows come; NIL: in any */

	List *subplans;	 /* SubResult *: what must run first, in this order */
	bool by_ctid;	 /* a write of rows whose ctids they may give */
	bool by_line;	 /* a write of rows that each copy knows by all of their columns */
	bool store;		 /* keep rows in a tuplestore: the scan may be repeated */
	bool early;		 /* what it reads may be changed before its first row is asked for */
	bool locks;		 /* the text locks rows */
	bool only_reads; /* and has no other effect; so does the whole statement */
	bool first_copy; /* read the copy that every write changes first: rows are locked
					  * there, by the text or by what reads the rows' places */
	int restart;	 /* 1 + executor parameter whose change makes the tasks run anew; 0 */
	FragmentSpread spread;
	bool merges; /* tasks of one node had better be one query over all of their shards */
	bool plans_anew; /* tasks had better not have plans for all values of parameters */
	FragmentLocal *local; /* NULL: it can't; fragment_unpack() leaves it out */
} Fragment;

/*
 * A subplan whose rows become an intermediate result before the fragment runs. The
 * template's slot TEMPLATE_RESULT with its number is the argument of the function that
 * reads it: read_intermediate_result() of rows that this node sends to all that read
 * them, pando.exchange_rows() of an exchange.
 */
typedef struct SubResult
{
	int number;		 /* 1-based */
	bool exchange;	 /* rows go from node to node */
	int column;		 /* exchange: output column by whose hash they find the shard group of
					  * the fragment's anchor that reads them; 0: all go everywhere */
	bool keep_nulls; /* of column; else rows without a value are left out */
	bool stored;	 /* exchange: of rows that become a table's, which have no limit */
	bool
		from_nodes; /* exchange: the plan is nothing but one fragment, whose nodes send */
	List *distinct; /* exchange: int list, about how many values each column has; 0 or no
					 * such member: not known */
	PlannedStmt *plan;
} SubResult;

/* The fragment's order as in ORDER BY, with the names of columns or their numbers. */
extern char *fragment_order_text(const Fragment *fragment, bool by_name);

extern List *fragment_pack(const Fragment *fragment);
extern Fragment *fragment_unpack(List *packed);

/* A packed fragment's `local`; false if it has none. */
extern bool fragment_packed_local(List *packed, FragmentLocal *local);

extern uint64 fragment_packed_id(List *packed);

/* Is it for shard groups by key or by row, with no subplan? */
extern bool fragment_packed_is_routed(List *packed);

/* A shallow copy of the packed list with the constants, and those of one that has any. */
extern List *fragment_packed_with_constants(List *packed,
											const FragmentConstants *constants);
extern bool fragment_packed_constants(List *packed, FragmentConstants *constants);

/* An EXPLAIN statement is under way: it shows fragments wherever there may be one. */
extern bool plan_explained;

/* citus.log_local_commands: tasks of this node are reported, so there must be some. */
extern bool plan_logs_local;

/* Is a fragment to have tasks even where PostgreSQL's own plan could take its place? */
static inline bool
plan_shows_tasks(void)
{
	return plan_explained || plan_logs_local;
}

/* Set fields of a packed fragment that is in a plan already. */
extern void fragment_packed_store(List *packed);
extern void fragment_packed_restart(List *packed, int param);

/*
 * Kinds of CustomScan. The module that executes a kind registers it from its init; the
 * planner makes nodes through plan_scan_methods().
 */
typedef enum PlanKind
{
	PLAN_FRAGMENT,		/* "Citus Adaptive" */
	PLAN_INSERT_SELECT, /* "Citus INSERT ... SELECT": rows of a local plan copied to
						 * shards. custom_plans: that plan; custom_private: list_make2(Oid
						 * list with the target alone, int list of attribute numbers, one
						 * per column that is not junk of the plan's output) */
	PLAN_LOCK_ROWS, /* "Citus Lock Rows": hands on the rows of lefttree, a LockRows node,
					 * once the rows at the places named in them are locked; see
					 * planner/row_locks.c for what is where */
	PLAN_STEPS,		/* "Citus Steps": runs plans to their ends, then hands on the rows of
					 * lefttree. custom_private: for each list_make3(name, whether its rows
					 * count as the statement's, PlannedStmt); the rows of one with a name are
					 * kept, and read as an ephemeral named relation by those after it and by
					 * lefttree */
	PLAN_SHARD_CHOICE,	 /* "Citus Shard Choice": runs the one of custom_plans, shards of
						  * one table, that holds the value of custom_exprs' only
						  * expression; custom_private: Oid list with the table alone, int
						  * list of the plans' shards */
	PLAN_BATCHED_LOOKUP, /* "Citus Batched Lookups": runs custom_plans' only member, a
						  * nested loop over an Append of shards, many rows at a time */
	PLAN_ROW_LOOKUP, /* "Citus Row Lookup": the rows of custom_plans' only member of which
					  * columns equal the values of custom_exprs; custom_private: int
					  * list of the columns, and an Oid list that has for each the hash
					  * functions of column and value, and the collation */
	PLAN_READ_FIRST, /* "Citus Read First": hands on the rows of lefttree to a change;
					  * custom_private: list_make1(whether all are read first) */
	PLAN_CALL, /* "Citus Call": a query that is one call of a distributed function. Runs
				* its text on the node that has the rows of custom_exprs' first
				* member, or else lefttree, PostgreSQL's plan for it.
				* custom_private: list_make3(function's and anchor's Oid, text, the
				* call if its record is the only column, or NULL); custom_exprs: the
				* value that chooses the shard group (none: there is but one, or it
				* does not matter), then the text's $1 and on. An empty text: it runs
				* here in any case */
	PLAN_TRIGGERS, /* "Citus Triggers": lefttree is a ModifyTable that takes the shell for
					* a foreign table, so that its triggers fire; rows are changed by
					* plans of their own. custom_private: see TriggeredChange */
	PLAN_ACTIONS_ELSEWHERE, /* "Citus Actions Elsewhere": lefttree is a ModifyTable of a
							 * shard; actions of foreign keys are done elsewhere.
							 * custom_private: list_make3(whether they are, whether rows
							 * move, whether keys of the table to itself wait) */
	PLAN_KINDS
} PlanKind;

/*
 * A change whose triggers fire here. The plan for a row has parameters: $1 and on are the
 * columns of its new version by their numbers, then those of the old one, then its ctid
 * and place.
 */
typedef struct TriggeredChange
{
	AttrNumber ctid; /* columns of ModifyTable's input, or 0 */
	AttrNumber place;
	AttrNumber leaf; /* the partition, which "Citus Read First" puts there */
	PlannedStmt *plan;
	/* ON CONFLICT DO UPDATE: reads what is computed with the row that is in the way, the
	 * row, its ctid and place, and may have the client's parameters after those of a
	 * change; the change of that row; the columns that it has in common. */
	PlannedStmt *find;
	List *found_params; /* int list: what is computed becomes these PARAM_EXEC Params */
	List *found_reads;	/* Oids: tables that it reads for that, roots of partitions */
	AttrNumber found_ctid;
	AttrNumber found_place;
	PlannedStmt *update;
	List *conflict_columns;
	/* The UPDATE of a row that gets another value of the distribution column; it is
	 * planned when the first such row comes. NULL: there is none. */
	Query *move;
	/* The same, of a partitioned table: the DELETE of a row that a trigger of the
	 * partition it would move to gives up. */
	Query *gone;
} TriggeredChange;

/* How many these are, for a table of that many columns. */
#define TRIGGERED_PARAMS(natts) (2 * (natts) + 2)

/* Plans the change of one row, whose triggers have been fired; the planner's. */
extern PlannedStmt *(*triggered_change_planner)(Query *change);

extern List *triggered_change_pack(const TriggeredChange *change);
extern TriggeredChange triggered_change_unpack(const List *packed);

/* How a kind is executed: its state, a struct that begins with a CustomScanState, starts
 * with zeros and the methods, whose name is the kind's. */
extern void plan_register_kind(PlanKind kind, Size state_size,
							   const struct CustomExecMethods *methods);
extern const CustomScanMethods *plan_scan_methods(PlanKind kind);
extern bool plan_is_kind(const Plan *plan, PlanKind kind);

#endif
