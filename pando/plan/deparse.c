/*
 * deparse.c: a Query as SQL text that means the same when read on another node.
 *
 * The core's pg_get_querydef() prints; this file prepares the query so that the text
 * holds everywhere:
 *
 * - search_path is pg_catalog alone, so that all other names come out qualified. Where
 * the client's own path does not begin with pg_catalog it is empty: built-in names are
 * then qualified as well, for the node follows the client's path.
 * - Output settings are those that lose nothing, as for any value sent to a node.
 * - Distributed relations get an explicit alias which is not a keyword.
 * - What names the shell table's own objects is replaced: its row type in whole-row
 *   references (a shard has a row type of its own), its OID, its constraints.
 * - Known quirks of the deparser are routed around or refused, see quirk_walker().
 *
 * What would change the rows silently if it were dropped raises an error: row-level
 * security quals and WITH CHECK OPTIONs have no place in the text.
 */
#include "pando/compat/compat.h"

#include "access/genam.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "common/keywords.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "pando/metadata/table.h"
#include "pando/plan/deparse.h"

/* What one walk over the query finds out and prepares. */
typedef struct QuirkContext
{
	List *levels; /* Query *, innermost first */
	DeparsedQuery *result;
	bool replace_vars; /* there are whole-row or tableoid references to replace */
} QuirkContext;

static bool quirk_walker(Node *node, QuirkContext *context);

static void
refuse(const char *construct)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("%s is not supported in a query on distributed tables yet",
						   construct)));
}

static void
count_mention(DeparsedQuery *result, Oid relid)
{
	int index = 0;

	foreach_oid(seen, result->relations)
	{
		if (seen == relid)
		{
			lfirst_int(list_nth_cell(result->mentions, index))++;
			return;
		}
		index++;
	}
	result->relations = lappend_oid(result->relations, relid);
	result->mentions = lappend_int(result->mentions, 1);
}

/* Gives the relation an alias that the scanner reads as an identifier. */
static void
name_relation(RangeTblEntry *rte)
{
	const char *name = rte->alias ? rte->alias->aliasname : rte->eref->aliasname;
	Alias *alias;

	/* Bare keywords are what tells a column reference from a relation; see template.c. */
	if (ScanKeywordLookup(name, &ScanKeywords) >= 0)
		name = psprintf("%s_", name);
	else if (rte->alias)
		return;

	alias = makeNode(Alias);
	alias->aliasname = pstrdup(name);
	alias->colnames = rte->alias ? rte->alias->colnames : NIL;
	rte->alias = alias;
}

/* Names and counts the distributed relations which the deparser will print. */
static void
mention_relation(Query *query, int rtindex, DeparsedQuery *result)
{
	RangeTblEntry *rte = rt_fetch(rtindex, query->rtable);

	if (rte->rtekind != RTE_RELATION || dist_table(rte->relid) == NULL)
		return;
	name_relation(rte);
	count_mention(result, rte->relid);
}

static void
mention_from(Query *query, Node *item, DeparsedQuery *result)
{
	if (item == NULL)
		return;
	if (IsA(item, RangeTblRef))
	{
		int rtindex = ((RangeTblRef *) item)->rtindex;

		/* UPDATE and DELETE have their target in the jointree too: it is printed once. */
		if (rtindex != query->resultRelation)
			mention_relation(query, rtindex, result);
	}
	else if (IsA(item, JoinExpr))
	{
		mention_from(query, ((JoinExpr *) item)->larg, result);
		mention_from(query, ((JoinExpr *) item)->rarg, result);
	}
	else if (IsA(item, FromExpr))
	{
		foreach_ptr (Node, child, ((FromExpr *) item)->fromlist)
		{
			mention_from(query, child, result);
		}
	}
}

/*
 * ON CONFLICT ON CONSTRAINT names the shell table's constraint: infer the same index from
 * its columns instead.
 */
