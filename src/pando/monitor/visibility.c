/*
 * visibility.c: shards don't show in a client's look at pg_class.
 *
 * A node with shards has hundreds of plain tables that nobody should see in \d, in a dump
 * or in what an ORM reads. Every pg_class in a client's query, also below views, gets a
 * condition that is applied at its scan. Only the query as the client sent it is treated:
 * what functions run, ours included, sees everything; so do sessions from other nodes,
 * and applications that citus.show_shards_for_app_name_prefixes names.
 *
 * Relies on the server planning a client's query before it makes a portal for it
 * (ActivePortal is not set then, but is while functions and utility commands plan), and
 * on the planner treating RangeTblEntry.securityQuals as conditions of the scan.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"
#include "parser/parse_func.h"
#include "tcop/pquery.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/portal.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "pando/compat/rights.h"
#include "pando/base/hook.h"
#include "pando/metadata/shard_relation.h"
#include "pando/metadata/table.h"
#include "pando/monitor/visibility.h"

PG_FUNCTION_INFO_V1(relation_is_shown);

static bool hide_shards = true;
static char *shown_to_prefixes = NULL;
static char *hidden_from_prefixes = NULL;

/* ------------------------------------------------------------------------------------
 * Who sees shards.
 */

static bool
name_starts_with(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* Does the name start with one of a list, or is * on it? */
static bool
is_listed(const char *name, const char *list)
{
	List *prefixes = NIL;

	if (list == NULL || !SplitGUCList(pstrdup(list), ',', &prefixes))
		return false;
	foreach_ptr (const char, prefix, prefixes)
		if (strcmp(prefix, "*") == 0 || name_starts_with(name, prefix))
			return true;
	return false;
}

static bool
application_sees_shards(void)
{
	const char *name = application_name != NULL ? application_name : "";

	return name_starts_with(name, "citus_internal gpid=") ||
		   is_listed(name, shown_to_prefixes) || !is_listed(name, hidden_from_prefixes);
}

/* relation_is_shown(oid, name): is it neither a shard nor an index of one? */
Datum
relation_is_shown(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	const char *name = NameStr(*PG_GETARG_NAME(1));
	size_t length = strlen(name);

	/* Nearly all names end the matter here. */
	if (!hide_shards || length == 0 || name[length - 1] < '0' || name[length - 1] > '9' ||
		strchr(name, '_') == NULL || name_starts_with(name, "pg_toast"))
		PG_RETURN_BOOL(true);
	if (relation_is_shard(relid, NULL, NULL))
		PG_RETURN_BOOL(false);
	if (get_rel_relkind(relid) == RELKIND_INDEX ||
		get_rel_relkind(relid) == RELKIND_PARTITIONED_INDEX)
		relid = IndexGetRelation(relid, true);
	PG_RETURN_BOOL(!OidIsValid(relid) || !relation_is_shard(relid, NULL, NULL));
}

/* ------------------------------------------------------------------------------------
 * The condition.
 */

static Node *
shown_condition(int rtindex)
{
	static const Oid types[] = {OIDOID, NAMEOID};
	Oid function = LookupFuncName(
		list_make2(makeString("pando"), makeString("relation_is_shown")), 2, types, true);
	List *args = list_make2(
		makeVar(rtindex, Anum_pg_class_oid, OIDOID, -1, InvalidOid, 0),
		makeVar(rtindex, Anum_pg_class_relname, NAMEOID, -1, C_COLLATION_OID, 0));

	if (!OidIsValid(function))
		return NULL;
	return (Node *) makeFuncExpr(function, BOOLOID, args, InvalidOid, C_COLLATION_OID,
								 COERCE_EXPLICIT_CALL);
}

static bool
hide_in_query(Node *node, void *context)
{
	Query *query;
	int rtindex = 0;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, hide_in_query, context);
	query = (Query *) node;
	foreach_ptr (RangeTblEntry, entry, query->rtable)
	{
		RelationRights *rights;
		Node *condition;

		rtindex++;
		if (entry->rtekind != RTE_RELATION || entry->relid != RelationRelationId ||
			rtindex == query->resultRelation)
			continue;
		condition = shown_condition(rtindex);
		if (condition == NULL)
			continue;
		entry->securityQuals = lappend(entry->securityQuals, condition);
		rights = query_rights(query, entry);
		rights->selectedCols = bms_add_member(
			rights->selectedCols, Anum_pg_class_oid - FirstLowInvalidHeapAttributeNumber);
		rights->selectedCols =
			bms_add_member(rights->selectedCols,
						   Anum_pg_class_relname - FirstLowInvalidHeapAttributeNumber);
	}
	return query_tree_walker(query, hide_in_query, context, 0);
}

/* Does the query mention pg_class? Quick for the short queries of a busy client. */
static bool
mentions_pg_class(Node *node, void *context)
{
	Query *query;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, mentions_pg_class, context);
	query = (Query *) node;
	foreach_ptr (RangeTblEntry, entry, query->rtable)
	{
		if (entry->rtekind == RTE_RELATION && entry->relid == RelationRelationId)
			return true;
		if (entry->rtekind == RTE_SUBQUERY &&
			mentions_pg_class((Node *) entry->subquery, context))
			return true;
	}
	if (!query->hasSubLinks && query->cteList == NIL)
		return false;
	return query_tree_walker(query, mentions_pg_class, context, QTW_IGNORE_RT_SUBQUERIES);
}

static PlannedStmt *
visibility_planner(Query *parse, const char *query_string, int options,
				   ParamListInfo params)
{
	if (hide_shards && ActivePortal == NULL && MyBackendType == B_BACKEND &&
		mentions_pg_class((Node *) parse, NULL) && metadata_active() &&
		!application_sees_shards())
		hide_in_query((Node *) parse, NULL);
	return hook_planner_next(PLANNER_VISIBILITY, parse, query_string, options, params);
}

static bool
check_prefixes(char **value, void **extra, GucSource source)
{
	List *names = NIL;
	char *copy = pstrdup(*value != NULL ? *value : "");
	bool valid = SplitGUCList(copy, ',', &names);

	if (!valid)
		GUC_check_errdetail("List syntax is invalid.");
	list_free(names);
	return valid;
}

void
visibility_init(void)
{
	DefineCustomBoolVariable(
		"citus.override_table_visibility",
		"Hides shards from clients that look at the list of relations.", NULL,
		&hide_shards, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("citus.show_shards_for_app_name_prefixes",
							   "Shows shards to applications whose name starts with one "
							   "of these, or to all for *.",
							   NULL, &shown_to_prefixes, "", PGC_USERSET, GUC_LIST_INPUT,
							   check_prefixes, NULL, NULL);
	DefineCustomStringVariable("citus.hide_shards_from_app_name_prefixes",
							   "Hides shards only from applications whose name starts "
							   "with one of these, or from all for *.",
							   NULL, &hidden_from_prefixes, "*", PGC_USERSET,
							   GUC_LIST_INPUT, check_prefixes, NULL, NULL);
	hook_planner(PLANNER_VISIBILITY, visibility_planner);
}
