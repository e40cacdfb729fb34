/*
 * line.h: where in its input a COPY is, for the context of errors.
 *
 * A row's errors may show much later than it was read: when a buffer of rows is written,
 * or on the node that holds its shard. So rows carry their line number until they are
 * stored.
 */
#ifndef PANDO_COPY_LINE_H
#define PANDO_COPY_LINE_H

#include "pando/compat/compat.h"
#include "commands/copy.h"

typedef struct CopyLine
{
	const char *relation; /* NULL: the rows come from no COPY and errors get no context */
	uint64 number;		  /* the row at hand; 0: none */
	CopyFromState source; /* set while a line is being read: knows column and text, too */
	bool remote; /* another node's error is being raised: it has its own context */
} CopyLine;

/* An ErrorContextCallback; the argument is a CopyLine. */
extern void copy_line_callback(void *arg);

#endif
