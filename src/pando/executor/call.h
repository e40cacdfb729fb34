/*
 * call.h: calls of distributed functions on the node that has their rows.
 */
#ifndef PANDO_EXECUTOR_CALL_H
#define PANDO_EXECUTOR_CALL_H

#include "pando/compat/compat.h"
#include "access/tupdesc.h"
#include "utils/tuplestore.h"

#include "pando/metadata/node.h"
#include "pando/metadata/table.h"

/* A statement for another node, with its parameters. */
typedef struct RemoteCall
{
	const char *sql;
	int nparams;
	Oid *types;
	Datum *values;
	bool *nulls;
} RemoteCall;

/* The node that has the shard group's first copy, if it is another one. NULL: this one,
 * or one that is not active. `index`: -1: there is but one shard group. */
extern const DistNode *call_node(const DistTable *anchor, int index);

/*
 * Runs the statement on the node, in a transaction of its own there, and adds its rows to
 * the store (NULL: there are none). False: it has to run here, nothing was done. The
 * caller has asked xact_may_hand_over().
 */
extern bool call_run(const DistNode *node, const RemoteCall *call, TupleDesc desc,
					 Tuplestorestate *store);

/* Registers the plan node PLAN_CALL, and what looks at CALL. */
extern void call_init(void);
extern void call_scan_register(void);

#endif
