/*
 * drop.c: forgetting what was dropped, on this server.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"

#include "pando/catalog/drop.h"
#include "pando/catalog/object.h"
#include "pando/catalog/partition.h"
#include "pando/catalog/placement.h"
#include "pando/catalog/schema.h"
#include "pando/catalog/shard.h"

bool
catalog_forget_shard(int64 shardid)
{
	catalog_placement_delete_by_shard(shardid);
	return catalog_shard_delete(shardid);
}

bool
catalog_forget_table(Oid relid)
{
	foreach_ptr (ShardRow, shard, catalog_shard_by_relid(relid))
		catalog_forget_shard(shard->shardid);
	return catalog_partition_delete(relid);
}

void
catalog_forget_object(const ObjectAddress *address)
{
	if (address->objectSubId == 0 && address->classId == RelationRelationId)
		catalog_forget_table(address->objectId);
	if (address->classId == NamespaceRelationId)
		catalog_schema_delete(address->objectId);
	catalog_object_delete(address);
}
