/*
 * sql.h: running SQL inside this backend from C, without the SPI ceremony.
 *
 * Every function runs as the current user; wrap calls in owner_enter()/owner_leave() to
 * run with the extension owner's rights. Nothing but pg_catalog is in the
 * search_path, unless the name says _as_is: then all names are to be qualified.
 */
#ifndef PANDO_BASE_SQL_H
#define PANDO_BASE_SQL_H

#include "pando/compat/compat.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"

/* Runs a statement whose rows, if any, do not matter; returns the rows processed. */
extern uint64 sql_run(const char *fmt, ...) pg_attribute_printf(1, 2);

/* The same for a command that runs users' code, under the current search_path. */
extern uint64 sql_run_as_is(const char *sql);

/* Sets search_path to pg_catalog until AtEOXact_GUC(true, <what is returned>). */
extern int sql_pin_search_path(void);

/* First column of the first row as text in the caller's context; NULL for none or NULL.
 */
extern char *sql_value(const char *fmt, ...) pg_attribute_printf(1, 2);

/* First column of all rows as a List of char * (NULL values as NULL pointers). */
extern List *sql_column(const char *fmt, ...) pg_attribute_printf(1, 2);

/* The same for text with expressions of the user's, under the current search_path. */
extern char *sql_value_as_is(const char *sql);
extern List *sql_column_as_is(const char *sql);

/* Commands (char *) as one string, each ended by a semicolon: one round trip. */
extern char *sql_join(List *commands);

/* Appends a List of char * as an SQL array of text. */
extern void sql_append_text_array(StringInfo out, List *values);

/* Owner of the extension in this database; raises when it isn't created. */
extern Oid sql_extension_owner(void);

typedef struct OwnerScope
{
	Oid userid;
	int security_context;
	int guc_level;
} OwnerScope;

/* Switches to the extension owner until owner_leave(); an error restores by itself. */
extern void owner_enter(OwnerScope *scope);
extern void owner_leave(OwnerScope *scope);

#endif
