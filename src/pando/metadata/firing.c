/*
 * firing.c: which changes of a table fire triggers where the client is.
 *
 * Those of the table fire there, but for those that its shards have; and so do those of
 * its partitions. Where a foreign key to the table has an action, a change of its rows
 * changes rows of others, whose triggers are to fire there, too, or which have to move to
 * other shards: then the action is done there, by the shell's own trigger for it.
 *
 * What is found is kept with the table (DistTable). A change of a partition's triggers,
 * or of those of a table with a foreign key, is told to the tables that it concerns
 * (ddl/attached.c).
 */
#include "pando/compat/compat.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "nodes/parsenodes.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "pando/catalog/partition.h"
#include "pando/metadata/cache.h"
#include "pando/metadata/firing.h"

/* ------------------------------------------------------------------------------------
 * Triggers of the table.
 */

/* The trigger of the partitioned table that this one was made after; InvalidOid: none. */
static Oid
parent_of_trigger(Oid trigger)
{
	Relation catalog = table_open(TriggerRelationId, AccessShareLock);
	Oid parent = InvalidOid;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_trigger_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(trigger));
	scan = systable_beginscan(catalog, TriggerOidIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		parent = ((Form_pg_trigger) GETSTRUCT(tuple))->tgparentid;
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return parent;
}

bool
trigger_is_of_shards(Oid trigger)
{
	for (; OidIsValid(trigger); trigger = parent_of_trigger(trigger))
	{
		if (list_member_oid(getAutoExtensionsOfObject(TriggerRelationId, trigger),
							metadata_extension()))
			return true;
	}
	return false;
}

static int
changes_that_fire(const Trigger *trigger)
{
	int changes = 0;

	if (trigger->tgisinternal || trigger->tgenabled == TRIGGER_DISABLED ||
		trigger_is_of_shards(trigger->tgoid))
		return 0;
	if (TRIGGER_FOR_INSERT(trigger->tgtype))
		changes |= 1 << CMD_INSERT;
	if (TRIGGER_FOR_UPDATE(trigger->tgtype))
		changes |= 1 << CMD_UPDATE;
	if (TRIGGER_FOR_DELETE(trigger->tgtype))
		changes |= 1 << CMD_DELETE;
	return changes;
}

/*
 * The relation's triggers, NULL if there are none: a copy, for its own go when the
 * relation is read anew, which whatever is looked up may bring about.
 */
static TriggerDesc *
triggers_of(Oid relid)
{
	Relation relation = RelationIdGetRelation(relid);
	TriggerDesc *triggers;

	if (!RelationIsValid(relation))
		return NULL;
	triggers = CopyTriggerDesc(relation->trigdesc);
	RelationClose(relation);
	return triggers;
}

static int
changes_that_fire_of(Oid relid, bool rows_only)
{
	TriggerDesc *triggers = triggers_of(relid);
	int changes = 0;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		if (!rows_only || TRIGGER_FOR_ROW(triggers->triggers[i].tgtype))
			changes |= changes_that_fire(&triggers->triggers[i]);
	}
	FreeTriggerDesc(triggers);
	return changes;
}

static bool
may_have_triggers(Oid relid)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool result = false;

	if (HeapTupleIsValid(tuple))
	{
		result = ((Form_pg_class) GETSTRUCT(tuple))->relhastriggers;
		ReleaseSysCache(tuple);
	}
	return result;
}

int
changes_that_fire_here(Oid table)
{
	int changes = changes_that_fire_of(table, false);
	int of_rows = 0;

	if (get_rel_relkind(table) != RELKIND_PARTITIONED_TABLE)
		return changes;
	foreach_oid(relid, find_all_inheritors(table, NoLock, NULL))
	{
		if (may_have_triggers(relid))
			of_rows |= changes_that_fire_of(relid, true);
	}
	/* An UPDATE may move a row, which is deleted then and inserted. */
	if (of_rows != 0)
		of_rows |= 1 << CMD_UPDATE;
	return changes | of_rows;
}

/* ------------------------------------------------------------------------------------
 * Actions of foreign keys.
 */

typedef struct Action
{
	Oid function;	/* of the referenced table's trigger */
	char kind;		/* as in pg_constraint */
	CmdType change; /* of the referenced row */
	CmdType effect; /* on those that refer to it */
} Action;

static const Action actions[] = {
	{F_RI_FKEY_CASCADE_DEL, FKCONSTR_ACTION_CASCADE, CMD_DELETE, CMD_DELETE},
	{F_RI_FKEY_SETNULL_DEL, FKCONSTR_ACTION_SETNULL, CMD_DELETE, CMD_UPDATE},
	{F_RI_FKEY_SETDEFAULT_DEL, FKCONSTR_ACTION_SETDEFAULT, CMD_DELETE, CMD_UPDATE},
	{F_RI_FKEY_CASCADE_UPD, FKCONSTR_ACTION_CASCADE, CMD_UPDATE, CMD_UPDATE},
	{F_RI_FKEY_SETNULL_UPD, FKCONSTR_ACTION_SETNULL, CMD_UPDATE, CMD_UPDATE},
	{F_RI_FKEY_SETDEFAULT_UPD, FKCONSTR_ACTION_SETDEFAULT, CMD_UPDATE, CMD_UPDATE},
};

/* A foreign key. */
typedef struct ForeignKey
{
	Oid table; /* that has it */
	char on_delete;
	char on_update;
	int count;
	AttrNumber own[INDEX_MAX_KEYS];
	AttrNumber referenced[INDEX_MAX_KEYS];
	int ndeleted; /* that ON DELETE SET has; 0: all */
	AttrNumber deleted[INDEX_MAX_KEYS];
} ForeignKey;

