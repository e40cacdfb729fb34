/*
 * attached.c: what is attached to a table without being a relation: policies, triggers,
 * statistics objects, comments, security labels, and where rules (rule.c) are alike.
 *
 * Policies and statistics are for shards as well as for the shell. Comments and labels
 * are the shell's alone. So are triggers, which fire in the client's backend
 * (planner/write/triggered.c); one that was made while citus.enable_unsafe_triggers was
 * on is the shards' as well and fires there: the shell's is marked by a dependency on the
 * extension.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/dependency.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_trigger.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "commands/trigger.h"
#include "nodes/makefuncs.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "pando/ddl/constraint.h"
#include "pando/ddl/object.h"
#include "pando/ddl/partition.h"
#include "pando/ddl/sequence.h"
#include "pando/ddl/settings.h"
#include "pando/ddl/statements.h"
#include "pando/ddl/view.h"
#include "pando/metadata/firing.h"
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

/* ------------------------------------------------------------------------------------
 * Triggers
 */

bool
trigger_is_on_shards(Oid relid, const char *name)
{
	Oid trigger = get_trigger_oid(relid, name, true);

	return OidIsValid(trigger) && trigger_is_of_shards(trigger);
}

void
trigger_create_prepare(DdlJob *job)
{
	CreateTrigStmt *stmt = (CreateTrigStmt *) job->stmt;
	Oid relid = job_distributed_table(stmt->relation);
	bool on_shards = ddl_unsafe_triggers;

	if (!OidIsValid(relid))
	{
		view_prepare(job, stmt->relation);
		return;
	}
	/* One that is replaced stays where it is. */
	if (stmt->replace && OidIsValid(get_trigger_oid(relid, stmt->trigname, true)))
		on_shards = trigger_is_on_shards(relid, stmt->trigname);
	on_shards = strcmp(job_fix_name(job, on_shards ? "shards" : "shell"), "shards") == 0;
	if (on_shards)
		job_one_table(job, stmt->relation);
	else
		job_add_table(job, relid);
}

/* Why the key's action can't be done where the client is; NULL: it can. */
static const char *
shards_act(Relation relation, Oid referenced)
{
	if (get_rel_relkind(referenced) == RELKIND_PARTITIONED_TABLE ||
		get_rel_relispartition(referenced))
		return "The table that it refers to is partitioned.";
	return NULL;
}

static void follow_keys(Oid relid, List **told);

/* The table's changes have actions done here, now, that shards did before; and so may
 * those of the tables that it refers to. */
static void
tell_referenced(Oid relid, List **told)
{
	if (list_member_oid(*told, relid))
		return;
	*told = lappend_oid(*told, relid);
	CacheInvalidateRelcacheByRelid(relid);
	CommandCounterIncrement();
	follow_keys(relid, told);
}

static void
follow_key(Relation relation, Oid constraint, List **told)
{
	HeapTuple tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	Form_pg_constraint key = (Form_pg_constraint) GETSTRUCT(tuple);

	if (key_acts_here(constraint))
	{
		const char *why = shards_act(relation, key->confrelid);

		if (why != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("foreign key \"%s\" of table \"%s\" has an action that would "
							"not fire the table's triggers, or move its rows",
							NameStr(key->conname), RelationGetRelationName(relation)),
					 errdetail_internal("%s", why),
					 errhint("Make it a key without actions, or create the triggers with "
							 "citus.enable_unsafe_triggers.")));
		tell_referenced(key->confrelid, told);
	}
	ReleaseSysCache(tuple);
}

static void
follow_keys(Oid relid, List **told)
{
	Relation relation;

	if (dist_table(relid) == NULL)
		return;
	relation = table_open(relid, AccessShareLock);
	foreach_ptr (ForeignKeyCacheInfo, key, RelationGetFKeyList(relation))
		follow_key(relation, key->conoid, told);
	table_close(relation, NoLock);
}

void
trigger_follow_keys(Oid relid)
{
	List *told = list_make1_oid(relid);

	follow_keys(relid, &told);
}

/* What fires when a partitioned table is changed are its partitions' triggers, too. */
void
trigger_tell_parents(Oid relid)
{
	if (!get_rel_relispartition(relid))
		return;
	foreach_oid(parent, get_partition_ancestors(relid))
		CacheInvalidateRelcacheByRelid(parent);
	CommandCounterIncrement();
}

void
trigger_create_changed(DdlJob *job)
{
	CreateTrigStmt *stmt = (CreateTrigStmt *) job->stmt;
	ObjectAddress trigger;
	ObjectAddress extension;

	if (job->tables != NIL)
		trigger_tell_parents(linitial_oid(job->tables));
	if (job->names == NIL || strcmp(linitial(job->names), "shards") != 0 ||
		trigger_is_on_shards(linitial_oid(job->tables), stmt->trigname))
	{
		if (job->tables != NIL)
			trigger_follow_keys(linitial_oid(job->tables));
		return;
	}
	ObjectAddressSet(trigger, TriggerRelationId,
					 get_trigger_oid(linitial_oid(job->tables), stmt->trigname, false));
	ObjectAddressSet(extension, ExtensionRelationId, get_extension_oid("pando", false));
	recordDependencyOn(&trigger, &extension, DEPENDENCY_AUTO_EXTENSION);
	CacheInvalidateRelcacheByRelid(linitial_oid(job->tables));
	CommandCounterIncrement();
}

