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
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "common/keywords.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "pando/compat/query_text.h"
#include "pando/compat/rights.h"
#include "pando/base/expr.h"
#include "pando/metadata/table.h"
#include "pando/plan/added_columns.h"
#include "pando/plan/deparse.h"
#include "pando/plan/row_place.h"
#include "pando/transaction/access.h"

/* A query level, and which entries of its range table the text can name. */
typedef struct Level
{
	Query *query;
	Bitmapset *visible;
} Level;

/* What one walk over the query finds out and prepares. */
typedef struct QuirkContext
{
	List *levels; /* Level *, innermost first */
	DeparsedQuery *result;
	bool replace_vars; /* there are whole-row or tableoid references to replace */
	int paths;		   /* WITH queries around that SEARCH or CYCLE gave paths of rows */
} QuirkContext;

static bool quirk_walker(Node *node, QuirkContext *context);
static RangeTblEntry *rte_of_var(const Var *var, List *levels);

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

/* The number of the role among those of the statement. */
static int
role_number(DeparsedQuery *result, Oid role)
{
	int number = 0;

	foreach_oid(known, result->roles)
	{
		if (known == role)
			return number;
		number++;
	}
	result->roles = lappend_oid(result->roles, role);
	return number;
}

/* ctid, and the like, of rows that a plan finds in one step and changes in the next. */
static void
note_unnamed(const Var *var, QuirkContext *context)
{
	const RangeTblEntry *rte = rte_of_var(var, context->levels);
	const Bitmapset *named;

	if (rte->rtekind != RTE_RELATION || var->varattno == TableOidAttributeNumber ||
		dist_table(rte->relid) == NULL)
		return;
	named = entry_rights(rte)->selectedCols;
	if (!bms_is_member(var->varattno - FirstLowInvalidHeapAttributeNumber, named) &&
		!bms_is_member(InvalidAttrNumber - FirstLowInvalidHeapAttributeNumber, named))
		context->result->reads =
			list_append_unique_oid(context->result->reads, rte->relid);
}

/* Gives the relation an alias that the scanner reads as an identifier. */
static void
name_relation(RangeTblEntry *rte, DeparsedQuery *result)
{
	const char *name = rte->alias ? rte->alias->aliasname : rte->eref->aliasname;
	Alias *alias;

	if (access_is_lent(rte))
		name = psprintf(ACCESS_ALIAS "%d_%s",
						role_number(result, entry_rights(rte)->checkAsUser), name);
	/* Nobody else's alias may look like that. */
	else if (strncmp(name, ACCESS_ALIAS, strlen(ACCESS_ALIAS)) == 0)
		name = psprintf("_%s", name);
	/* Bare keywords are what tells a column reference from a relation; see template.c. */
	else if (ScanKeywordLookup(name, &ScanKeywords) >= 0)
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
	name_relation(rte, result);
	count_mention(result, rte->relid);
}

static void
mention_from(Level *level, Node *item, DeparsedQuery *result)
{
	Query *query = level->query;

	if (item == NULL)
		return;
	if (IsA(item, RangeTblRef))
	{
		int rtindex = ((RangeTblRef *) item)->rtindex;

		level->visible = bms_add_member(level->visible, rtindex);
		/* UPDATE and DELETE have their target in the jointree too: it is printed once. */
		if (rtindex == query->resultRelation)
			return;
		/* A rule's action joins what the deparser would not print. */
		rt_fetch(rtindex, query->rtable)->inFromCl = true;
		mention_relation(query, rtindex, result);
	}
	else if (IsA(item, JoinExpr))
	{
		level->visible = bms_add_member(level->visible, ((JoinExpr *) item)->rtindex);
		mention_from(level, ((JoinExpr *) item)->larg, result);
		mention_from(level, ((JoinExpr *) item)->rarg, result);
	}
	else if (IsA(item, FromExpr))
	{
		foreach_ptr (Node, child, ((FromExpr *) item)->fromlist)
		{
			mention_from(level, child, result);
		}
	}
}

Oid
conflict_index(const OnConflictExpr *conflict)
{
	Oid index = get_constraint_index(conflict->constraint);

	if (!OidIsValid(index))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("constraint in ON CONFLICT clause has no associated index")));
	return index;
}

