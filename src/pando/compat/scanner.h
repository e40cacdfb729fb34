/*
 * scanner.h: PostgreSQL's scanner of SQL, and its tokens.
 */
#ifndef PANDO_COMPAT_SCANNER_H
#define PANDO_COMPAT_SCANNER_H

#include "pando/compat/compat.h"

#if PG_VERSION_NUM < 160000
#include "parser/gramparse.h"
#else
#include "common/keywords.h"
#include "parser/scanner.h"
/* The grammar's header is not installed: these are the first of any grammar that uses the
 * scanner, in the order that parser/scanner.h demands. */
enum
{
	IDENT = 258,
	UIDENT,
	FCONST,
	SCONST,
	USCONST,
	BCONST,
	XCONST,
	Op,
	ICONST,
	PARAM,
	TYPECAST,
	DOT_DOT,
	COLON_EQUALS,
	EQUALS_GREATER,
	LESS_EQUALS,
	GREATER_EQUALS,
	NOT_EQUALS
};

static inline int
scan_keyword(const char *word)
{
	return ScanKeywordTokens[ScanKeywordLookup(word, &ScanKeywords)];
}

#define AS scan_keyword("as")
#define FROM scan_keyword("from")
#define INTO scan_keyword("into")
#define JOIN scan_keyword("join")
#define ONLY scan_keyword("only")
#define UPDATE scan_keyword("update")
#define USING scan_keyword("using")
#define VALUES scan_keyword("values")
#endif

#endif
