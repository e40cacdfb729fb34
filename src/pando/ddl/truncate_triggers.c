/*
 * truncate_triggers.c: TRUNCATE of relations with triggers, in parts.
 *
 * PostgreSQL's ExecuteTruncate() fires triggers right before and after it empties the
 * shells. Then the shards have their rows still, and queries of trigger functions would
 * take the shells for what is to be read and changed. So its parts are called here one by
 * one: relations are found, locked and checked as it does it, triggers fire while no
 * statement of ours is under way, and ExecuteTruncateGuts() gets copies of the relations'
 * descriptors that have no triggers. They say that the relation is a partitioned table,
 * whose storage is left alone: shells have no rows. Local tables that are named in the
 * same statement, or refer to a table of it, get their new storage here.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/heap.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/tablecmds.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "foreign/fdwapi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/predicate.h"
#include "utils/acl.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "pando/compat/executor.h"
#include "pando/ddl/truncate_triggers.h"
#include "pando/metadata/firing.h"
#include "pando/metadata/table.h"

/* ------------------------------------------------------------------------------------
 * What is to be emptied, with PostgreSQL's checks.
 */

static void
check_kind(Oid relid, Form_pg_class class)
{
	const char *name = NameStr(class->relname);

	if (class->relkind == RELKIND_FOREIGN_TABLE)
	{
		if (GetFdwRoutineByRelId(relid)->ExecForeignTruncate == NULL)
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("cannot truncate foreign table \"%s\"", name)));
	}
	else if (class->relkind != RELKIND_RELATION &&
			 class->relkind != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("\"%s\" is not a table", name)));
	if (!allowSystemTableMods && IsSystemClass(relid, class))
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("permission denied: \"%s\" is a system catalog", name)));
	InvokeObjectTruncateHook(relid);
}

static void
check_right(Oid relid, Form_pg_class class)
{
	AclResult result = pg_class_aclcheck(relid, GetUserId(), ACL_TRUNCATE);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, get_relkind_objtype(class->relkind),
					   NameStr(class->relname));
}

/* Called before the relation is locked. */
static void
check_named(const RangeVar *name, Oid relid, Oid old_relid, void *arg)
{
	HeapTuple tuple;

	if (!OidIsValid(relid))
		return;
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	if (!HeapTupleIsValid(tuple))
		return; /* it is gone: the name is looked up again */
	check_kind(relid, (Form_pg_class) GETSTRUCT(tuple));
	check_right(relid, (Form_pg_class) GETSTRUCT(tuple));
	ReleaseSysCache(tuple);
}

typedef struct Opened
{
	List *relations;
	List *relids;
} Opened;

/* The relation is locked. */
static Relation
open_one(Opened *opened, Oid relid)
{
	Relation relation = table_open(relid, NoLock);

	if (RELATION_IS_OTHER_TEMP(relation))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot truncate temporary tables of other sessions")));
	CheckTableNotInUse(relation, "TRUNCATE");
	opened->relations = lappend(opened->relations, relation);
	opened->relids = lappend_oid(opened->relids, relid);
	return relation;
}

static void
open_children(Opened *opened, Oid relid)
{
	foreach_oid(child, find_all_inheritors(relid, AccessExclusiveLock, NULL))
	{
		Relation relation;

		CHECK_FOR_INTERRUPTS();
		if (list_member_oid(opened->relids, child))
			continue;
		relation = table_open(child, NoLock);
		if (RELATION_IS_OTHER_TEMP(relation))
		{
			table_close(relation, AccessExclusiveLock);
			continue;
		}
		check_kind(child, relation->rd_rel);
		table_close(relation, NoLock);
		(void) open_one(opened, child);
	}
}

static void
open_named(Opened *opened, RangeVar *name)
{
	Oid relid = RangeVarGetRelidExtended(name, AccessExclusiveLock, 0, check_named, NULL);
	Relation relation;

	if (list_member_oid(opened->relids, relid))
		return;
	relation = open_one(opened, relid);
	if (name->inh)
		open_children(opened, relid);
	else if (relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot truncate only a partitioned table"),
				 errhint("Do not specify the ONLY keyword, or use TRUNCATE ONLY on the "
						 "partitions directly.")));
}

static void
open_referencing(Opened *opened)
{
	List *found;

	while ((found = heap_truncate_find_FKs(opened->relids)) != NIL)
	{
		foreach_oid(relid, found)
		{
			Relation relation = table_open(relid, AccessExclusiveLock);

			check_kind(relid, relation->rd_rel);
			check_right(relid, relation->rd_rel);
			table_close(relation, NoLock);
			(void) open_one(opened, relid);
		}
	}
}