/*
 * ON CONFLICT ON CONSTRAINT names the shell table's constraint: infer the same index from
 * its columns instead.
 */
static void
conflict_by_columns(Query *query)
{
	OnConflictExpr *conflict = query->onConflict;
	Relation index = index_open(conflict_index(conflict), AccessShareLock);

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

/*
 * The number of the assignment that `SET (a, b) = (SELECT ...)` makes to this column, in
 * the order in which it was written; 0 for other assignments. Looks where the deparser
 * does.
 */
static int
multi_assignment(const TargetEntry *tle)
{
	Node *expr = (Node *) tle->expr;

	while (expr)
	{
		if (IsA(expr, FieldStore))
			expr = linitial(((FieldStore *) expr)->newvals);
		else if (IsA(expr, SubscriptingRef) && ((SubscriptingRef *) expr)->refassgnexpr)
			expr = (Node *) ((SubscriptingRef *) expr)->refassgnexpr;
		else if (IsA(expr, CoerceToDomain) &&
				 ((CoerceToDomain *) expr)->coercionformat == COERCE_IMPLICIT_CAST)
			expr = (Node *) ((CoerceToDomain *) expr)->arg;
		else
			break;
	}
	expr = strip_implicit_coercions(expr);
	if (expr && IsA(expr, Param) && ((Param *) expr)->paramkind == PARAM_MULTIEXPR)
		return ((Param *) expr)->paramid;
	return 0;
}

static int
compare_assignments(const ListCell *a, const ListCell *b)
{
	int x = multi_assignment(lfirst(a));
	int y = multi_assignment(lfirst(b));

	/* The others come last, in the order of columns. */
	if (x == 0 && y == 0)
	{
		x = ((TargetEntry *) lfirst(a))->resno;
		y = ((TargetEntry *) lfirst(b))->resno;
	}
	else if (x == 0 || y == 0)
		return x == 0 ? 1 : -1;
	return x < y ? -1 : x > y;
}

/* The expression without a cast to a domain, which is put around the whole assignment. */
static Node *
strip_domain(Node *expr)
{
	while (expr && IsA(expr, CoerceToDomain) &&
		   ((CoerceToDomain *) expr)->coercionformat == COERCE_IMPLICIT_CAST)
		expr = (Node *) ((CoerceToDomain *) expr)->arg;
	return expr;
}

static bool
assigns_part(Node *expr)
{
	expr = strip_domain(expr);
	return expr && (IsA(expr, FieldStore) || (IsA(expr, SubscriptingRef) &&
											  ((SubscriptingRef *) expr)->refassgnexpr));
}

/*
 * The assignments to one column as separate entries: the rewriter has merged those to
 * several parts of it into one expression, of which the deparser would print one part.
 */
static List *
split_assignment(TargetEntry *tle, Node *expr, List *result)
{
	expr = strip_domain(expr);
	if (IsA(expr, FieldStore))
	{
		FieldStore *merged = (FieldStore *) expr;
		ListCell *value;
		ListCell *field;

		if (assigns_part((Node *) merged->arg))
			result = split_assignment(tle, (Node *) merged->arg, result);
		forboth(value, merged->newvals, field, merged->fieldnums)
		{
			FieldStore *single = makeNode(FieldStore);

			*single = *merged;
			single->newvals = list_make1(lfirst(value));
			single->fieldnums = list_make1_int(lfirst_int(field));
			result = lappend(result, makeTargetEntry((Expr *) single, tle->resno,
													 tle->resname, false));
		}
		return result;
	}
	if (assigns_part((Node *) ((SubscriptingRef *) expr)->refexpr))
		result =
			split_assignment(tle, (Node *) ((SubscriptingRef *) expr)->refexpr, result);
	return lappend(result,
				   makeTargetEntry((Expr *) expr, tle->resno, tle->resname, false));
}

static List *
split_assignments(List *tlist)
{
	List *result = NIL;

	foreach_ptr (TargetEntry, tle, tlist)
	{
		if (!tle->resjunk && assigns_part((Node *) tle->expr))
			result = split_assignment(tle, (Node *) tle->expr, result);
		else
			result = lappend(result, tle);
	}
	return result;
}

static void
refuse_part_values(List *tlist)
{
	foreach_ptr (TargetEntry, tle, tlist)
	{
		if (assigns_part((Node *) tle->expr))
			refuse("INSERT into a part of a column from a query");
	}
}

/* Assignments of an UPDATE, or of ON CONFLICT DO UPDATE, as they were written. */
static List *
written_assignments(Query *query, List *tlist)
{
	tlist = split_assignments(tlist);
	/* The rewriter has sorted them by column. */
	if (query->hasSubLinks)
		list_sort(tlist, compare_assignments);
	return tlist;
}

/* An UPDATE that sets generated columns alone must be given something to print. */
static List *
assign_itself(Query *query)
{
	Oid relid = rt_fetch(query->resultRelation, query->rtable)->relid;
	Relation relation = table_open(relid, NoLock);
	TupleDesc desc = RelationGetDescr(relation);
	List *tlist = NIL;

	for (int i = 0; i < desc->natts && tlist == NIL; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);
		Var *var;

		if (attr->attisdropped || attr->attgenerated || attr->attidentity)
			continue;
		var = makeVar(query->resultRelation, i + 1, attr->atttypid, attr->atttypmod,
					  attr->attcollation, 0);
		tlist = list_make1(
			makeTargetEntry((Expr *) var, i + 1, pstrdup(NameStr(attr->attname)), false));
	}
	table_close(relation, NoLock);
	return tlist;
}

