/*
 * handler.h: one utility statement under way, and what handlers do with it.
 *
 * A handler's prepare() looks at the raw tree before anything runs: it finds the
 * distributed tables the statement is about (none: the statement is not ours), refuses
 * what cannot be, fixes the names PostgreSQL would choose, and makes the statements for
 * this node's shards. The same handler runs on every node; `applying` says that another
 * node sent the statement here.
 */
#ifndef PANDO_DDL_HANDLER_H
#define PANDO_DDL_HANDLER_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"

#include "pando/ddl/shard_ddl.h"

/* The arguments of the ProcessUtility call, to hand on. */
typedef struct DdlCall
{
	PlannedStmt *pstmt;
	const char *query_string;
	bool read_only_tree;
	ProcessUtilityContext context;
	ParamListInfo params;
	QueryEnvironment *query_env;
	DestReceiver *dest;
	QueryCompletion *qc;
} DdlCall;

typedef struct DdlJob
{
	Node *stmt;			/* raw tree, the job's own copy */
	const char *source; /* the text that its locations point into */
	bool applying;		/* another node sent it */
	bool concerned;		/* is it about distributed objects at all? */
	bool on_rows;		/* its queries see the rows of distributed tables */
	bool outside;		/* nodes change shards outside the transaction, one by one */
	List *tables;		/* Oids of the distributed tables it is about */
	List *locks;		/* DdlLock *: of what it isn't about (lock_list.h) */
	List *objects;		/* ObjectAddress *: others that all nodes have and it is about */
	List *looked_up;	/* ObjectAddress *: all it names, which are locked AccessShare */
	List *shard_statements; /* raw trees for this node's shards */
	List *names;			/* names fixed so far, in order (char *) */
	List *names_given;		/* when applying: the sender's, in the same order */
	List *filled;			/* new columns (char *) whose rows columns_fill() numbers */
	List *indexes_before;	/* partition_indexes_note() */
	List *truncated;		/* open relations (Relation) whose triggers TRUNCATE fires */
	const struct DdlHandler *handler;
	DdlCall *call; /* NULL when applying */
	void (*spread)(
		struct DdlJob *job); /* what is left to do once the shell has changed */
	MemoryContext context;	 /* of the job, while the shell is changed */
} DdlJob;

typedef struct DdlHandler
{
	NodeTag tag;
	int object_type;			  /* ObjectType, or ANY_OBJECT */
	void (*prepare)(DdlJob *job); /* see above */
	void (*finish)(DdlJob *job);  /* after shell and shards are changed, on each node */
	void (*changed)(DdlJob *job); /* right after the shell is changed, on each node */
	bool (*run)(DdlJob *job);	  /* instead of the usual way; false: go the usual way */
	Oid capture_class;			  /* catalog whose new rows are the objects made */
	bool managed_local; /* other nodes' shells of managed local tables follow it, too */
	void (*shell)(DdlJob *job); /* changes the shell, in job_run_shell()'s place */
} DdlHandler;

#define ANY_OBJECT (-1)

/* The row for a statement, NULL when no such statement can concern us. */
extern const DdlHandler *handler_find(Node *stmt);

/* The kind of object (ObjectType) that a statement says it is about, or ANY_OBJECT. */
extern int handler_object_type(Node *stmt);

/* ------------------------------------------------------------------------------------
 * For handlers
 */

/*
 * Is it a table with shards (or, for handlers that say so, a managed local one), once
 * conversions and moves of it that are under way are over? False for InvalidOid.
 */
extern bool job_table_has_shards(Oid relid);

/* OID of a distributed table named there, InvalidOid for anything else. */
extern Oid job_distributed_table(RangeVar *relation);

/* Adds a table: the statement is about it. */
extern void job_add_table(DdlJob *job, Oid relid);

/* A copy of `stmt` per shard of the table that this node has, renamed, to be run. */
extern void job_add_shards(DdlJob *job, Oid relid, Node *stmt);

/* The usual case: one table, named by `relation`; every shard gets the same statement. */
extern void job_one_table(DdlJob *job, RangeVar *relation);

/* Fixes a name: the coordinator's choice when applying, else `choice`, and remembers it.
 */
extern char *job_fix_name(DdlJob *job, char *choice);

/* Shard ids of a table with an active placement in a node group, as ShardMaps (List). */
extern List *job_shard_maps(Oid relid, int32 group);

/* Runs the job's statement on this node through PostgreSQL, as the caller asked for. */
extern void job_run_shell(DdlJob *job);

/*
 * Does job->spread, once: after job_run_shell(), or from within it, when event triggers
 * of ddl_command_end are about to fire.
 */
extern void job_spread(DdlJob *job);

/* The statement's own text. */
extern char *job_text(const DdlJob *job);

/* Raises feature_not_supported "<what> on distributed tables is not supported". */
extern void job_refuse(DdlJob *job, const char *what, const char *hint)
	pg_attribute_noreturn();

#endif
