/*
 * template.c: cutting a deparsed statement into literal pieces and slots.
 *
 * deparse.c gives a text in which every mention of a distributed table reads
 * `schema.name alias`. The core's scanner reads it once, here, and a slot is cut out
 * where
 *
 *     name . name identifier         FROM, JOIN, UPDATE, DELETE FROM, USING
 *     INTO name . name AS identifier INSERT
 *
 * names such a table. A column reference can't read like that: the deparser puts AS
 * before every output name, and all other words that follow an expression are keywords.
 * The number of mentions found is compared with the range table's.
 *
 * A template is data of the plan: its text never depends on parameter values.
 */
#include "pando/compat/compat.h"

#include "access/sysattr.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pando/compat/rights.h"
#include "pando/compat/scanner.h"
#include "pando/plan/deparse.h"
#include "pando/plan/template.h"

/* No user can write this constant where it matters: it is not valid as a result's name.
 */
#define RESULT_PLACEHOLDER "\001result "

typedef struct Token
{
	int kind; /* as the core's grammar numbers them; 0 at the end */
	int start;
	int number;		 /* PARAM */
	const char *str; /* IDENT, SCONST, keywords */
} Token;

#define WINDOW 6 /* tokens looked at together */

typedef struct Cutter
{
	core_yyscan_t scanner;
	core_yy_extra_type extra;
	Token window[WINDOW]; /* window[0] is the current token */
	int previous;		  /* kind of the token before it */
	const char *text;
	StringInfoData literal; /* text since the last slot */
	int depth;
	bool rows; /* an INSERT ... VALUES whose row is still to be cut */
	DeparsedQuery *query;
	List *names;  /* List of (schema, name) Strings, one per relation */
	List *counts; /* int list: mentions found */
	Template *result;
} Cutter;

static Token
read_token(Cutter *cutter)
{
	Token token = {0};
	core_YYSTYPE value;
	YYLTYPE location;

	token.kind = core_yylex(&value, &location, cutter->scanner);
	token.start = location;
	if (token.kind == IDENT || token.kind == SCONST)
		token.str = value.str;
	else if (token.kind == PARAM)
		token.number = value.ival;
	else if (token.kind > NOT_EQUALS)
		token.str = value.keyword;
	return token;
}

static void
advance(Cutter *cutter)
{
	cutter->previous = cutter->window[0].kind;
	if (cutter->previous == 0)
		return;
	memmove(cutter->window, cutter->window + 1, sizeof(Token) * (WINDOW - 1));
	if (cutter->window[WINDOW - 2].kind != 0)
		cutter->window[WINDOW - 1] = read_token(cutter);
}

static void
append_piece(Template *tmpl, TemplatePiece kind, int number, char *text)
{
	tmpl->kinds = lappend_int(tmpl->kinds, kind);
	tmpl->numbers = lappend_int(tmpl->numbers, number);
	tmpl->texts = lappend(tmpl->texts, makeString(text));
}

/* The end of the token before the one at `next`. */
static int
end_before(const Cutter *cutter, int next)
{
	while (next > 0 && strchr(" \n", cutter->text[next - 1]) != NULL)
		next--;
	return next;
}

/* Moves what was read into the template as a piece of text. */
static void
flush_text(Cutter *cutter)
{
	if (cutter->literal.len > 0)
		append_piece(cutter->result, TEMPLATE_TEXT, 0, pstrdup(cutter->literal.data));
	resetStringInfo(&cutter->literal);
}

static void
append_space(Cutter *cutter, int token_end, int next_start)
{
	if (next_start > token_end)
		appendStringInfoChar(&cutter->literal, ' ');
}

/* Takes the current token as it is; one space stands for any indentation after it. */
static void
keep_token(Cutter *cutter)
{
	int start = cutter->window[0].start;
	int next;
	int end;

	advance(cutter);
	next = cutter->window[0].start;
	end = end_before(cutter, next);
	appendBinaryStringInfo(&cutter->literal, cutter->text + start, end - start);
	append_space(cutter, end, next);
}

/* Puts a slot in the place of `count` tokens, and keeps the space after them. */
static void
cut_tokens(Cutter *cutter, TemplatePiece kind, int number, int count)
{
	int next;

	for (int i = 0; i < count; i++)
		advance(cutter);
	next = cutter->window[0].start;
	flush_text(cutter);
	append_piece(cutter->result, kind, number, "");
	append_space(cutter, end_before(cutter, next), next);
}