/* The extension's mark says where a trigger fires; it is nobody's to set or take. */
void
depends_prepare(DdlJob *job)
{
	AlterObjectDependsStmt *stmt = (AlterObjectDependsStmt *) job->stmt;
	Oid relid = stmt->relation != NULL ? RangeVarGetRelid(stmt->relation, NoLock, true)
									   : InvalidOid;

	if (stmt->objectType == OBJECT_INDEX && OidIsValid(relid) &&
		partition_relkind_is_index(get_rel_relkind(relid)))
		relid = IndexGetRelation(relid, true);
	if (!job_table_has_shards(relid))
	{
		object_prepare(job);
		return;
	}
	if (stmt->objectType == OBJECT_TRIGGER && strcmp(strVal(stmt->extname), "pando") == 0)
		job_refuse(job, "ALTER TRIGGER ... DEPENDS ON EXTENSION pando", NULL);
	job_add_table(job, relid);
	if (stmt->objectType == OBJECT_INDEX ||
		trigger_is_on_shards(relid, strVal(llast((List *) stmt->object))))
		job_add_shards(job, relid, job->stmt);
}

static bool
command_is_of_shell(Oid relid, const AlterTableCmd *command)
{
	switch (command->subtype)
	{
		case AT_EnableTrig:
		case AT_EnableAlwaysTrig:
		case AT_EnableReplicaTrig:
		case AT_DisableTrig:
			return OidIsValid(get_trigger_oid(relid, command->name, true)) &&
				   !trigger_is_on_shards(relid, command->name);
		case AT_EnableRule:
		case AT_EnableAlwaysRule:
		case AT_EnableReplicaRule:
		case AT_DisableRule:
			return true;
		default:
			return false;
	}
}

bool
attached_commands_for_shards(Oid relid, AlterTableStmt *stmt)
{
	List *kept = NIL;

	foreach_ptr (AlterTableCmd, command, stmt->cmds)
	{
		if (!command_is_of_shell(relid, command))
			kept = lappend(kept, command);
	}
	stmt->cmds = kept;
	return kept != NIL;
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
		RangeVar *relation;
		Oid relid;

		if (list_length(names) < 2)
			continue;
		relation = attached_relation(names);
		relid = stmt->removeType == OBJECT_TRIGGER ? job_distributed_table(relation)
												   : InvalidOid;
		if (OidIsValid(relid) && !trigger_is_on_shards(relid, strVal(llast(names))))
			job_add_table(job, relid);
		else
			job_one_table(job, relation);
		view_prepare(job, relation);
	}
	if (stmt->removeType == OBJECT_RULE)
		job->shard_statements = NIL;
}

/* ------------------------------------------------------------------------------------
 * Statistics objects
 */

/* Is there one of the name that the statement gives? */
static bool
statistics_are_there(const CreateStatsStmt *stmt)
{
	char *name;
	Oid schema;

	if (stmt->defnames == NIL)
		return false;
	schema = QualifiedNameGetCreationNamespace(stmt->defnames, &name);
	return SearchSysCacheExists2(STATEXTNAMENSP, CStringGetDatum(name),
								 ObjectIdGetDatum(schema));
}

void
statistics_create_prepare(DdlJob *job)
{
	CreateStatsStmt *stmt = (CreateStatsStmt *) job->stmt;
	RangeVar *relation = linitial(stmt->relations);
	Oid relid;

	if (list_length(stmt->relations) != 1 || !IsA(relation, RangeVar))
		return;
	relid = job_distributed_table(relation);
	if (!OidIsValid(relid) || (stmt->if_not_exists && statistics_are_there(stmt)))
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

void
statistics_drop_prepare(DdlJob *job)
{
	DropStmt *stmt = (DropStmt *) job->stmt;
	List *ours = NIL;

	foreach_ptr (List, names, stmt->objects)
	{
		Oid relid = statistics_table(names);
		DropStmt *one;

		if (!OidIsValid(relid))
			continue;
		ours = lappend(ours, names);
		one = copyObject(stmt);
		one->objects = list_make1(copyObject(names));
		one->missing_ok = true; /* it may be named twice */
		job_add_table(job, relid);
		job_add_shards(job, relid, (Node *) one);
	}
	/* Those of tables that are on the client's node alone. */
	if (job->applying)
		stmt->objects = ours;
}

/* RENAME, OWNER TO, SET SCHEMA */
void
statistics_named_prepare(DdlJob *job)
{
	List *names = NIL;
	Oid relid;

	if (IsA(job->stmt, RenameStmt))
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
attached_table(DdlJob *job, ObjectType type, List *names)
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
	view_prepare(job, relation);
	if (OidIsValid(relid) && get_rel_relkind(relid) == RELKIND_SEQUENCE)
		return sequence_distributed_table(relid);
	if (OidIsValid(relid) && partition_relkind_is_index(get_rel_relkind(relid)))
	{
		relid = IndexGetRelation(relid, true);
		job->concerned |= view_is_everywhere(relid);
	}
	job->concerned |=
		object_comes_along(RelationRelationId, relid) || object_is_row_type(relid);
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
	relid = attached_table(job, type, (List *) object);
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
