/*
 * function.h: functions and procedures that run on a certain node: where the rows of an
 * argument are, or on the coordinator.
 */
#ifndef PANDO_METADATA_FUNCTION_H
#define PANDO_METADATA_FUNCTION_H

#include "pando/compat/compat.h"

#include "pando/metadata/table.h"

typedef struct DistFunction
{
	Oid funcid;
	bool distributed;  /* false: known to be none */
	int argument;	   /* among its input arguments, from 0; -1: none */
	int32 colocation;  /* colocation group */
	bool forced;	   /* force_delegation */
	bool coordinators; /* one of the extension's, whose place is the coordinator */
	bool of_table;	   /* only if its table is a managed local one */
	Oid anchor;		   /* a table of the group, as far as known */
	int failures;	   /* delegated calls in a row that had to run here after all */
	int pause;		   /* calls that are not delegated for that */
} DistFunction;

/* How its calls go to another node; NULL: they don't. Valid until the next invalidation
 * may come. */
extern const DistFunction *dist_function(Oid funcid);

/* A table of its colocation group that has shards; NULL: there is none. */
extern const DistTable *dist_function_anchor(const DistFunction *function);

/*
 * Is a call within a larger transaction worth to be delegated? Not for a while, longer
 * each time, when calls turned out to need more than their node.
 */
extern bool dist_function_try(Oid funcid);
extern void dist_function_tried(Oid funcid, bool was_enough);

/* Tells all backends of this node that the function became distributed, or otherwise. */
extern void dist_function_invalidate(Oid funcid);

#endif