/*
 * Without a prefix, a column in ORDER BY or DISTINCT ON reads as an output column of that
 * name. The deparser leaves prefixes out where the top level has one relation: a second
 * entry in the range table, printed nowhere, makes it use them.
 */
static void
force_prefixes(Query *query)
{
	RangeTblEntry *rte;

	if (list_length(query->rtable) != 1 || query->commandType != CMD_SELECT ||
		(query->sortClause == NIL && !query->hasDistinctOn))
		return;
	rte = linitial(query->rtable);
	foreach_ptr (TargetEntry, tle, query->targetList)
	{
		AttrNumber attno = 0;

		foreach_ptr (String, column, rte->eref->colnames)
		{
			attno++;
			if (tle->resjunk || tle->resname == NULL ||
				strcmp(strVal(column), tle->resname) != 0 ||
				(IsA(tle->expr, Var) && ((Var *) tle->expr)->varattno == attno))
				continue;
			rte = makeNode(RangeTblEntry);
			rte->rtekind = RTE_RESULT;
			rte->eref = makeAlias("*RESULT*", NIL);
			query->rtable = lappend(query->rtable, rte);
			return;
		}
	}
}

/*
 * All values of a row come from here, those of identity columns, too. Shards have no such
 * columns, but the coordinator's own table, which is a managed one's shard, may.
 */
static OverridingKind
override_of(Query *query)
{
	const DistTable *table =
		dist_table(rt_fetch(query->resultRelation, query->rtable)->relid);

	return table != NULL && table->managed_local ? OVERRIDING_SYSTEM_VALUE
												 : query->override;
}

/* Does the deparser print an output column again in ORDER BY and the like? */
static bool
repeats_sublinks(Query *query)
{
	if (!query->hasSubLinks)
		return false;
	foreach_ptr (TargetEntry, tle, query->targetList)
	{
		if (tle->ressortgroupref > 0 && checkExprHasSubLink((Node *) tle->expr))
			return true;
	}
	return false;
}

/* A subquery's rows must not be seen by conditions from outside before its own are met.
 */
static void
keep_barrier(RangeTblEntry *rte)
{
	Query *query = rte->subquery;

	/* PostgreSQL moves no condition below a LIMIT or OFFSET. */
	if (rte->rtekind == RTE_SUBQUERY && rte->security_barrier && !query->limitOffset &&
		!query->limitCount)
		query->limitOffset = (Node *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
												Int64GetDatum(0), false, FLOAT8PASSBYVAL);
}

