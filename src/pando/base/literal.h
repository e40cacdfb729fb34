/*
 * literal.h: values as SQL text that another node reads back as the same value.
 */
#ifndef PANDO_BASE_LITERAL_H
#define PANDO_BASE_LITERAL_H

#include "pando/compat/compat.h"
#include "lib/stringinfo.h"

/*
 * Appends 'text'::schema.type (or NULL::schema.type). Output is made under settings that
 * lose nothing (extra_float_digits, ISO dates), whatever the client has set.
 */
extern void literal_append(StringInfo out, Datum value, bool isnull, Oid type,
						   int32 typmod);

/* The text form alone, under the same settings; NULL for an SQL NULL. */
extern char *literal_text(Datum value, bool isnull, Oid type);

#endif
