/*
 * with_writes.c: data-modifying statements in WITH that change other shard groups than
 * the statement reads.
 *
 * PostgreSQL runs them to completion whether their rows are read or not, and all parts of
 * the statement see the tables as they were before. Here such a WITH query becomes a
 * fragment, whose tasks run to completion when its first row is asked for, before the
 * main query starts: the main query gets conditions of the form
 *
 *     (SELECT count(*) FROM with_query) IS NOT NULL
 *
 * which PostgreSQL evaluates once, first. Since the main query would see what was
 * changed, a table that is changed may not be read elsewhere in the statement.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "pando/metadata/table.h"
#include "pando/planner/cte_use.h"
#include "pando/planner/fragment_make.h"
#include "pando/planner/with_writes.h"
#include "pando/planner/write.h"

static void
refuse_with(const char *why)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("this data-modifying statement in WITH is not supported yet"),
					errdetail("%s.", why)));
}

/* ------------------------------------------------------------------------------------
 * What would come out differently.
 */

typedef struct References
{
	int depth;
	Oid relid; /* counted, InvalidOid: none */
	int count;
	bool outer_cte; /* a WITH query from outside is read */
} References;

static bool
references_walker(Node *node, References *references)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		const RangeTblEntry *rte = (const RangeTblEntry *) node;

		if (rte->rtekind == RTE_RELATION && rte->relid == references->relid)
			references->count++;
		if (rte->rtekind == RTE_CTE && (int) rte->ctelevelsup >= references->depth)
			references->outer_cte = true;
		return false;
	}
	if (IsA(node, Query))
	{
		references->depth++;
		query_tree_walker((Query *) node, references_walker, references,
						  QTW_EXAMINE_RTES_BEFORE);
		references->depth--;
		return false;
	}
	return expression_tree_walker(node, references_walker, references);
}

static References
references_in(Query *query, Oid relid)
{
	References references = {.relid = relid};

	references_walker((Node *) query, &references);
	return references;
}

/* PostgreSQL would leave the WITH queries out of a plan that can't give rows. */
static void
check_main(Query *query)
{
	Node *quals = eval_const_expressions(NULL, copyObject(query->jointree->quals));

	if (quals && IsA(quals, Const))
		refuse_with("The main query has a constant condition");
}

static const DistTable *
target_of(Query *write)
{
	const DistTable *table =
		dist_table(rt_fetch(write->resultRelation, write->rtable)->relid);

	return table && table->kind != TABLE_MANAGED_LOCAL ? table : NULL;
}

/* What the write itself reads it reads before it changes anything; others may not read
 * its target. */
static void
check_write(Query *query, Query *write, const DistTable *target)
{
	int mentions = references_in(write, target->relid).count;

	/* The main statement's own target is written after this. */
	if (query->commandType != CMD_SELECT &&
		rt_fetch(query->resultRelation, query->rtable)->relid == target->relid)
		mentions++;
	if (references_in(query, target->relid).count > mentions)
		refuse_with(psprintf("Table \"%s\" is changed and read by one statement",
							 get_rel_name(target->relid)));
	if (references_in(write, InvalidOid).outer_cte)
		refuse_with("It reads another WITH query");
}

/* ------------------------------------------------------------------------------------
 * WITH queries that one write alone reads become its own: they run right before it.
 */

/* The WITH query is one level nearer now. */
static void
come_nearer(RangeTblEntry *rte, int depth, void *context)
{
	rte->ctelevelsup--;
}

static bool
has_cte(Query *query, const char *name)
{
	foreach_ptr (CommonTableExpr, cte, query->cteList)
	{
		if (strcmp(cte->ctename, name) == 0)
			return true;
	}
	return false;
}

static void
take_reads(Query *query, Query *write)
{
	List *own = NIL;
	List *kept = NIL;

	foreach_ptr (CommonTableExpr, cte, query->cteList)
	{
		Query *read = (Query *) cte->ctequery;
		int uses;

		kept = lappend(kept, cte);
		if (read->commandType != CMD_SELECT || cte->cterecursive ||
			has_cte(write, cte->ctename) || references_in(read, InvalidOid).outer_cte)
			continue;
		uses = cte_each_use_in((Node *) write, cte->ctename, NULL, NULL);
		if (uses == 0 || uses != cte_each_use(query, cte->ctename, NULL, NULL))
			continue;
		cte_each_use_in((Node *) write, cte->ctename, come_nearer, NULL);
		own = lappend(own, cte);
		kept = list_delete_last(kept);
	}
	write->cteList = list_concat(own, write->cteList);
	query->cteList = kept;
}

/* ------------------------------------------------------------------------------------
 * Replacing.
 */

/* SELECT all columns FROM the fragment. */
static Query *
select_from_fragment(Fragment *fragment)
{
	Query *query = makeNode(Query);
	RangeTblEntry *rte = fragment_rte(fragment);
	RangeTblRef *ref = makeNode(RangeTblRef);

	ref->rtindex = 1;
	query->commandType = CMD_SELECT;
	query->canSetTag = true;
	query->rtable = list_make1(rte);
	query->jointree = makeFromExpr(list_make1(ref), NULL);
	foreach_ptr (TargetEntry, tle, rte->subquery->targetList)
	{
		Var *var = makeVarFromTargetEntry(1, tle);

		query->targetList =
			lappend(query->targetList,
					makeTargetEntry((Expr *) var, tle->resno, tle->resname, false));
	}
	return query;
}