/* Adds the relations of the item, and those that it refers to. */
static void
add_references(const Query *query, Node *item, Bitmapset **own, Bitmapset **others)
{
	RangeTblEntry *rte;
	List *inside;
	int varno;

	if (IsA(item, FromExpr))
	{
		foreach_ptr (Node, child, ((FromExpr *) item)->fromlist)
			add_references(query, child, own, others);
		return;
	}
	if (IsA(item, JoinExpr))
	{
		add_references(query, ((JoinExpr *) item)->larg, own, others);
		add_references(query, ((JoinExpr *) item)->rarg, own, others);
		return;
	}
	varno = castNode(RangeTblRef, item)->rtindex;
	rte = rt_fetch(varno, query->rtable);
	*own = bms_add_member(*own, varno);
	if (!rte->lateral)
		return;
	inside = list_make3(rte->values_lists, rte->functions, rte->tablefunc);
	*others = bms_join(*others, pull_varnos_of_level(NULL, (Node *) rte->subquery, 1));
	*others = bms_join(*others, pull_varnos_of_level(NULL, (Node *) inside, 0));
}

/* The first item that refers to none of the rest. */
static Node *
next_in_order(const Query *query, List *items)
{
	Bitmapset *all = NULL;
	Bitmapset *none = NULL;

	foreach_ptr (Node, item, items)
		add_references(query, item, &all, &none);
	foreach_ptr (Node, item, items)
	{
		Bitmapset *own = NULL;
		Bitmapset *others = NULL;

		add_references(query, item, &own, &others);
		if (!bms_overlap(others, bms_difference(all, own)))
			return item;
	}
	return linitial(items);
}

/* A rule's action may refer to what stands behind it in FROM; a text may not. */
static void
order_from(Query *query)
{
	List *left = query->jointree->fromlist;
	List *ordered = NIL;
	bool lateral = false;

	foreach_ptr (RangeTblEntry, rte, query->rtable)
		lateral |= rte->lateral;
	if (!lateral || list_length(left) == 1)
		return;
	while (left != NIL)
	{
		Node *item = next_in_order(query, left);

		ordered = lappend(ordered, item);
		left = list_delete_ptr(left, item);
	}
	query->jointree->fromlist = ordered;
}

/*
 * What is to be locked is said at the level of its tables: a parser that pushes it down
 * refuses what PostgreSQL has in a view, such as a UNION, of which nothing is locked.
 */
static void
say_locks_where_tables_are(Query *query)
{
	List *marks = NIL;

	foreach_ptr (RowMarkClause, mark, query->rowMarks)
	{
		if (rt_fetch(mark->rti, query->rtable)->rtekind == RTE_SUBQUERY)
			continue;
		mark->pushedDown = false;
		marks = lappend(marks, mark);
	}
	query->rowMarks = marks;
}

static void
prepare_level(Level *level, QuirkContext *context)
{
	Query *query = level->query;

	if (query->withCheckOptions)
		refuse("a view WITH CHECK OPTION or a row-level security policy");
	query->isReturn = false;
	say_locks_where_tables_are(query);

	if (query->commandType == CMD_UPDATE)
		query->targetList = query->targetList
								? written_assignments(query, query->targetList)
								: assign_itself(query);
	else
		refuse_part_values(query->targetList);
	if (query->commandType == CMD_INSERT)
		query->override = override_of(query);
	foreach_ptr (MergeAction, action, query->mergeActionList)
	{
		if (action->commandType == CMD_UPDATE)
			action->targetList = written_assignments(query, action->targetList);
		else
			refuse_part_values(action->targetList);
	}
	if (list_length(context->levels) == 1)
		force_prefixes(query);
	if (repeats_sublinks(query))
		context->result->repeats = true;

	if (query->resultRelation)
	{
		level->visible = bms_make_singleton(query->resultRelation);
		/* That of an updatable view's table says it is in FROM as well. */
		rt_fetch(query->resultRelation, query->rtable)->inFromCl = false;
		mention_relation(query, query->resultRelation, context->result);
	}
	order_from(query);
	mention_from(level, (Node *) query->jointree, context->result);
	if (query->onConflict)
	{
		query->onConflict->onConflictSet =
			written_assignments(query, query->onConflict->onConflictSet);
		level->visible = bms_add_member(level->visible, query->onConflict->exclRelIndex);
		/* The planner's business; it holds a whole-row reference. */
		query->onConflict->exclRelTlist = NIL;
		if (OidIsValid(query->onConflict->constraint))
			conflict_by_columns(query);
	}
}

static Level *
level_of_var(const Var *var, List *levels)
{
	if (var->varlevelsup >= list_length(levels))
		elog(ERROR, "bogus varlevelsup: %u", var->varlevelsup);
	return list_nth(levels, var->varlevelsup);
}