static const Action *
action_of(const Trigger *trigger)
{
	for (int i = 0; trigger->tgisinternal && i < lengthof(actions); i++)
	{
		if (trigger->tgfoid == actions[i].function)
			return &actions[i];
	}
	return NULL;
}

bool
trigger_is_action(const Trigger *trigger)
{
	return action_of(trigger) != NULL;
}

/* False: it has gone. */
static bool
key_of_constraint(Oid constraint, ForeignKey *key)
{
	HeapTuple tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	Form_pg_constraint form;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_constraint) GETSTRUCT(tuple);
	key->table = form->conrelid;
	key->on_delete = form->confdeltype;
	key->on_update = form->confupdtype;
	DeconstructFkConstraintRow(tuple, &key->count, key->own, key->referenced, NULL, NULL,
							   NULL, &key->ndeleted, key->deleted);
	ReleaseSysCache(tuple);
	return true;
}

static bool
has_column(const AttrNumber *columns, int count, AttrNumber column)
{
	for (int i = 0; i < count; i++)
	{
		if (columns[i] == column)
			return true;
	}
	return false;
}

/* Do the rows that it changes get another value of the distribution column? */
static bool
moves_rows(const Action *action, const ForeignKey *key)
{
	PartitionRow *row =
		action->effect == CMD_UPDATE ? catalog_partition_by_relid(key->table) : NULL;
	AttrNumber column = row != NULL && row->partkey != NULL
							? get_attnum(key->table, row->partkey)
							: InvalidAttrNumber;

	if (action->change == CMD_DELETE && key->ndeleted > 0)
		return has_column(key->deleted, key->ndeleted, column);
	return has_column(key->own, key->count, column);
}

static bool change_acts_here(Oid relid, CmdType change, List **seen);

static bool
is_done_here(const Action *action, const ForeignKey *key, List **seen)
{
	return (changes_that_fire_here(key->table) & (1 << action->effect)) != 0 ||
		   moves_rows(action, key) || change_acts_here(key->table, action->effect, seen);
}

/* Keys that were seen before lead to nothing else. */
static bool
change_acts_here(Oid relid, CmdType change, List **seen)
{
	TriggerDesc *triggers = triggers_of(relid);
	bool acts = false;

	for (int i = 0; !acts && triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];
		const Action *action = action_of(trigger);
		ForeignKey key;

		if (action == NULL || action->change != change ||
			list_member_oid(*seen, trigger->tgconstraint) ||
			!key_of_constraint(trigger->tgconstraint, &key))
			continue;
		*seen = lappend_oid(*seen, trigger->tgconstraint);
		acts = is_done_here(action, &key, seen);
	}
	FreeTriggerDesc(triggers);
	return acts;
}

bool
key_acts_here(Oid constraint)
{
	ForeignKey key;
	bool acts = false;

	if (!key_of_constraint(constraint, &key))
		return false;
	for (int i = 0; i < lengthof(actions) && !acts; i++)
	{
		List *seen = NIL;

		if (actions[i].kind ==
			(actions[i].change == CMD_DELETE ? key.on_delete : key.on_update))
			acts = is_done_here(&actions[i], &key, &seen);
	}
	return acts;
}

Bitmapset *
key_referenced_columns(Oid constraint)
{
	Bitmapset *columns = NULL;
	ForeignKey key;

	if (!key_of_constraint(constraint, &key))
		return NULL;
	for (int i = 0; i < key.count; i++)
		columns = bms_add_member(columns, key.referenced[i]);
	return columns;
}

bool
key_has_update_action(Oid constraint)
{
	ForeignKey key;

	return key_of_constraint(constraint, &key) &&
		   key.on_update != FKCONSTR_ACTION_NOACTION &&
		   key.on_update != FKCONSTR_ACTION_RESTRICT;
}

/* The referenced columns; 0 among them stands for any: one is generated from others. */
static Bitmapset *
add_referenced(Bitmapset *columns, Oid relid, const ForeignKey *key)
{
	for (int i = 0; i < key->count; i++)
		columns = bms_add_member(columns, get_attgenerated(relid, key->referenced[i])
											  ? 0
											  : key->referenced[i]);
	return columns;
}

/* Keys to partitioned tables are left to the shards (ddl/attached.c). */
static TriggerDesc *
triggers_unless_partitioned(Oid relid)
{
	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE ||
		get_rel_relispartition(relid))
		return NULL;
	return triggers_of(relid);
}

bool
trigger_checks_itself(const Trigger *trigger, Oid relid)
{
	return trigger->tgisinternal && trigger->tgconstrrelid == relid &&
		   (trigger->tgfoid == F_RI_FKEY_NOACTION_DEL ||
			trigger->tgfoid == F_RI_FKEY_NOACTION_UPD);
}

bool
refers_to_itself(Oid relid)
{
	TriggerDesc *triggers = triggers_unless_partitioned(relid);
	bool found = false;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers && !found; i++)
		found = trigger_checks_itself(&triggers->triggers[i], relid);
	FreeTriggerDesc(triggers);
	return found;
}

int
changes_that_act_here(Oid relid, Bitmapset **columns)
{
	TriggerDesc *triggers = triggers_unless_partitioned(relid);
	int changes = 0;

	*columns = NULL;
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];
		const Action *action = action_of(trigger);
		List *seen = NIL;
		ForeignKey key;

		if (action == NULL || !key_of_constraint(trigger->tgconstraint, &key) ||
			!is_done_here(action, &key, &seen))
			continue;
		changes |= 1 << action->change;
		if (action->change == CMD_UPDATE)
			*columns = add_referenced(*columns, relid, &key);
	}
	FreeTriggerDesc(triggers);
	return changes;
}