/* A name as the deparser writes it: keywords that need no quotes are bare. */
static bool
is_name(const Token *token)
{
	return token->kind == IDENT || token->kind > NOT_EQUALS;
}

/* The relation that `schema`.`name` is, or -1. */
static int
relation_number(const Cutter *cutter, const char *schema, const char *name)
{
	int number = 0;

	foreach_ptr (List, pair, cutter->names)
	{
		if (strcmp(strVal(linitial(pair)), schema) == 0 &&
			strcmp(strVal(lsecond(pair)), name) == 0)
			return number;
		number++;
	}
	return -1;
}

/*
 * Minor releases differ in where the deparser writes AS between a relation and its alias:
 * it is left out wherever it may be.
 */
static bool
is_before_relation(int token)
{
	return token == INTO || token == UPDATE || token == FROM || token == ONLY ||
		   token == USING || token == JOIN;
}

static bool
cut_relation(Cutter *cutter)
{
	const Token *t = cutter->window;
	bool as = t[3].kind == AS && is_before_relation(cutter->previous);
	int number;

	if (!is_name(&t[0]) || t[1].kind != '.' || !is_name(&t[2]) ||
		t[as ? 4 : 3].kind != IDENT || cutter->previous == '.')
		return false;
	number = relation_number(cutter, t[0].str, t[2].str);
	if (number < 0)
		return false;
	lfirst_int(list_nth_cell(cutter->counts, number))++;
	cut_tokens(cutter, TEMPLATE_RELATION, number, as && cutter->previous != INTO ? 4 : 3);
	return true;
}

/* VALUES (...) of an INSERT: the parenthesised row becomes the slot. */
static bool
cut_rows(Cutter *cutter)
{
	int depth = 0;

	if (!cutter->rows || cutter->depth > 0 || cutter->window[0].kind != VALUES)
		return false;
	keep_token(cutter);
	do
	{
		if (cutter->window[0].kind == '(')
			depth++;
		else if (cutter->window[0].kind == ')')
			depth--;
		else if (cutter->window[0].kind == 0)
			elog(ERROR, "unbalanced VALUES in deparsed statement");
		if (depth > 0)
			advance(cutter);
	} while (depth > 0);
	cut_tokens(cutter, TEMPLATE_ROWS, 0, 1);
	cutter->rows = false;
	return true;
}

static bool
cut_result(Cutter *cutter)
{
	const Token *t = cutter->window;
	const size_t length = strlen(RESULT_PLACEHOLDER);

	if (t[0].kind != SCONST || cutter->previous != '(' ||
		strncmp(t[0].str, RESULT_PLACEHOLDER, length) != 0)
		return false;
	cut_tokens(cutter, TEMPLATE_RESULT, pg_strtoint32(t[0].str + length), 1);
	return true;
}

static bool
cut_param(Cutter *cutter)
{
	const Token *t = cutter->window;

	if (t[0].kind != PARAM)
		return false;
	cut_tokens(cutter, TEMPLATE_PARAM, t[0].number, 1);
	return true;
}

static void
cut_text(Cutter *cutter)
{
	while (cutter->window[0].kind != 0)
	{
		if (cut_relation(cutter) || cut_param(cutter) || cut_rows(cutter) ||
			cut_result(cutter))
			continue;
		if (cutter->window[0].kind == '(')
			cutter->depth++;
		else if (cutter->window[0].kind == ')')
			cutter->depth--;
		keep_token(cutter);
	}
	flush_text(cutter);
}

/* The core's deparser and the range table must agree on what is mentioned how often. */
static void
check_mentions(const Cutter *cutter)
{
	ListCell *count;
	ListCell *mention;
	bool differs = cutter->rows;

	forboth(count, cutter->counts, mention, cutter->query->mentions)
	{
		int more = lfirst_int(count) - lfirst_int(mention);

		if (cutter->query->repeats ? more < 0 : more != 0)
			differs = true;
	}
	if (differs)
		elog(ERROR, "deparsed statement is not as expected: %s", cutter->text);
}

static void
prepare_names(Cutter *cutter)
{
	foreach_oid(relid, cutter->query->relations)
	{
		char *schema = get_namespace_name(get_rel_namespace(relid));
		char *name = get_rel_name(relid);

		if (schema == NULL || name == NULL)
			elog(ERROR, "cache lookup failed for relation %u", relid);
		cutter->names =
			lappend(cutter->names, list_make2(makeString(schema), makeString(name)));
		cutter->counts = lappend_int(cutter->counts, 0);
	}
}

