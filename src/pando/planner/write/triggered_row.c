/*
 * triggered_row.c: one row whose triggers fire in the client's backend: how it is found,
 * what changes it once they have fired, and whose rights and policies both are done with.
 *
 * Its change is a statement over the parameters that executor/triggers.c sets: the new
 * row's columns, the old row's, its ctid, its place.
 *
 * To lock a row, to read all of it and to write all of it takes more rights than the
 * statement needs. The client's are checked on the shell; where they don't do for the
 * rest, that is done as somebody whom policies don't bind. What they ask is then asked by
 * conditions that stand in the statements: of finding, the policies that the rewriter had
 * put into the client's statement; of the change, their checks.
 */
#include "pando/compat/compat.h"

#include "access/sysattr.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteManip.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "pando/compat/rights.h"
#include "pando/base/expr.h"
#include "pando/plan/row_place.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/write/policy_check.h"
#include "pando/planner/write/row_identity.h"
#include "pando/planner/write/target_policy.h"
#include "pando/planner/write/triggered_row.h"
#include "pando/planner/write/write_rules.h"

static bool
client_has(const RangeTblEntry *rte, AclMode rights)
{
	Oid role = entry_role(rte);

	return pg_class_aclmask(rte->relid, role, rights, ACLMASK_ALL) == rights;
}

/* What the change of one row needs. */
static AclMode
rights_of_change(CmdType command)
{
	switch (command)
	{
		case CMD_INSERT:
			return ACL_INSERT;
		case CMD_UPDATE:
			return ACL_UPDATE | ACL_SELECT;
		default:
			return ACL_DELETE | ACL_SELECT;
	}
}

bool
update_is_past(const Query *query)
{
	const RangeTblEntry *rte = rt_fetch(query->resultRelation, query->rtable);

	return update_is_blind(query) ||
		   (query->commandType == CMD_UPDATE && target_has_policies(rte) &&
			!client_has(rte, ACL_SELECT | ACL_UPDATE));
}

/* Policies are the client's, and asked by the shards, but where the rows were found with
 * them. */
static void
take_rights(const TriggeredRow *row, RangeTblEntry *rte, CmdType command)
{
	AclMode rights = rights_of_change(command);

	if (target_has_policies(rte) ? !row->past && command != CMD_DELETE
								 : client_has(rte, rights))
		return;
	entry_use_past_policies(rte, rights);
}

/* What finds the rows. The policies of a DELETE are others than those of rows that are
 * locked; one that is a step of MERGE has none any more. */
Query *
finder_of_rows(const TriggeredRow *row, List *policies)
{
	Query *finder = copyObject(row->query);
	RangeTblEntry *rte = rt_fetch(finder->resultRelation, finder->rtable);
	bool past =
		row->past || (finder->commandType == CMD_DELETE && target_has_policies(rte));

	if (row->secured)
		entry_use_past_policies(rte, ACL_SELECT | ACL_UPDATE);
	else if (client_has(rte, ACL_SELECT | ACL_UPDATE) && !past)
		rte->securityQuals = copyObject(policies);
	else
	{
		level_take_policies(finder, policies);
		entry_use_past_policies(rte, ACL_SELECT | ACL_UPDATE);
	}
	return finder;
}

Node *
null_of_column(Form_pg_attribute attr)
{
	int32 typmod = attr->atttypmod;
	Oid base;

	if (attr->attisdropped)
		return (Node *) makeNullConst(INT4OID, -1, InvalidOid);
	base = getBaseTypeAndTypmod(attr->atttypid, &typmod);
	if (base == attr->atttypid || attr->attgenerated)
		return (Node *) makeNullConst(base, typmod, attr->attcollation);
	return coerce_to_domain((Node *) makeNullConst(base, typmod, attr->attcollation),
							base, typmod, attr->atttypid, COERCION_IMPLICIT,
							COERCE_IMPLICIT_CAST, -1, false);
}

Node *
whole_row(Index varno, Relation relation)
{
	TupleDesc desc = RelationGetDescr(relation);
	RowExpr *row = makeNode(RowExpr);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);

		row->args = lappend(
			row->args, attr->attisdropped
						   ? null_of_column(attr)
						   : (Node *) var_of_attribute(varno, RelationGetRelid(relation),
													   attr->attnum));
		row->colnames =
			lappend(row->colnames, makeString(pstrdup(NameStr(attr->attname))));
	}
	row->row_typeid = relation->rd_rel->reltype;
	row->row_format = COERCE_IMPLICIT_CAST;
	row->location = -1;
	return (Node *) row;
}

