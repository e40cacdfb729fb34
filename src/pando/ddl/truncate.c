/*
 * truncate.c: TRUNCATE and LOCK of several tables at once.
 *
 * TRUNCATE: PostgreSQL's, of the shells, checks what is to be checked and empties tables
 * without shards; then each node empties its shards. Identities are the shells'; so are
 * triggers (truncate_triggers.c). LOCK: statements on
 * distributed tables lock the shell where they are planned, so the shells of all nodes
 * are what there is to lock.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "catalog/heap.h"
#include "catalog/namespace.h"
#include "nodes/makefuncs.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pando/ddl/sequence.h"
#include "pando/ddl/statements.h"
#include "pando/ddl/truncate_triggers.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

/* Those of the relations that are distributed; adds them to the job. */
static List *
keep_distributed(DdlJob *job, List *relations)
{
	List *ours = NIL;

	foreach_ptr (RangeVar, relation, relations)
	{
		Oid relid = job_distributed_table(relation);

		if (!OidIsValid(relid))
			continue;
		job_add_table(job, relid);
		ours = lappend(ours, relation);
	}
	return ours;
}

/* With CASCADE, the tables that refer to these are emptied as well. */
static void
truncate_add_referencing(DdlJob *job, List *relations)
{
	List *relids = NIL;
	List *found;

	foreach_ptr (RangeVar, relation, relations)
	{
		Oid relid = RangeVarGetRelid(relation, NoLock, true);

		if (OidIsValid(relid))
			relids = list_append_unique_oid(relids, relid);
	}
	while ((found = heap_truncate_find_FKs(relids)) != NIL)
	{
		ListCell *cell;

		foreach (cell, found)
		{
			Oid relid = lfirst_oid(cell);

			if (dist_table(relid) != NULL &&
				dist_table(relid)->kind != TABLE_MANAGED_LOCAL)
				job_add_table(job, relid);
		}
		relids = list_concat_unique_oid(relids, found);
	}
}

void
truncate_prepare(DdlJob *job)
{
	TruncateStmt *stmt = (TruncateStmt *) job->stmt;
	List *ours = keep_distributed(job, stmt->relations);

	if (stmt->behavior == DROP_CASCADE)
		truncate_add_referencing(job, stmt->relations);
	if (job->applying)
		stmt->relations = ours;
}

/*
 * Foreign keys are the shells', which have been checked. A shard may have some from local
 * tables (local_key.c), which have been emptied with the shells.
 */
static void
empty_shards(const DdlJob *job)
{
	TruncateStmt *shards = makeNode(TruncateStmt);
	List *relations;
	int named;

	foreach_oid(relid, job->tables)
	{
		foreach_ptr (ShardMap, map, job_shard_maps(relid, node_local_group()))
		{
			RangeVar *relation = makeRangeVar(
				get_namespace_name(get_rel_namespace(relid)), get_rel_name(relid), -1);

			shard_rename_range_var(relation, map);
			shards->relations = lappend(shards->relations, relation);
		}
	}
	if (shards->relations == NIL)
		return;
	relations = truncate_open(shards, &named);
	truncate_fire(relations, true);
	truncate_rows(relations);
	truncate_fire(relations, false);
	truncate_close(relations);
	CommandCounterIncrement();
	xact_wrote_locally();
}

/* What PostgreSQL says of those that CASCADE has added. */
static void
say_what_follows(List *relations, int named)
{
	for (int i = named; i < list_length(relations); i++)
		ereport(NOTICE,
				(errmsg("truncate cascades to table \"%s\"",
						RelationGetRelationName((Relation) list_nth(relations, i)))));
}

/* Triggers, as they are where the client is, fire around the change of all nodes. */
void
truncate_shell(DdlJob *job)
{
	TruncateStmt *stmt = (TruncateStmt *) job->stmt;
	int named;
	List *relations = truncate_open(stmt, &named);

	if (!truncate_has_triggers(relations))
	{
		truncate_close(relations);
		job_run_shell(job);
		return;
	}
	say_what_follows(relations, named);
	if (!job->applying)
		truncate_fire(relations, true);
	truncate_without_triggers(stmt, relations);
	job->truncated = relations;
}

/* RESTART IDENTITY must not let a worker's sequence give the coordinator's values. */
static void
fit_sequences(const DdlJob *job)
{
	if (!((TruncateStmt *) job->stmt)->restart_seqs || node_is_coordinator())
		return;
	foreach_oid(relid, job->tables) sequence_fit_table(relid);
}

void
truncate_finish(DdlJob *job)
{
	empty_shards(job);
	fit_sequences(job);
	if (!job->applying && job->truncated != NIL)
	{
		CommandCounterIncrement();
		truncate_fire(job->truncated, false);
	}
	truncate_close(job->truncated);
}

void
lock_prepare(DdlJob *job)
{
	LockStmt *stmt = (LockStmt *) job->stmt;
	List *ours = keep_distributed(job, stmt->relations);

	if (job->applying)
		stmt->relations = ours;
}
