/*
 * attached.c: what is attached to a table without being a relation: policies, triggers,
 * rules, statistics objects, comments, security labels.
 *
 * Policies and statistics are for shards as well as for the shell. Comments and labels
 * are the shell's alone. Triggers run where rows are, with what the node has: they are
 * refused unless citus.enable_unsafe_triggers says otherwise.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_statistic_ext.h"
#include "commands/defrem.h"
#include "nodes/makefuncs.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "pando/ddl/constraint.h"
#include "pando/ddl/partition.h"
#include "pando/ddl/sequence.h"
#include "pando/ddl/settings.h"
#include "pando/ddl/statements.h"
#include "pando/metadata/table.h"

void
policy_create_prepare(DdlJob *job)
{
	job_one_table(job, ((CreatePolicyStmt *) job->stmt)->table);
}

void
policy_alter_prepare(DdlJob *job)
{
	job_one_table(job, ((AlterPolicyStmt *) job->stmt)->table);
}

void
trigger_create_prepare(DdlJob *job)
{
	CreateTrigStmt *stmt = (CreateTrigStmt *) job->stmt;

	if (!OidIsValid(job_distributed_table(stmt->relation)))
		return;
	if (!ddl_unsafe_triggers && !job->applying)
		job_refuse(
			job, "CREATE TRIGGER",
			"Set citus.enable_unsafe_triggers to on if the trigger function uses nothing "
			"but the row and what is on the same node.");
	job_one_table(job, stmt->relation);
}

void
rule_create_prepare(DdlJob *job)
{
	if (OidIsValid(job_distributed_table(((RuleStmt *) job->stmt)->relation)))
		job_refuse(job, "CREATE RULE", NULL);
}

/* schema.table of schema.table.name */
static RangeVar *
attached_relation(List *names)
{
	return makeRangeVarFromNameList(
		list_truncate(list_copy(names), list_length(names) - 1));
}

/* DROP POLICY, TRIGGER, RULE */
void
attached_drop_prepare(DdlJob *job)
{
	DropStmt *stmt = (DropStmt *) job->stmt;

	foreach_ptr (List, names, stmt->objects)
	{
		if (list_length(names) < 2)
			continue;
		job_one_table(job, attached_relation(names));
	}
	if (stmt->removeType == OBJECT_RULE)
		job->shard_statements = NIL;
}

/* ------------------------------------------------------------------------------------
 * Statistics objects
 */

void
statistics_create_prepare(DdlJob *job)
{
	CreateStatsStmt *stmt = (CreateStatsStmt *) job->stmt;
	RangeVar *relation = linitial(stmt->relations);
	Oid relid;

	if (list_length(stmt->relations) != 1 || !IsA(relation, RangeVar))
		return;
	relid = job_distributed_table(relation);
	if (!OidIsValid(relid))
		return;
	job_add_table(job, relid);
	constraint_prepare_statistics(job, relid, stmt);
	job_add_shards(job, relid, job->stmt);
}

static Oid
statistics_table(List *names)
{
	Oid id = get_statistics_object_oid(names, true);
	Oid relid = OidIsValid(id) ? StatisticsGetRelation(id, true) : InvalidOid;

	return job_table_has_shards(relid) ? relid : InvalidOid;
}

void
statistics_alter_prepare(DdlJob *job)
{
	Oid relid = statistics_table(((AlterStatsStmt *) job->stmt)->defnames);

	if (!OidIsValid(relid))
		return;
	job_add_table(job, relid);
	job_add_shards(job, relid, job->stmt);
}

/* RENAME, OWNER TO, SET SCHEMA, DROP */
void
statistics_named_prepare(DdlJob *job)
{
	List *names = NIL;
	Oid relid;

	if (IsA(job->stmt, DropStmt))
	{
		DropStmt *stmt = (DropStmt *) job->stmt;

		if (list_length(stmt->objects) > 1)
		{
			foreach_ptr (List, object, stmt->objects)
			{
				if (OidIsValid(statistics_table(object)))
					job_refuse(job, "DROP STATISTICS of several objects",
							   "Drop them one by one.");
			}
			return;
		}
		names = linitial(stmt->objects);
	}
	else if (IsA(job->stmt, RenameStmt))
		names = (List *) ((RenameStmt *) job->stmt)->object;
	else if (IsA(job->stmt, AlterOwnerStmt))
		names = (List *) ((AlterOwnerStmt *) job->stmt)->object;
	else if (IsA(job->stmt, AlterObjectSchemaStmt))
		names = (List *) ((AlterObjectSchemaStmt *) job->stmt)->object;

	relid = statistics_table(names);
	if (!OidIsValid(relid))
		return;
	job_add_table(job, relid);
	job_add_shards(job, relid, job->stmt);
}

/* ------------------------------------------------------------------------------------
 * Comments and labels: shells only
 */

/* The distributed table that an object of these kinds is or belongs to. */
static Oid
attached_table(ObjectType type, List *names)
{
	RangeVar *relation;
	Oid relid;

	switch (type)
	{
		case OBJECT_STATISTIC_EXT:
			return statistics_table(names);
		case OBJECT_TABLE:
		case OBJECT_INDEX:
		case OBJECT_SEQUENCE:
			relation = makeRangeVarFromNameList(names);
			break;
		default:
			relation = attached_relation(names);
			break;
	}
	relid = RangeVarGetRelid(relation, NoLock, true);
	if (OidIsValid(relid) && get_rel_relkind(relid) == RELKIND_SEQUENCE)
		return sequence_distributed_table(relid);
	if (OidIsValid(relid) && partition_relkind_is_index(get_rel_relkind(relid)))
		relid = IndexGetRelation(relid, true);
	return job_table_has_shards(relid) ? relid : InvalidOid;
}

static bool
attached_is_on_table(ObjectType type)
{
	static const ObjectType types[] = {
		OBJECT_TABLE,	OBJECT_INDEX,		  OBJECT_SEQUENCE,
		OBJECT_COLUMN,	OBJECT_TABCONSTRAINT, OBJECT_POLICY,
		OBJECT_TRIGGER, OBJECT_RULE,		  OBJECT_STATISTIC_EXT};

	for (int i = 0; i < lengthof(types); i++)
	{
		if (types[i] == type)
			return true;
	}
	return false;
}

static void
attached_text_prepare(DdlJob *job, ObjectType type, Node *object)
{
	Oid relid;

	if (!attached_is_on_table(type))
	{
		object_prepare(job);
		return;
	}
	relid = attached_table(type, (List *) object);
	if (OidIsValid(relid))
		job_add_table(job, relid);
}

void
comment_prepare(DdlJob *job)
{
	CommentStmt *stmt = (CommentStmt *) job->stmt;

	attached_text_prepare(job, stmt->objtype, stmt->object);
}

void
security_label_prepare(DdlJob *job)
{
	SecLabelStmt *stmt = (SecLabelStmt *) job->stmt;

	attached_text_prepare(job, stmt->objtype, stmt->object);
}
