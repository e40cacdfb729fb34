/*
 * literal.h: values as SQL text that another node reads back as the same value.
 */
#ifndef PANDO_BASE_LITERAL_H
#define PANDO_BASE_LITERAL_H

#include "pando/compat/compat.h"

/*
 * The text form, made under settings that lose nothing (extra_float_digits, ISO dates),
 * whatever the client has set; NULL for an SQL NULL.
 */
extern char *literal_text(Datum value, bool isnull, Oid type);

/* quote_literal_cstr() for long texts, too, which it takes twice the room for. */
extern char *literal_quote(const char *text);

#endif
