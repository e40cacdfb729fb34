/*
 * copied_trigger.c: triggers of tables that have several copies.
 *
 * A change of a row of a reference table is made on each copy, and each copy has the
 * table's triggers. What such a trigger does to NEW, or on its own node, each copy needs.
 * But a change of a distributed table would be made once for each copy; and it could not
 * even end: the triggers wait for each other's rows, and a part of a transaction that has
 * written on other nodes can't be prepared. So it is an error before anything is sent.
 *
 * The statement that fires a trigger is known by the nesting of statements; one that the
 * end of the transaction fires has none, and is left to the refusal to prepare.
 *
 * Triggers that fire in the client's backend, once for all copies, may change what they
 * like.
 */
#include "pando/compat/compat.h"

#include "catalog/namespace.h"
#include "commands/trigger.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pando/compat/rights.h"
#include "pando/metadata/firing.h"
#include "pando/metadata/shard_relation.h"
#include "pando/metadata/table.h"
#include "pando/transaction/member.h"

/* The first distributed table that a plan is to change, or whose rows it locks, which
 * needs the same right; InvalidOid: none. */
static Oid
changed_table(const PlannedStmt *stmt)
{
	foreach_ptr (RangeTblEntry, rte, stmt->rtable)
	{
		const DistTable *table;

		if (rte->rtekind != RTE_RELATION || (plan_rights(stmt, rte)->requiredPerms &
											 (ACL_INSERT | ACL_UPDATE | ACL_DELETE)) == 0)
			continue;
		table = dist_table(rte->relid);
		if (table != NULL && table->kind != TABLE_MANAGED_LOCAL)
			return rte->relid;
	}
	return InvalidOid;
}

/* Quoted names of a shard's triggers, or those of a shell that its shards have, but
 * PostgreSQL's own; NULL when there are none. */
static char *
trigger_names(const TriggerDesc *triggers, bool shell)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		if (triggers->triggers[i].tgisinternal ||
			(shell && !trigger_is_of_shards(triggers->triggers[i].tgoid)))
			continue;
		appendStringInfo(&names, "%s\"%s\"", names.len > 0 ? ", " : "",
						 triggers->triggers[i].tgname);
	}
	return names.len > 0 ? names.data : NULL;
}

/* The table that the relation is or holds a copy of, where there are several copies. */
static Oid
copied_table(Oid relid)
{
	const DistTable *table = dist_table(relid);
	int64 shard_id;
	Oid shell;

	if (table != NULL)
		return table->nshards > 0 && table->shards[0].nplacements > 1 ? relid
																	  : InvalidOid;
	if (!relation_is_shard(relid, &shard_id, &shell))
		return InvalidOid;
	return shard_by_id(shard_id, NULL)->nplacements > 1 ? shell : InvalidOid;
}

/* Relations that a running statement changes: List of Oid. */
static List *
frame_targets(const NestingFrame *frame)
{
	const PlannedStmt *stmt;
	List *targets = NIL;
	Index rti = 0;

	if (frame->copied_into != NULL)
		return list_make1_oid(RangeVarGetRelid(frame->copied_into, NoLock, true));
	stmt = frame->query->plannedstmt;
	foreach_ptr (RangeTblEntry, rte, stmt->rtable)
	{
		rti++;
		if (rte->rtekind == RTE_RELATION &&
			((plan_rights(stmt, rte)->requiredPerms &
			  (ACL_INSERT | ACL_UPDATE | ACL_DELETE)) != 0 ||
			 list_member_int(stmt->resultRelations, rti)))
			targets = lappend_oid(targets, rte->relid);
	}
	return targets;
}

/*
 * The table of which a running statement changes a copy that is one of several and has
 * triggers, whose names are set; InvalidOid: none.
 */
static Oid
copied_target(const NestingFrame *frame, char **names)
{
	ListCell *cell;

	foreach (cell, frame_targets(frame))
	{
		Oid relid = lfirst_oid(cell);
		Oid table = OidIsValid(relid) ? copied_table(relid) : InvalidOid;
		Relation relation;

		if (!OidIsValid(table))
			continue;
		relation = RelationIdGetRelation(relid);
		/* A copy: what is looked up may have the relation read anew. */
		*names =
			trigger_names(CopyTriggerDesc(relation->trigdesc), dist_table(relid) != NULL);
		RelationClose(relation);
		if (*names != NULL)
			return table;
	}
	return InvalidOid;
}

void
copied_trigger_check(const QueryDesc *query, const NestingFrame *outer)
{
	LOCAL_FCINFO(no_arguments, 0);
	Oid changed;

	if (outer == NULL || !metadata_active())
		return;
	InitFunctionCallInfoData(*no_arguments, NULL, 0, InvalidOid, NULL, NULL);
	if (DatumGetInt32(pg_trigger_depth(no_arguments)) == 0)
		return;
	changed = changed_table(query->plannedstmt);
	for (; OidIsValid(changed) && outer != NULL; outer = outer->outer)
	{
		char *names = NULL;
		Oid target = copied_target(outer, &names);

		if (OidIsValid(target))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("a trigger of table \"%s\" cannot change distributed table "
							"\"%s\"",
							get_rel_name(target), get_rel_name(changed)),
					 errdetail("The table has several copies, each with the trigger %s: "
							   "the change would be made for each of them.",
							   names),
					 errhint("Change both tables in one transaction, or in a function "
							 "that clients call.")));
	}
}