/* The column has what it had in the old row: NULL, too. */
static Node *
column_is_old(TupleDesc desc, AttrNumber number)
{
	Form_pg_attribute attr = TupleDescAttr(desc, number - 1);
	Node *test =
		same_value((Node *) makeVar(1, attr->attnum, attr->atttypid, attr->atttypmod,
									attr->attcollation, 0),
				   (Node *) expr_param(PARAM_EXTERN, desc->natts + number, attr->atttypid,
									   attr->atttypmod, attr->attcollation));

	if (attr->attnotnull)
		return test;
	NodeSetTag(test, T_DistinctExpr);
	return (Node *) makeBoolExpr(NOT_EXPR, list_make1(test), -1);
}

/* row_line() of the old row. */
static Node *
line_of_old_row(const TriggeredRow *row)
{
	TupleDesc desc = RelationGetDescr(row->relation);
	FuncExpr *line = (FuncExpr *) row_line(1, row->target->relid);
	ListCell *cell;

	foreach (cell, ((RowExpr *) linitial(line->args))->args)
	{
		const Var *column = lfirst(cell);

		lfirst(cell) = expr_param(PARAM_EXTERN, desc->natts + column->varattno,
								  column->vartype, column->vartypmod, column->varcollid);
	}
	return (Node *) line;
}

/* A row that has in all columns what the old row had; in those that tell it cheaply
 * first. */
List *
row_is_like_old(const TriggeredRow *row)
{
	TupleDesc desc = RelationGetDescr(row->relation);
	List *quals = NIL;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);

		if (!attr->attisdropped && attr->attbyval &&
			OidIsValid(lookup_type_cache(attr->atttypid, TYPECACHE_EQ_OPR)->eq_opr))
			quals = lappend(quals, column_is_old(desc, attr->attnum));
	}
	return lappend(quals,
				   same_value(row_line(1, row->target->relid), line_of_old_row(row)));
}

static List *
same_row(const TriggeredRow *row)
{
	TupleDesc desc = RelationGetDescr(row->relation);
	const DistTable *target = row->target;
	Param *ctid = expr_param(PARAM_EXTERN, 2 * desc->natts + 1, TIDOID, -1, InvalidOid);
	List *quals = NIL;

	if (rows_have_no_name(target))
	{
		quals = row_is_like_old(row);
		if (target->key != InvalidAttrNumber)
			quals = lcons(column_is_old(desc, target->key), quals);
		return quals;
	}
	if (table_has_copies(target))
	{
		foreach_int(number, primary_key(target->relid)) quals =
			lappend(quals, column_is_old(desc, number));
		return quals;
	}
	quals =
		list_make2(same_value((Node *) row_ctid_call(1, 0), (Node *) ctid),
				   same_value((Node *) makeVar(1, SelfItemPointerAttributeNumber, TIDOID,
											   -1, InvalidOid, 0),
							  (Node *) shard_ctid_call((Node *) ctid, target->nshards)));
	if (row->placed)
		quals = lappend(
			quals, same_value((Node *) row_place_call(1),
							  (Node *) expr_param(PARAM_EXTERN, 2 * desc->natts + 2,
												  TEXTOID, -1, DEFAULT_COLLATION_OID)));
	if (target->key != InvalidAttrNumber)
		quals = lappend(quals, column_is_old(desc, target->key));
	return quals;
}

/* Triggers may have given any column another value. */
static List *
new_values(const TriggeredRow *row, bool moves)
{
	TupleDesc desc = RelationGetDescr(row->relation);
	List *tlist = NIL;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);

		if (attr->attisdropped || attr->attgenerated ||
			(row->query->commandType == CMD_UPDATE && !moves &&
			 attr->attnum == row->target->key))
			continue;
		tlist = lappend(
			tlist, makeTargetEntry((Expr *) expr_param(PARAM_EXTERN, attr->attnum,
													   attr->atttypid, attr->atttypmod,
													   attr->attcollation),
								   attr->attnum, pstrdup(NameStr(attr->attname)), false));
	}
	return tlist;
}

static OnConflictExpr *
conflict_of(const Query *query)
{
	OnConflictExpr *conflict = copyObject(query->onConflict);

	if (conflict == NULL)
		return NULL;
	conflict->action = ONCONFLICT_NOTHING;
	conflict->onConflictSet = conflict->exclRelTlist = NIL;
	conflict->onConflictWhere = NULL;
	conflict->exclRelIndex = 0;
	ChangeVarNodes((Node *) conflict, query->resultRelation, 1, 0);
	return conflict;
}

