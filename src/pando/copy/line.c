/*
 * line.c: the context line of errors during COPY, in PostgreSQL's words.
 */
#include "pando/compat/compat.h"

#include "pando/copy/line.h"

void
copy_line_callback(void *arg)
{
	CopyLine *line = (CopyLine *) arg;

	if (line->remote || line->relation == NULL)
		return;
	if (line->source != NULL)
		CopyFromErrorCallback(line->source);
	else if (line->number > 0)
		errcontext("COPY %s, line %llu", line->relation,
				   (unsigned long long) line->number);
}
