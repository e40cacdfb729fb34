/*
 * exchange_argument.c: what pando.exchange_rows() is told about the rows it reads.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pando/plan/exchange_argument.h"

char *
exchange_argument_text(const ExchangeArgument *argument)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "%s:%c:", argument->result, argument->binary ? 'b' : 't');
	foreach_int(distinct, argument->distinct) appendStringInfo(&text, "%d,", distinct);
	appendStringInfo(&text, ":%s", argument->files);
	return text.data;
}

/* The text up to the next ':', which ends it; NULL when there is none. */
static char *
next_part(char **text)
{
	char *part = *text;
	char *end = strchr(part, ':');

	if (end == NULL)
		return NULL;
	*end = '\0';
	*text = end + 1;
	return part;
}

bool
exchange_argument_parse(char *text, ExchangeArgument *argument)
{
	char *format;
	char *distinct;

	argument->result = next_part(&text);
	format = argument->result != NULL ? next_part(&text) : NULL;
	distinct = format != NULL ? next_part(&text) : NULL;
	if (distinct == NULL)
		return false;
	argument->binary = format[0] == 'b';
	argument->distinct = NIL;
	while (*distinct != '\0')
	{
		argument->distinct = lappend_int(argument->distinct, atoi(distinct));
		distinct += strcspn(distinct, ",");
		distinct += *distinct == ',';
	}
	argument->files = text;
	return true;
}

int
exchange_call_distinct(Node *call, int column)
{
	ExchangeArgument argument;
	Const *files;

	if (!is_funcclause(call) || list_length(((FuncExpr *) call)->args) != 1)
		return 0;
	files = linitial(((FuncExpr *) call)->args);
	if (!IsA(files, Const) || files->consttype != TEXTOID || files->constisnull ||
		strcmp(get_func_name(((FuncExpr *) call)->funcid), "exchange_rows") != 0 ||
		!exchange_argument_parse(TextDatumGetCString(files->constvalue), &argument) ||
		column < 1 || column > list_length(argument.distinct))
		return 0;
	return list_nth_int(argument.distinct, column - 1);
}
