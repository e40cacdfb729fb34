/*
 * call.h: calls of distributed functions on the node that has their rows.
 */
#ifndef PANDO_EXECUTOR_CALL_H
#define PANDO_EXECUTOR_CALL_H

#include "pando/compat/compat.h"
#include "access/tupdesc.h"
#include "nodes/execnodes.h"
#include "utils/tuplestore.h"

#include "pando/metadata/function.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"

/* How a call leaves this node. */
typedef enum CallWay
{
	CALL_STAYS,
	CALL_HANDED_OVER, /* it is all of its transaction, which the other node leads */
	CALL_DELEGATED	  /* it is a part of this transaction, on the other node */
} CallWay;

/* A statement for another node, with its parameters. */
typedef struct RemoteCall
{
	const DistFunction *function;
	const char *sql;
	int nparams;
	Oid *types;
	Datum *values;
	bool *nulls;
} RemoteCall;

/* A shard group: where a call's rows are. */
typedef struct CallPlace
{
	bool known;
	int32 colocation;
	int index;
	const DistNode *node; /* with the first copy; NULL: this one, or one that is not
						   * active. Until the next invalidation may come */
} CallPlace;

/*
 * How a call of the function may leave. `estate`: its own execution, NULL for CALL.
 * `alone`: it is not known to be a part of something else. `atomic`: it can't end the
 * transaction.
 */
extern CallWay call_way(const DistFunction *function, EState *estate, bool alone,
						bool atomic);

/* The anchor as a call that leaves in that way may rely on it; NULL: it is none any more.
 */
extern const DistTable *call_anchor(const DistTable *anchor, CallWay way);

extern CallPlace call_place(const DistTable *anchor, int index);

/* Of a call that is the coordinator's. */
extern CallPlace call_coordinator(void);

/*
 * Runs the statement on the node and adds its rows to the store (NULL: there are none).
 * False: it has to run here, and nothing was done.
 */
extern bool call_run(const DistNode *node, CallWay way, const RemoteCall *call,
					 TupleDesc desc, Tuplestorestate *store);

/* Runs a call here, maybe for another node. `forced`: it must keep to that place. */
extern void call_run_here(bool forced, CallPlace place, void (*run)(void *arg),
						  void *arg);

/* Raises if a call that is forced to keep to a place is running, and this is another
 * one. `write`: it is changed. */
extern void call_check_place(const DistTable *table, int index, bool write);

/* Registers the plan node PLAN_CALL, and what looks at CALL. */
extern void call_init(void);
extern void call_scan_register(void);
extern void call_statement_init(void);

#endif
