/*
 * exchange_argument.h: what pando.exchange_rows() is told about the rows it reads.
 */
#ifndef PANDO_PLAN_EXCHANGE_ARGUMENT_H
#define PANDO_PLAN_EXCHANGE_ARGUMENT_H

#include "pando/compat/compat.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"

typedef struct ExchangeArgument
{
	const char *result;
	bool binary;	/* values are in their types' binary form */
	List *distinct; /* int list: about how many values each column has; 0: not known */
	char *files;	/* what the names of the result's files end with, each followed by a
					 * comma: <part>_<group> */
} ExchangeArgument;

/* As text: "<result>:<b or t>:<distinct>,...:<files>" */
extern char *exchange_argument_text(const ExchangeArgument *argument);

/* False if it is not such a text, which is changed. */
extern bool exchange_argument_parse(char *text, ExchangeArgument *argument);

/* The values of a column (from 1) of a call with a constant argument; 0: not known, or
 * another function. */
extern int exchange_call_distinct(Node *call, int column);

#endif
