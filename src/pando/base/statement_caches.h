/*
 * statement_caches.h: whether what is kept of a statement is used when it comes again.
 *
 * A developer's setting: rows must be the same with all caches of statements (their
 * plans, texts, executions, and what nodes have prepared) forced on and off, and tests
 * run both.
 */
#ifndef PANDO_BASE_STATEMENT_CACHES_H
#define PANDO_BASE_STATEMENT_CACHES_H

#include "pando/compat/compat.h"

typedef enum StatementCaches
{
	STATEMENT_CACHES_NEVER,
	STATEMENT_CACHES_AUTO,
	STATEMENT_CACHES_ALWAYS /* from a statement's first time on */
} StatementCaches;

extern int statement_caches;

extern void statement_caches_init(void);

#endif
