/*
 * template.h: a statement's text with slots where tasks differ.
 *
 * Made from a Query by the core's pg_get_querydef(): every relation in a copy of the
 * query gets an explicit alias that is a plain identifier, search_path is pg_catalog, and
 * then a relation is the one place where the core's scanner reads `name . name [AS]
 * alias`. Mentions are counted against the range table; a difference raises an internal
 * error.
 */
#ifndef PANDO_PLAN_TEMPLATE_H
#define PANDO_PLAN_TEMPLATE_H

#include "pando/compat/compat.h"
#include "lib/stringinfo.h"
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"

typedef enum TemplatePiece
{
	TEMPLATE_TEXT,	   /* literal SQL */
	TEMPLATE_RELATION, /* number: index into Fragment.relations */
	TEMPLATE_PARAM,	   /* number: $number */
	TEMPLATE_ROWS,	   /* the rows of a VALUES list */
	TEMPLATE_RESULT	   /* number: what reads an intermediate result, a quoted literal */
} TemplatePiece;

/* Parallel lists, so that PostgreSQL's copyObject can copy it. */
typedef struct Template
{
	List *kinds;   /* int list of TemplatePiece */
	List *numbers; /* int list */
	List *texts;   /* String; "" for slots */
	List *roles;   /* Oids: whose rights the text uses besides the user's (access.h) */
	Oid fills;	   /* the target of an INSERT with more columns than the client named */
	List *reads;   /* Oids of tables of which it reads more columns than he named */
} Template;

/*
 * Deparses the query (which is copied first). Distributed relations become
 * TEMPLATE_RELATION slots, in *relations (Oids, each once); external Params become
 * TEMPLATE_PARAM. Of an INSERT ... VALUES of one row the row becomes the slot
 * TEMPLATE_ROWS.
 */
extern Template *template_from_query(const Query *query, List **relations);

/*
 * The text constant that stands for intermediate result `number` in a query: where it is
 * the first argument of a function, the template has a TEMPLATE_RESULT slot.
 */
extern char *template_result_placeholder(int number);
extern bool template_is_result_placeholder(const char *text);

/*
 * The text of one task. relation_names: char *, qualified and quoted, one per slot
 * number. param_literals: char * per parameter to put the values inline, or NIL to leave
 * $n. rows: text of the VALUES rows or NULL. results: char * by number of the result,
 * from 1.
 */
extern char *template_text(const Template *tmpl, List *relation_names,
						   List *param_literals, const char *rows, List *results);

extern List *template_pack(const Template *tmpl);
extern Template *template_unpack(List *packed);

#endif
