/*
 * shard_relation.c: from a plain table on this node to the shard it holds, and the other
 * way.
 *
 * Nothing records which table holds a shard: the name does. So a relation is a shard when
 * its name ends in the id of a shard, and is the name that this shard of that table must
 * have, in the table's schema.
 */
#include "pando/compat/compat.h"

#include "utils/lsyscache.h"

#include "pando/base/name.h"
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

Oid
shard_relation(const DistTable *table, int64 shard_id)
{
	char *name = get_rel_name(table->relid);

	if (name == NULL)
		return InvalidOid;
	return get_relname_relid(name_shard(name, shard_id), get_rel_namespace(table->relid));
}