static RangeTblEntry *
cte_rte(CommonTableExpr *cte)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->rtekind = RTE_CTE;
	rte->ctename = cte->ctename;
	rte->ctelevelsup = 1;
	rte->coltypes = list_copy(cte->ctecoltypes);
	rte->coltypmods = list_copy(cte->ctecoltypmods);
	rte->colcollations = list_copy(cte->ctecolcollations);
	rte->eref = makeAlias(cte->ctename, copyObject(cte->ctecolnames));
	rte->inFromCl = true;
	return rte;
}

/* (SELECT count(*) FROM cte) IS NOT NULL */
static Node *
read_all(CommonTableExpr *cte)
{
	Query *query = makeNode(Query);
	RangeTblRef *ref = makeNode(RangeTblRef);
	Aggref *count = makeNode(Aggref);
	SubLink *sublink = makeNode(SubLink);
	NullTest *test = makeNode(NullTest);

	count->aggfnoid = F_COUNT_;
	count->aggtype = INT8OID;
	count->aggtranstype = InvalidOid;
	count->aggstar = true;
	count->aggkind = AGGKIND_NORMAL;
	count->aggno = count->aggtransno = -1;
	count->location = -1;
	ref->rtindex = 1;
	query->commandType = CMD_SELECT;
	query->canSetTag = true;
	query->hasAggs = true;
	query->rtable = list_make1(cte_rte(cte));
	query->jointree = makeFromExpr(list_make1(ref), NULL);
	query->targetList =
		list_make1(makeTargetEntry((Expr *) count, 1, pstrdup("count"), false));

	sublink->subLinkType = EXPR_SUBLINK;
	sublink->subselect = (Node *) query;
	sublink->location = -1;
	test->arg = (Expr *) sublink;
	test->nulltesttype = IS_NOT_NULL;
	test->location = -1;
	return (Node *) test;
}

typedef struct Lowering
{
	int depth;
} Lowering;

/* References to the top level's WITH queries, once the query is one level deeper. */
static bool
lower_cte_references(Node *node, Lowering *lowering)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		RangeTblEntry *rte = (RangeTblEntry *) node;

		if (rte->rtekind == RTE_CTE && (int) rte->ctelevelsup == lowering->depth)
			rte->ctelevelsup++;
		return false;
	}
	if (IsA(node, Query))
	{
		lowering->depth++;
		query_tree_walker((Query *) node, lower_cte_references, lowering,
						  QTW_EXAMINE_RTES_BEFORE);
		lowering->depth--;
		return false;
	}
	return expression_tree_walker(node, lower_cte_references, lowering);
}

/*
 * SELECT * FROM (the query): with room for conditions above a set operation, and above a
 * LIMIT that may be zero. WITH stays at the top.
 */
static Query *
wrapped(Query *query)
{
	Query *outer = makeNode(Query);
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	RangeTblRef *ref = makeNode(RangeTblRef);
	Lowering lowering = {.depth = -1};

	outer->commandType = CMD_SELECT;
	outer->queryId = query->queryId;
	outer->canSetTag = query->canSetTag;
	outer->hasModifyingCTE = true;
	outer->hasRecursive = query->hasRecursive;
	outer->cteList = query->cteList;
	outer->stmt_location = query->stmt_location;
	outer->stmt_len = query->stmt_len;
	query->cteList = NIL;
	query->hasModifyingCTE = query->hasRecursive = false;
	lower_cte_references((Node *) query, &lowering);

	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = query;
	rte->eref = makeAlias("main", NIL);
	rte->inFromCl = true;
	foreach_ptr (TargetEntry, tle, query->targetList)
	{
		TargetEntry *column;

		if (tle->resjunk)
			continue;
		if (tle->resname == NULL)
			tle->resname = pstrdup("?column?");
		rte->eref->colnames =
			lappend(rte->eref->colnames, makeString(pstrdup(tle->resname)));
		column = makeTargetEntry((Expr *) makeVarFromTargetEntry(1, tle), tle->resno,
								 tle->resname, false);
		column->resorigtbl = tle->resorigtbl;
		column->resorigcol = tle->resorigcol;
		outer->targetList = lappend(outer->targetList, column);
	}
	ref->rtindex = 1;
	outer->rtable = list_make1(rte);
	outer->jointree = makeFromExpr(list_make1(ref), NULL);
	return outer;
}

Query *
with_writes_replace(Query *query)
{
	Query *copy = copyObject(query);
	List *conditions = NIL;

	check_main(query);
	if (query->commandType == CMD_SELECT && (query->setOperations || query->limitCount))
		copy = wrapped(copy);
	foreach_ptr (CommonTableExpr, cte, list_copy(copy->cteList))
	{
		Query *write = (Query *) cte->ctequery;

		if (write->commandType != CMD_SELECT && target_of(write) != NULL)
			take_reads(copy, write);
	}
	foreach_ptr (CommonTableExpr, cte, copy->cteList)
	{
		Query *write = (Query *) cte->ctequery;
		const DistTable *target;

		if (write->commandType == CMD_SELECT)
			continue;
		target = target_of(write);
		/* PostgreSQL runs the others as ever. */
		if (target == NULL)
			continue;
		check_write(copy, write, target);
		cte->ctequery = (Node *) select_from_fragment(write_fragment(write, target));
		cte->ctematerialized = CTEMaterializeAlways;
		cte->cterefcount++;
		conditions = lappend(conditions, read_all(cte));
	}
	copy->hasSubLinks = true;
	copy->jointree->quals =
		make_and_qual(copy->jointree->quals, (Node *) make_ands_explicit(conditions));
	return copy;
}