static RangeTblEntry *
rte_of_var(const Var *var, List *levels)
{
	return rt_fetch(var->varno, level_of_var(var, levels)->query->rtable);
}

/*
 * The deparser prints a column as it was written; a rule may have replaced the relation
 * by another since, and left NEW or OLD as what was written.
 */
static void
make_var_visible(Var *var, List *levels)
{
	if (var->varnosyn > 0 &&
		!bms_is_member(var->varnosyn, level_of_var(var, levels)->visible))
	{
		var->varnosyn = var->varno;
		var->varattnosyn = var->varattno;
	}
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
prepare_row(RowExpr *row, const QuirkContext *context)
{
	int number = 0;

	if (row->row_typeid != RECORDOID)
	{
		row->row_format = COERCE_EXPLICIT_CAST;
		return;
	}
	/* Rows of a path are only compared. */
	if (context->paths > 0)
		return;
	foreach_ptr (String, name, row->colnames)
	{
		if (strcmp(strVal(name), psprintf("f%d", ++number)) != 0)
			refuse("a row with field names, such as the alias of a JOIN ... USING or "
				   "SEARCH BREADTH FIRST gives,");
	}
}

static bool
quirk_walker(Node *node, QuirkContext *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		Level level = {.query = (Query *) node};

		context->levels = lcons(&level, context->levels);
		added_columns_forget(level.query);
		prepare_level(&level, context);
		query_tree_walker(level.query, quirk_walker, context, QTW_EXAMINE_RTES_BEFORE);
		context->levels = list_delete_first(context->levels);
		return false;
	}
	if (IsA(node, RangeTblEntry))
	{
		if (((RangeTblEntry *) node)->securityQuals)
			refuse("a row-level security policy");
		keep_barrier((RangeTblEntry *) node);
		return false;
	}
	if (IsA(node, CommonTableExpr))
	{
		CommonTableExpr *cte = (CommonTableExpr *) node;
		bool paths = cte->search_clause || cte->cycle_clause;

		/* The rewriter has put what they mean into the query already. */
		cte->search_clause = NULL;
		cte->cycle_clause = NULL;
		context->paths += paths;
		quirk_walker(cte->ctequery, context);
		context->paths -= paths;
		return false;
	}
	if (is_shard_call(node))
	{
		foreach_ptr (Node, argument, ((FuncExpr *) node)->args)
		{
			if (IsA(argument, Var))
				note_unnamed((Var *) argument, context);
		}
		return false;
	}
	if (IsA(node, Var))
	{
		make_var_visible((Var *) node, context->levels);
		note_unnamed((Var *) node, context);
		if (var_names_shell((Var *) node, context->levels))
			context->replace_vars = true;
		return false;
	}
	if (IsA(node, RowExpr))
		prepare_row((RowExpr *) node, context);
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
	Var *tableoid;

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
	tableoid = makeVar(var->varno, TableOidAttributeNumber, OIDOID, -1, InvalidOid,
					   var->varlevelsup);
	return expr_if(expr_is_not_null((Node *) tableoid), expr_row(row));
}

/* Replaces references to the shell table's row type and OID. */
static Node *
shell_mutator(Node *node, QuirkContext *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		Level level = {.query = (Query *) node};
		Query *result;

		context->levels = lcons(&level, context->levels);
		result = query_tree_mutator((Query *) node, shell_mutator, context, 0);
		context->levels = list_delete_first(context->levels);
		return (Node *) result;
	}
	if (is_shard_call(node))
		return copyObject(node);
	if (IsA(node, Var) && var_names_shell((Var *) node, context->levels))
	{
		Var *var = (Var *) node;
		RangeTblEntry *rte = rte_of_var(var, context->levels);

		if (var->varattno == TableOidAttributeNumber &&
			rte->relkind == RELKIND_PARTITIONED_TABLE)
			elog(ERROR, "a partition's tableoid was left in the query");
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
	int level;

	quirk_walker((Node *) query, &context);
	if (context.replace_vars)
		query = (Query *) shell_mutator((Node *) query, &context);

	level = output_settings_enter();
	result.text = compat_query_text(query, catalog_comes_first());
	if (level >= 0)
		AtEOXact_GUC(true, level);
	return result;
}
