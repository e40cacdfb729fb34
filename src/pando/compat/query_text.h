/*
 * query_text.h: PostgreSQL's own text of a Query, and what MERGE has in it.
 */
#ifndef PANDO_COMPAT_QUERY_TEXT_H
#define PANDO_COMPAT_QUERY_TEXT_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * The text of a Query in the form of query_form.h, with all names qualified but, where
 * pg_catalog comes first in the search path, those of pg_catalog. Where it doesn't, since
 * PostgreSQL 17 there is no text: raises feature_not_supported.
 */
extern char *compat_query_text(Query *query, bool catalog_first);

/* Is an action for rows of the target that have a match? */
extern bool merge_action_is_matched(const MergeAction *action);

/* Has it actions for rows of the source that have no match; since PostgreSQL 17 it may
 * have some for such rows of the target. */
extern bool merge_inserts_unmatched(const Query *query);
extern bool merge_changes_unmatched(const Query *query);

/* Is its target a view whose INSTEAD OF triggers make the changes, since PostgreSQL 17?
 */
extern bool merge_is_instead(const Query *query);

#endif