static void
conflict_by_columns(Query *query)
{
	OnConflictExpr *conflict = query->onConflict;
	Oid indexid = get_constraint_index(conflict->constraint);
	Relation index = index_open(indexid, AccessShareLock);

	if (!index->rd_index->indisunique)
		refuse("ON CONFLICT with an exclusion constraint");
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		AttrNumber attno = index->rd_index->indkey.values[i];
		RangeTblEntry *rte = rt_fetch(query->resultRelation, query->rtable);
		InferenceElem *elem = makeNode(InferenceElem);
		Oid type;
		Oid collation;
		int32 typmod;

		get_atttypetypmodcoll(rte->relid, attno, &type, &typmod, &collation);
		elem->expr =
			(Node *) makeVar(query->resultRelation, attno, type, typmod, collation, 0);
		conflict->arbiterElems = lappend(conflict->arbiterElems, elem);
	}
	conflict->constraint = InvalidOid;
	index_close(index, AccessShareLock);
}

static void
prepare_level(Query *query, QuirkContext *context)
{
	if (query->withCheckOptions)
		refuse("a view WITH CHECK OPTION or a row-level security policy");
	query->isReturn = false;

	/* The rewriter has put what these clauses mean into the CTE's query already. */
	foreach_ptr (CommonTableExpr, cte, query->cteList)
	{
		cte->search_clause = NULL;
		cte->cycle_clause = NULL;
	}

	if (query->resultRelation)
		mention_relation(query, query->resultRelation, context->result);
	mention_from(query, (Node *) query->jointree, context->result);
	if (query->onConflict)
	{
		/* The planner's business; it holds a whole-row reference. */
		query->onConflict->exclRelTlist = NIL;
		if (OidIsValid(query->onConflict->constraint))
			conflict_by_columns(query);
	}
}

static RangeTblEntry *
rte_of_var(const Var *var, List *levels)
{
	Query *query;

	if (var->varlevelsup >= list_length(levels))
		elog(ERROR, "bogus varlevelsup: %u", var->varlevelsup);
	query = list_nth(levels, var->varlevelsup);
	return rt_fetch(var->varno, query->rtable);
}

static bool
var_names_shell(const Var *var, List *levels)
{
	if (var->varattno == InvalidAttrNumber || var->varattno == TableOidAttributeNumber)
	{
		RangeTblEntry *rte = rte_of_var(var, levels);

		return rte->rtekind == RTE_RELATION && dist_table(rte->relid) != NULL;
	}
	return false;
}

/* The field names of a row are lost in text unless they are those of a plain ROW(). */
static void
check_row_names(const RowExpr *row)
{
	int number = 0;

	if (row->row_typeid != RECORDOID)
		return;
	foreach_ptr (String, name, row->colnames)
	{
		if (strcmp(strVal(name), psprintf("f%d", ++number)) != 0)
			refuse("a whole-row reference to the alias of a JOIN ... USING");
	}
}

static bool
quirk_walker(Node *node, QuirkContext *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		Query *query = (Query *) node;

		context->levels = lcons(query, context->levels);
		prepare_level(query, context);
		query_tree_walker(query, quirk_walker, context, QTW_EXAMINE_RTES_BEFORE);
		context->levels = list_delete_first(context->levels);
		return false;
	}
	if (IsA(node, RangeTblEntry))
	{
		if (((RangeTblEntry *) node)->securityQuals)
			refuse("a row-level security policy");
		return false;
	}
	if (IsA(node, Var))
	{
		if (var_names_shell((Var *) node, context->levels))
			context->replace_vars = true;
		return false;
	}
	if (IsA(node, RowExpr))
		check_row_names((RowExpr *) node);
	return expression_tree_walker(node, quirk_walker, context);
}

/*
 * A row of the shell table's type from the columns, NULL where an outer join made the
 * whole row NULL.
 */