static Template *
cut_template(DeparsedQuery *query, bool rows)
{
	Cutter cutter = {.query = query, .text = query->text, .rows = rows};

	cutter.result = palloc0(sizeof(Template));
	initStringInfo(&cutter.literal);
	prepare_names(&cutter);
	cutter.scanner =
		scanner_init(query->text, &cutter.extra, &ScanKeywords, ScanKeywordTokens);
	cutter.extra.standard_conforming_strings = true;
	cutter.extra.escape_string_warning = false;
	for (int i = 0; i < WINDOW; i++)
	{
		cutter.window[i] = read_token(&cutter);
		if (cutter.window[i].kind == 0)
			break;
	}
	cut_text(&cutter);
	scanner_finish(cutter.scanner);
	check_mentions(&cutter);
	return cutter.result;
}

static bool
is_values_insert(const Query *query)
{
	return query->commandType == CMD_INSERT && query->jointree->fromlist == NIL;
}

static bool
are_named(const RelationRights *rights, List *entries)
{
	foreach_ptr (TargetEntry, entry, entries)
	{
		if (!entry->resjunk &&
			!bms_is_member(entry->resno - FirstLowInvalidHeapAttributeNumber,
						   rights->insertedCols))
			return false;
	}
	return true;
}

/* Defaults have columns that nobody named: the table of an INSERT, or MERGE, with such.
 */
static Oid
filled_target(const Query *query)
{
	const RangeTblEntry *target;
	bool all_named;

	if (query->commandType != CMD_INSERT && query->commandType != CMD_MERGE)
		return InvalidOid;
	target = rt_fetch(query->resultRelation, query->rtable);
	all_named = are_named(entry_rights(target), query->targetList);
	foreach_ptr (MergeAction, action, query->mergeActionList)
	{
		if (action->commandType == CMD_INSERT)
			all_named &= are_named(entry_rights(target), action->targetList);
	}
	return all_named ? InvalidOid : target->relid;
}

Template *
template_from_query(const Query *query, List **relations)
{
	DeparsedQuery deparsed = deparse_query(copyObject((Query *) query));

	Template *result = cut_template(&deparsed, is_values_insert(query));

	*relations = deparsed.relations;
	result->roles = deparsed.roles;
	result->fills = filled_target(query);
	result->reads = deparsed.reads;
	return result;
}

char *
template_result_placeholder(int number)
{
	return psprintf(RESULT_PLACEHOLDER "%d", number);
}

bool
template_is_result_placeholder(const char *text)
{
	return strncmp(text, RESULT_PLACEHOLDER, strlen(RESULT_PLACEHOLDER)) == 0;
}

char *
template_text(const Template *tmpl, List *relation_names, List *param_literals,
			  const char *rows, List *results)
{
	StringInfoData text;
	ListCell *kind;
	ListCell *number;
	ListCell *piece;

	initStringInfo(&text);
	forthree(kind, tmpl->kinds, number, tmpl->numbers, piece, tmpl->texts)
	{
		int n = lfirst_int(number);

		switch ((TemplatePiece) lfirst_int(kind))
		{
			case TEMPLATE_TEXT:
				appendStringInfoString(&text, strVal(lfirst(piece)));
				break;
			case TEMPLATE_RELATION:
				appendStringInfoString(&text, list_nth(relation_names, n));
				break;
			case TEMPLATE_PARAM:
				if (param_literals)
					appendStringInfoString(&text, list_nth(param_literals, n - 1));
				else
					appendStringInfo(&text, "$%d", n);
				break;
			case TEMPLATE_ROWS:
				if (rows == NULL)
					elog(ERROR, "no rows for an INSERT");
				appendStringInfoString(&text, rows);
				break;
			case TEMPLATE_RESULT:
				appendStringInfoString(&text,
									   quote_literal_cstr(list_nth(results, n - 1)));
				break;
		}
	}
	return text.data;
}

List *
template_pack(const Template *tmpl)
{
	return list_make5(tmpl->kinds, tmpl->numbers, tmpl->texts, tmpl->roles,
					  lcons_oid(tmpl->fills, list_copy(tmpl->reads)));
}

Template *
template_unpack(List *packed)
{
	Template *tmpl = palloc(sizeof(Template));

	tmpl->kinds = linitial(packed);
	tmpl->numbers = lsecond(packed);
	tmpl->texts = lthird(packed);
	tmpl->roles = lfourth(packed);
	tmpl->fills = linitial_oid(list_nth(packed, 4));
	tmpl->reads = list_copy_tail(list_nth(packed, 4), 1);
	return tmpl;
}