/* What policies ask of the new row: an expression over its values, and something of the
 * old row, so that it is no constant. */
static List *
check_of_new_row(const TriggeredRow *row, RangeTblEntry *rte)
{
	TupleDesc desc = RelationGetDescr(row->relation);
	List *values = new_values(row, true);
	List *options;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);
		Node *value;

		if (attr->attisdropped || !attr->attgenerated)
			continue;
		value = ReplaceVarsFromTargetList(
			build_column_default(row->relation, attr->attnum), 1, 0, rte, values,
			REPLACEVARS_REPORT_ERROR, 0, NULL);
		values =
			lappend(values, makeTargetEntry((Expr *) value, attr->attnum, NULL, false));
	}
	options =
		(List *) ReplaceVarsFromTargetList((Node *) copyObject(row->checks), 1, 0, rte,
										   values, REPLACEVARS_REPORT_ERROR, 0, NULL);
	return quals_flat(
		policy_check(options, WCO_RLS_UPDATE_CHECK,
					 (Node *) var_of_attribute(
						 1, rte->relid, linitial_node(TargetEntry, values)->resno)));
}

/* A column that RETURNING reads, or NIL: the shard asks policies of SELECT for it. */
static List *
read_column(const TriggeredRow *row, RangeTblEntry *rte)
{
	int member = bms_prev_member(entry_rights(rte)->selectedCols, -1);
	AttrNumber number = member + FirstLowInvalidHeapAttributeNumber;
	Node *column;

	if (row->query->returningList == NIL || target_is_unread(rte) || member < 0)
		return NIL;
	column = number > 0 ? (Node *) var_of_attribute(1, rte->relid, number)
						: whole_row(1, row->relation);
	return list_make1(makeTargetEntry((Expr *) column, 1, "read", false));
}

/* The change of a row has the policies that bind it as the rewriter would put them in: a
 * shard's node has its own, but not if the shard is here. */
static void
take_policies(const TriggeredRow *row, Query *change, RangeTblEntry *rte, CmdType command,
			  bool moves)
{
	bool binds = target_has_policies(rte) && !row->past && command != CMD_DELETE;

	rte->securityQuals = NIL;
	if (binds && !moves && command == CMD_UPDATE)
		rte->securityQuals = copyObject(row->policies);
	if (binds || moves)
		change->withCheckOptions = copyObject(
			policy_options(row->checks, command == CMD_INSERT ? WCO_RLS_INSERT_CHECK
															  : WCO_RLS_UPDATE_CHECK));
	change->hasRowSecurity = binds;
	change->hasSubLinks = checkExprHasSubLink((Node *) rte->securityQuals) ||
						  checkExprHasSubLink((Node *) change->withCheckOptions);
}

/* command: the query's, or the CMD_DELETE of a row that it would have updated. Of an
 * UPDATE: does the row move to where another value of its key belongs? */
Query *
change_of_row(const TriggeredRow *row, CmdType command, bool moves)
{
	const Query *query = row->query;
	RangeTblEntry *rte = copyObject(rt_fetch(query->resultRelation, query->rtable));
	Query *change = query_new();

	take_policies(row, change, rte, command, moves);
	/* Steps of a move go past policies, and ask them. */
	if (!moves)
		take_rights(row, rte, command);
	change->commandType = command;
	change->resultRelation = 1;
	change->rtable = list_make1(rte);
	if (command != CMD_DELETE)
		change->targetList = new_values(row, moves);
	if (command == CMD_INSERT)
	{
		change->onConflict = conflict_of(query);
		if (target_has_policies(rte))
			change->returningList = read_column(row, rte);
	}
	else
	{
		List *quals = same_row(row);

		if ((row->target->acts_here & (1 << command)) != 0)
			quals = lappend(quals, row_acts_elsewhere_call(1));
		if (row->target->refers_to_itself)
			quals = lappend(quals, row_keys_wait_call(1));
		if (row->past && command == CMD_UPDATE && !moves)
			quals = list_concat(quals, check_of_new_row(row, rte));
		change->hasSubLinks |= checkExprHasSubLink((Node *) quals);
		change->jointree = makeFromExpr(from_one(1)->fromlist, quals_as_node(quals));
	}
	return change;
}