List *
truncate_open(const TruncateStmt *stmt, int *named)
{
	Opened opened = {NIL, NIL};

	foreach_ptr (RangeVar, name, stmt->relations)
		open_named(&opened, name);
	*named = list_length(opened.relations);
	if (stmt->behavior == DROP_CASCADE)
		open_referencing(&opened);
	return opened.relations;
}

void
truncate_close(List *relations)
{
	foreach_ptr (RelationData, relation, relations)
		table_close(relation, NoLock);
}

/* ------------------------------------------------------------------------------------
 * Triggers.
 */

bool
truncate_has_triggers(List *relations)
{
	foreach_ptr (RelationData, relation, relations)
	{
		const TriggerDesc *triggers = relation->trigdesc;

		if (triggers != NULL && (triggers->trig_truncate_before_statement ||
								 triggers->trig_truncate_after_statement))
			return true;
	}
	return false;
}

static ResultRelInfo *
make_target(EState *estate, Relation relation)
{
	ResultRelInfo *target = makeNode(ResultRelInfo);
	TriggerDesc *triggers;

	InitResultRelInfo(target, relation, 0, NULL, 0);
	triggers = target->ri_TrigDesc;
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		if (!triggers->triggers[i].tgisinternal &&
			trigger_is_of_shards(triggers->triggers[i].tgoid))
			triggers->triggers[i].tgenabled = TRIGGER_DISABLED;
	}
	estate->es_opened_result_relations =
		lappend(estate->es_opened_result_relations, target);
	return target;
}

void
truncate_fire(List *relations, bool before)
{
	EState *estate = CreateExecutorState();

	AfterTriggerBeginQuery();
	foreach_ptr (RelationData, relation, relations)
		(void) make_target(estate, relation);
	foreach_ptr (ResultRelInfo, target, estate->es_opened_result_relations)
	{
		if (before)
			ExecBSTruncateTriggers(estate, target);
		else
			ExecASTruncateTriggers(estate, target);
	}
	AfterTriggerEndQuery(estate);
	FreeExecutorState(estate);
}

/* ------------------------------------------------------------------------------------
 * The change.
 */

void
relation_empty(Relation relation)
{
	ReindexParams params = {0};
	Oid toast = relation->rd_rel->reltoastrelid;

	compat_new_file(relation);
	if (OidIsValid(toast))
	{
		Relation toast_relation = table_open(toast, AccessExclusiveLock);

		compat_new_file(toast_relation);
		table_close(toast_relation, NoLock);
	}
	compat_reindex(RelationGetRelid(relation), REINDEX_REL_PROCESS_TOAST, &params);
	pgstat_count_truncate(relation);
	CommandCounterIncrement();
}

static Relation
without_triggers(Relation relation)
{
	Relation copy = palloc(sizeof(RelationData));

	*copy = *relation;
	copy->trigdesc = NULL;
	copy->rd_rel = palloc(CLASS_TUPLE_SIZE);
	memcpy(copy->rd_rel, relation->rd_rel, CLASS_TUPLE_SIZE);
	if (copy->rd_rel->relkind != RELKIND_FOREIGN_TABLE)
		copy->rd_rel->relkind = RELKIND_PARTITIONED_TABLE;
	return copy;
}

static bool
has_rows_here(Relation relation)
{
	const DistTable *table = dist_table(RelationGetRelid(relation));

	return relation->rd_rel->relkind == RELKIND_RELATION &&
		   (table == NULL || table->kind == TABLE_MANAGED_LOCAL);
}

void
truncate_rows(List *relations)
{
	List *logged = NIL;

	foreach_ptr (RelationData, relation, relations)
	{
		if (!has_rows_here(relation))
			continue;
		if (RelationIsLogicallyLogged(relation))
			logged = lappend_oid(logged, RelationGetRelid(relation));
		CheckTableForSerializableConflictIn(relation);
		relation_empty(relation);
	}
	/* Tells logical decoding of these, and does nothing else. */
	compat_truncate(NIL, NIL, logged, DROP_RESTRICT, false);
}

void
truncate_without_triggers(const TruncateStmt *stmt, List *relations)
{
	List *copies = NIL;
	List *relids = NIL;

	foreach_ptr (RelationData, relation, relations)
	{
		copies = lappend(copies, without_triggers(relation));
		relids = lappend_oid(relids, RelationGetRelid(relation));
	}
	compat_truncate(copies, relids, NIL, stmt->behavior, stmt->restart_seqs);
	truncate_rows(relations);
}
