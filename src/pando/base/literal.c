/*
 * literal.c: values as SQL text that another node reads back as the same value.
 *
 * Output functions of some types follow settings of the client (DateStyle, IntervalStyle,
 * extra_float_digits, bytea_output, search_path for reg* types, xmlbinary). They are put
 * right around the call, except for types known not to depend on any: those are what
 * distribution columns mostly have, and changing settings costs more than the output.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pando/base/literal.h"

static const struct
{
	const char *name;
	const char *value;
} faithful_settings[] = {
	{"extra_float_digits", "3"},   {"DateStyle", "ISO, MDY"},
	{"IntervalStyle", "postgres"}, {"bytea_output", "hex"},
	{"search_path", "pg_catalog"}, {"lc_monetary", "C"},
};

/* How many of faithful_settings, from the first on, the output of a type depends on. */
static int
literal_settings_needed(Oid type)
{
	switch (type)
	{
		case BOOLOID:
		case CHAROID:
		case NAMEOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case TEXTOID:
		case BPCHAROID:
		case VARCHAROID:
		case NUMERICOID:
		case UUIDOID:
		case JSONOID:
		case JSONBOID:
		case UNKNOWNOID:
		case INT4ARRAYOID:
		case INT8ARRAYOID:
		case TEXTARRAYOID:
			return 0;
		case FLOAT4OID:
		case FLOAT8OID:
			return 1;
		case DATEOID:
		case TIMEOID:
		case TIMETZOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return 2;
		case INTERVALOID:
			return 3;
		case BYTEAOID:
			return 4;
		default:
			return lengthof(faithful_settings);
	}
}

/* Saves and sets what differs of the first nsettings; returns the nesting level for
 * AtEOXact_GUC, 0 for none. */
static int
literal_settings_enter(int nsettings)
{
	int level = 0;

	for (int i = 0; i < nsettings; i++)
	{
		const char *name = faithful_settings[i].name;
		const char *value = faithful_settings[i].value;

		if (strcmp(GetConfigOption(name, false, false), value) == 0)
			continue;
		if (level == 0)
			level = NewGUCNestLevel();
		set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true,
						  0, false);
	}
	return level;
}

/* What most keys and counters are: without a look at the catalogs. NULL: another type. */
static char *
integer_text(Datum value, Oid type)
{
	char *text;

	if (type != INT4OID && type != INT8OID)
		return NULL;
	text = palloc(MAXINT8LEN + 1);
	pg_lltoa(type == INT4OID ? DatumGetInt32(value) : DatumGetInt64(value), text);
	return text;
}

char *
literal_text(Datum value, bool isnull, Oid type)
{
	Oid function;
	bool varlena;
	char *text;
	int level;

	if (isnull)
		return NULL;
	text = integer_text(value, type);
	if (text != NULL)
		return text;
	getTypeOutputInfo(type, &function, &varlena);
	level = literal_settings_enter(literal_settings_needed(type));
	text = OidOutputFunctionCall(function, value);
	if (level != 0)
		AtEOXact_GUC(true, level);
	return text;
}

char *
literal_quote(const char *text)
{
	size_t length = strlen(text);
	size_t quoted = length + 4;
	char *literal;
	char *end;

	if (length < MaxAllocSize / 4)
		return quote_literal_cstr(text);
	for (const char *p = text; *p != '\0'; p++)
		quoted += SQL_STR_DOUBLE(*p, true);
	if (!AllocSizeIsValid(quoted))
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("value is too long for the text of a statement"),
						errdetail("It takes %zu bytes there.", quoted)));
	literal = end = palloc(quoted);
	*end++ = ESCAPE_STRING_SYNTAX;
	*end++ = '\'';
	for (const char *p = text; *p != '\0'; p++)
	{
		if (SQL_STR_DOUBLE(*p, true))
			*end++ = *p;
		*end++ = *p;
	}
	*end++ = '\'';
	*end = '\0';
	return literal;
}
