/*
 * split.h: rows that go to other nodes by the hash of a column, or to several nodes.
 *
 * An exchange gives the rows of a query another place. Each node that has some of them
 * splits its own into parts, one per shard group of the readers (or one for all), and
 * keeps each part (pieces.h) on the nodes that will read it: itself, or others, over
 * sessions of its own.
 */
#ifndef PANDO_EXECUTOR_SPLIT_H
#define PANDO_EXECUTOR_SPLIT_H

#include "pando/compat/compat.h"
#include "tcop/dest.h"

typedef struct SplitTarget
{
	int part;
	int32 group;
} SplitTarget;

typedef struct SplitSpec
{
	const char *name; /* of the result */
	bool binary;	  /* format of the values: see columns_travel_binary() */
	int column;		  /* whose hash decides, from 1; 0: there is one part */
	bool keep_nulls;  /* rows without a value go where the hash 0 is; else to nobody */
	int limit;		  /* kilobytes, -1: none */
	int nparts;
	int32 *min_hash; /* first hash value of each part, ascending */
	int ntargets;
	SplitTarget *targets; /* in split_order_targets()'s order; a part that nobody reads is
						   * thrown away */
	const char *text;	  /* split_text(), for commands */
} SplitSpec;

/* Orders the targets by part and group, once each. */
extern void split_order_targets(SplitSpec *spec);

/* What all commands have in common; as long as there are parts, so it is made once. */
extern char *split_text(const SplitSpec *spec);

/* A receiver that splits the rows it gets, and raises when they are too many. */
extern DestReceiver *splitter_create(const SplitSpec *spec);

/* After its shutdown: rows by part, and the bytes of all. */
extern const int64 *splitter_rows(DestReceiver *splitter);
extern int64 splitter_bytes(DestReceiver *splitter);

/* SELECT of pando.exchange_send() that splits a query's rows on another node. */
extern char *split_command(const SplitSpec *spec, const char *query);

#endif