static Node *
whole_row(const Var *var, const RangeTblEntry *rte)
{
	Relation relation = table_open(rte->relid, NoLock);
	TupleDesc desc = RelationGetDescr(relation);
	RowExpr *row = makeNode(RowExpr);
	NullTest *present = makeNode(NullTest);
	CaseExpr *result = makeNode(CaseExpr);
	CaseWhen *when = makeNode(CaseWhen);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);

		if (attr->attisdropped)
			row->args = lappend(row->args, makeNullConst(INT4OID, -1, InvalidOid));
		else
			row->args = lappend(row->args, makeVar(var->varno, i + 1, attr->atttypid,
												   attr->atttypmod, attr->attcollation,
												   var->varlevelsup));
		row->colnames =
			lappend(row->colnames, makeString(pstrdup(NameStr(attr->attname))));
	}
	row->row_typeid = var->vartype;
	row->row_format = COERCE_EXPLICIT_CAST;
	row->location = -1;
	table_close(relation, NoLock);

	/* Any row of a table has a tableoid. */
	present->arg = (Expr *) makeVar(var->varno, TableOidAttributeNumber, OIDOID, -1,
									InvalidOid, var->varlevelsup);
	present->nulltesttype = IS_NOT_NULL;
	present->location = -1;
	when->expr = (Expr *) present;
	when->result = (Expr *) row;
	when->location = -1;
	result->casetype = var->vartype;
	result->args = list_make1(when);
	result->defresult = (Expr *) makeNullConst(var->vartype, -1, InvalidOid);
	result->location = -1;
	return (Node *) result;
}

/* Replaces references to the shell table's row type and OID. */
static Node *
shell_mutator(Node *node, QuirkContext *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		Query *result;

		context->levels = lcons(node, context->levels);
		result = query_tree_mutator((Query *) node, shell_mutator, context, 0);
		context->levels = list_delete_first(context->levels);
		return (Node *) result;
	}
	if (IsA(node, Var) && var_names_shell((Var *) node, context->levels))
	{
		Var *var = (Var *) node;
		RangeTblEntry *rte = rte_of_var(var, context->levels);

		if (var->varattno == TableOidAttributeNumber)
			return (Node *) makeConst(OIDOID, -1, InvalidOid, sizeof(Oid),
									  ObjectIdGetDatum(rte->relid), false, true);
		return whole_row(var, rte);
	}
	return expression_tree_mutator(node, shell_mutator, context);
}

/* Settings under which values print so that any other settings read them back. */
static int
output_settings_enter(void)
{
	int level;

	if (DateStyle == USE_ISO_DATES && IntervalStyle == INTSTYLE_POSTGRES &&
		extra_float_digits >= 1)
		return -1;
	level = NewGUCNestLevel();
	if (DateStyle != USE_ISO_DATES)
		set_config_option("datestyle", "ISO", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
						  true, 0, false);
	if (IntervalStyle != INTSTYLE_POSTGRES)
		set_config_option("intervalstyle", "postgres", PGC_USERSET, PGC_S_SESSION,
						  GUC_ACTION_SAVE, true, 0, false);
	if (extra_float_digits < 1)
		set_config_option("extra_float_digits", "3", PGC_USERSET, PGC_S_SESSION,
						  GUC_ACTION_SAVE, true, 0, false);
	return level;
}

static bool
catalog_comes_first(void)
{
	List *path = fetch_search_path(true);
	bool first = false;

	foreach_oid(schema, path)
	{
		/* Temporary objects are never functions or operators. */
		if (isTempNamespace(schema))
			continue;
		first = schema == PG_CATALOG_NAMESPACE;
		break;
	}
	list_free(path);
	return first;
}

DeparsedQuery
deparse_query(Query *query)
{
	DeparsedQuery result = {0};
	QuirkContext context = {.result = &result};
	OverrideSearchPath path = {.addCatalog = catalog_comes_first()};
	int level;

	quirk_walker((Node *) query, &context);
	if (context.replace_vars)
		query = (Query *) shell_mutator((Node *) query, &context);

	level = output_settings_enter();
	PushOverrideSearchPath(&path);
	result.text = pg_get_querydef(query, false);
	PopOverrideSearchPath();
	if (level >= 0)
		AtEOXact_GUC(true, level);
	return result;
}
