/*
 * query_text.c: PostgreSQL's own text of a Query, and what MERGE has in it.
 */
#include "pando/compat/compat.h"

#include "catalog/namespace.h"
#include "utils/guc.h"
#include "utils/ruleutils.h"

#include "pando/compat/query_form.h"
#include "pando/compat/query_text.h"

#if PG_VERSION_NUM < 170000

char *
compat_query_text(Query *query, bool catalog_first)
{
	OverrideSearchPath path = {.addCatalog = catalog_first};
	char *text;

	PushOverrideSearchPath(&path);
	text = pg_get_querydef(query, false);
	PopOverrideSearchPath();
	return text;
}

bool
merge_action_is_matched(const MergeAction *action)
{
	return action->matched;
}

bool
merge_inserts_unmatched(const Query *query)
{
	return query->mergeUseOuterJoin;
}

bool
merge_changes_unmatched(const Query *query)
{
	return false;
}

bool
merge_is_instead(const Query *query)
{
	return false;
}

#else

char *
compat_query_text(Query *query, bool catalog_first)
{
	int level;
	char *text;

	/* No search path hides pg_catalog's names. */
	if (!catalog_first)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("pg_catalog behind other schemas in search_path is not "
						"supported in a query on distributed tables yet"),
				 errhint("Put pg_catalog first in search_path, or leave it out.")));
	level = NewGUCNestLevel();
	(void) set_config_option("search_path", "pg_catalog", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	merge_form_leave(query);
	text = pg_get_querydef(query, false);
	merge_form_enter(query);
	AtEOXact_GUC(true, level);
	return text;
}

bool
merge_action_is_matched(const MergeAction *action)
{
	return action->matchKind == MERGE_WHEN_MATCHED;
}

static bool
has_action(const Query *query, MergeMatchKind kind)
{
	foreach_ptr (MergeAction, action, query->mergeActionList)
	{
		if (action->matchKind == kind)
			return true;
	}
	return false;
}

bool
merge_inserts_unmatched(const Query *query)
{
	return has_action(query, MERGE_WHEN_NOT_MATCHED_BY_TARGET);
}

bool
merge_changes_unmatched(const Query *query)
{
	return has_action(query, MERGE_WHEN_NOT_MATCHED_BY_SOURCE);
}

bool
merge_is_instead(const Query *query)
{
	return query->commandType == CMD_MERGE && query->mergeTargetRelation != 0 &&
		   query->mergeTargetRelation != query->resultRelation;
}

#endif
