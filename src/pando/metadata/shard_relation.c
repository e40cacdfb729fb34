/*
 * shard_relation.c: from a plain table on this node to the shard it holds, and the other
 * way.
 *
 * Nothing records which table holds a shard: the name does. So a relation is a shard when
 * its name ends in the id of a shard, and is the name that this shard of that table must
 * have, in the table's schema.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pando/base/name.h"
#include "pando/metadata/node.h"
#include "pando/metadata/shard_relation.h"

/* The number after the last underscore of a name; 0 when there is none. */
static int64
trailing_id(const char *name)
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
	int64 id = name != NULL ? trailing_id(name) : 0;
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

	if (name == NULL)
		return InvalidOid;
	if (table->kind == TABLE_MANAGED_LOCAL)
		return table->relid;
	return get_relname_relid(name_shard(name, shard_id), get_rel_namespace(table->relid));
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
	if (!known && !same_columns(table->relid, relid))
		return InvalidOid;
	shard->local = relid;
	return relid;
}
