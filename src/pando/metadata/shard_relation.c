/*
 * shard_relation.c: from a plain table on this node to the shard it holds, and the other
 * way.
 *
 * Nothing records which table holds a shard: the name does. So a relation is a shard when
 * its name ends in the id of a shard, and is the name that this shard of that table must
 * have, in the table's schema.
 *
 * Names are free to whoever may create tables there, and an owner may rename his shell
 * without its shards. Who reads or changes a shard by way of its shell has been asked for
 * his rights on the shell alone, so a table counts as a shard only if the shell's owner
 * owns it.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/metadata/node.h"
#include "pando/metadata/shard_relation.h"

int64
shard_id_of_name(const char *name)
{
	const char *digits = strrchr(name, '_');
	char *end;
	int64 id;

	if (digits == NULL || digits[1] < '1' || digits[1] > '9')
		return 0;
	errno = 0;
	id = strtoll(digits + 1, &end, 10);
	return *end == '\0' && errno == 0 ? id : 0;
}

bool
relation_is_shard(Oid relid, int64 *shard_id, Oid *shell)
{
	char *name = get_rel_name(relid);
	int64 id = name != NULL ? shard_id_of_name(name) : 0;
	const DistTable *table;

	if (id == 0 || shard_by_id(id, &table) == NULL)
		return false;
	if (get_rel_namespace(relid) != get_rel_namespace(table->relid) ||
		strcmp(name, name_shard(get_rel_name(table->relid), id)) != 0)
		return false;
	if (shard_id != NULL)
		*shard_id = id;
	if (shell != NULL)
		*shell = table->relid;
	return true;
}

Oid
relation_owner(Oid relid)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid owner = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
		ReleaseSysCache(tuple);
	}
	return owner;
}

bool
relation_forces_policies(Oid relid)
{
	Relation relation = table_open(relid, AccessShareLock);
	bool forced =
		relation->rd_rel->relrowsecurity && relation->rd_rel->relforcerowsecurity;

	table_close(relation, NoLock);
	return forced;
}

Oid
relation_role_past_policies(Oid relid)
{
	return relation_forces_policies(relid) ? sql_extension_owner()
										   : relation_owner(relid);
}

static bool
same_owner(Oid shell, Oid relid)
{
	Oid owner = relation_owner(shell);

	return OidIsValid(owner) && owner == relation_owner(relid);
}

bool
relation_has_shell_rights(Oid relid)
{
	Oid shell;

	return relation_is_shard(relid, NULL, &shell) && same_owner(shell, relid);
}

char *
shard_table_name(const DistTable *table, int64 shard_id)
{
	return table->managed_local ? name_qualified(table->relid)
								: name_shard_qualified(table->relid, shard_id);
}

Oid
shard_relation(const DistTable *table, int64 shard_id)
{
	char *name = get_rel_name(table->relid);
	Oid relid;

	if (name == NULL)
		return InvalidOid;
	if (table->kind == TABLE_MANAGED_LOCAL)
		return table->relid;
	relid =
		get_relname_relid(name_shard(name, shard_id), get_rel_namespace(table->relid));
	return same_owner(table->relid, relid) ? relid : InvalidOid;
}

Oid
shard_relation_require(const DistTable *table, int64 shard_id)
{
	Oid relid = shard_relation(table, shard_id);

	if (!OidIsValid(relid))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("shard " INT64_FORMAT
							   " of table \"%s\" does not exist on this node",
							   shard_id, get_rel_name(table->relid))));
	return relid;
}

bool
shard_is_local(const DistTable *table, int index)
{
	const Shard *shard = &table->shards[index];
	int32 group = node_local_group();

	for (int i = 0; i < shard->nplacements; i++)
	{
		if (shard->placements[i].group == group)
			return true;
	}
	return false;
}

static bool
same_columns(Oid shell, Oid copy)
{
	Relation a = table_open(shell, NoLock);
	Relation b = table_open(copy, NoLock);
	TupleDesc da = RelationGetDescr(a);
	TupleDesc db = RelationGetDescr(b);
	bool same = da->natts == db->natts;

	for (int i = 0; same && i < da->natts; i++)
	{
		Form_pg_attribute x = TupleDescAttr(da, i);
		Form_pg_attribute y = TupleDescAttr(db, i);

		same = x->attisdropped == y->attisdropped && x->atttypid == y->atttypid &&
			   (x->attisdropped || strcmp(NameStr(x->attname), NameStr(y->attname)) == 0);
	}
	table_close(a, NoLock);
	table_close(b, NoLock);
	return same;
}

/* What was found is kept with the metadata, which goes when the shell table changes. */
Oid
shard_local_table(const DistTable *table, int index, LOCKMODE mode)
{
	Shard *shard = &table->shards[index];
	bool known = OidIsValid(shard->local);
	Oid relid = known ? shard->local : shard_relation(table, shard->id);

	if (!OidIsValid(relid))
		return InvalidOid;
	LockRelationOid(relid, mode);
	if (known ? !same_owner(table->relid, relid) : !same_columns(table->relid, relid))
		return InvalidOid;
	shard->local = relid;
	return relid;
}
