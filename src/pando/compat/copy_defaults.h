/*
 * copy_defaults.h: the columns that COPY FROM fills with their defaults.
 */
#ifndef PANDO_COMPAT_COPY_DEFAULTS_H
#define PANDO_COMPAT_COPY_DEFAULTS_H

#include "postgres.h"
#include "commands/copyfrom_internal.h"

/* The number of the column that is filled as the i-th, and what computes it. */
static inline AttrNumber
compat_copy_default_column(CopyFromState source, int i)
{
	return source->defmap[i] + 1;
}

static inline ExprState **
compat_copy_default(CopyFromState source, int i)
{
#if PG_VERSION_NUM >= 160000
	return &source->defexprs[source->defmap[i]];
#else
	return &source->defexprs[i];
#endif
}

#endif
