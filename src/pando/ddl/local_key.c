/*
 * local_key.c: foreign keys from managed local tables to reference tables.
 *
 * A foreign key to the reference table's shell checks what is written to the local table:
 * the planner reads this node's copy instead. But rows of a reference table are deleted
 * and updated in its copies, where no trigger of that key is. So each such key has a
 * *twin*: the same foreign key to this node's copy, named as a shard's constraint would
 * be. Only its half on the copy is used (NO ACTION, CASCADE and so on); its triggers on
 * the local table are disabled, for they would check the same again.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_constraint.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/ddl/local_key.h"
#include "pando/ddl/shard_ddl.h"
#include "pando/ddl/utility.h"
#include "pando/metadata/shard_relation.h"

typedef struct LocalKey
{
	Oid id;
	FormData_pg_constraint form;
	Oid copy;	/* what a key to a reference table's twin refers to; else InvalidOid */
	char *twin; /* and that one's name */
	bool is_twin;
} LocalKey;

static LocalKey *
local_key_load(Oid id)
{
	LocalKey *key = palloc0(sizeof(LocalKey));
	HeapTuple tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(id));
	const DistTable *other;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("constraint with OID %u does not exist", id)));
	key->id = id;
	key->form = *(Form_pg_constraint) GETSTRUCT(tuple);
	ReleaseSysCache(tuple);

	other = dist_table(key->form.confrelid);
	if (other == NULL)
		key->is_twin = relation_is_shard(key->form.confrelid, NULL, NULL);
	else if (other->kind == TABLE_REFERENCE)
	{
		key->copy = shard_relation(other, other->shards[0].id);
		key->twin = name_shard(NameStr(key->form.conname), other->shards[0].id);
	}
	return key;
}

/* A partition's that are its parent's follow that one's, and so do their twins. */
static List *
local_keys_of(Oid relid)
{
	List *keys = NIL;

	foreach_ptr (char, id,
				 sql_column("SELECT oid FROM pg_catalog.pg_constraint WHERE conrelid = "
							"%u AND contype = 'f' AND conparentid = 0 ORDER BY oid",
							relid))
		keys = lappend(keys, local_key_load(atooid(id)));
	return keys;
}

static bool
are_twins(const LocalKey *key, const LocalKey *twin)
{
	return OidIsValid(key->copy) && twin->is_twin && key->copy == twin->form.confrelid &&
		   strcmp(key->twin, NameStr(twin->form.conname)) == 0 &&
		   key->form.condeferrable == twin->form.condeferrable &&
		   key->form.condeferred == twin->form.condeferred;
}

static bool
has_twin(const LocalKey *key, List *keys)
{
	foreach_ptr (LocalKey, other, keys)
	{
		if (are_twins(key, other) || are_twins(other, key))
			return true;
	}
	return false;
}

static void
twin_drop(Oid relid, const LocalKey *twin)
{
	utility_apply_sql(psprintf("ALTER TABLE %s DROP CONSTRAINT %s", name_qualified(relid),
							   quote_identifier(NameStr(twin->form.conname))));
}

/* The key's own definition, with another name and the copy in place of the shell. */
static void
twin_create(const LocalKey *key)
{
	char *sql = pg_get_constraintdef_command(key->id);

	foreach_ptr (AlterTableStmt, stmt, shard_parse(sql))
	{
		AlterTableCmd *command = linitial_node(AlterTableCmd, stmt->cmds);
		Constraint *constraint = castNode(Constraint, command->def);

		constraint->conname = key->twin;
		constraint->pktable->relname = get_rel_name(key->copy);
		shard_run((Node *) stmt, sql);
	}
}

static void
twin_disable_checks(Oid relid, const LocalKey *key)
{
	List *triggers = sql_column(
		"SELECT tgname FROM pg_catalog.pg_trigger WHERE tgrelid = %u AND tgconstraint = "
		"%u",
		relid, get_relation_constraint_oid(relid, key->twin, false));

	foreach_ptr (char, trigger, triggers)
	{
		utility_apply_sql(psprintf("ALTER TABLE %s DISABLE TRIGGER %s",
								   name_qualified(relid), quote_identifier(trigger)));
	}
}

/*
 * Whoever changes the reference table, or the local one, need not own the other; and a
 * constraint's triggers are for superusers to disable.
 */
void
local_keys_follow(Oid relid)
{
	List *keys = local_keys_of(relid);
	OwnerScope scope;

	owner_enter(&scope);
	foreach_ptr (LocalKey, twin, keys)
	{
		if (twin->is_twin && !has_twin(twin, keys))
			twin_drop(relid, twin);
	}
	CommandCounterIncrement();
	foreach_ptr (LocalKey, key, keys)
	{
		if (!OidIsValid(key->copy) || has_twin(key, keys))
			continue;
		twin_create(key);
		CommandCounterIncrement();
		twin_disable_checks(relid, key);
		CommandCounterIncrement();
	}
	owner_leave(&scope);
}

void
local_keys_forget(Oid relid)
{
	OwnerScope scope;

	owner_enter(&scope);
	foreach_ptr (LocalKey, key, local_keys_of(relid))
	{
		if (key->is_twin)
			twin_drop(relid, key);
	}
	CommandCounterIncrement();
	owner_leave(&scope);
}

void
local_key_check(Oid relid, const Constraint *constraint)
{
	Oid other_relid = RangeVarGetRelid(constraint->pktable, NoLock, true);
	const DistTable *other = OidIsValid(other_relid) ? dist_table(other_relid) : NULL;

	if (other != NULL && dist_table_is_sharded(other))
		ereport(NOTICE,
				(errmsg("the foreign key of local table %s does not see changes of %s",
						get_rel_name(relid), get_rel_name(other_relid)),
				 errdetail("That table is distributed.")));
}
