/*
 * name.c: names of relations and shards as text.
 *
 * A shard's name must be the same on every node and at every time, for nothing records
 * it: it follows from the shell table's name and the shard id alone.
 */
#include "pando/compat/compat.h"

#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pando/base/name.h"

/* Name and schema of a relation; raises if it is gone. */
static void
name_look_up(Oid relid, char **schema, char **name)
{
	*name = get_rel_name(relid);
	if (*name == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("relation with OID %u does not exist", relid)));
	*schema = get_namespace_name(get_rel_namespace(relid));
	if (*schema == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_SCHEMA),
						errmsg("schema of relation \"%s\" does not exist", *name)));
}

char *
name_qualified(Oid relid)
{
	char *schema;
	char *name;

	name_look_up(relid, &schema, &name);
	return quote_qualified_identifier(schema, name);
}

char *
name_shard(const char *name, int64 shard_id)
{
	char suffix[NAMEDATALEN];
	int length = strlen(name);

	snprintf(suffix, sizeof(suffix), "_" INT64_FORMAT, shard_id);
	if (length + strlen(suffix) >= NAMEDATALEN)
	{
		uint32 hash = hash_bytes((const unsigned char *) name, length);

		snprintf(suffix, sizeof(suffix), "_%08x_" INT64_FORMAT, hash, shard_id);
		length = pg_mbcliplen(name, length, NAMEDATALEN - 1 - strlen(suffix));
	}
	return psprintf("%.*s%s", length, name, suffix);
}

char *
name_shard_qualified(Oid relid, int64 shard_id)
{
	char *schema;
	char *name;

	name_look_up(relid, &schema, &name);
	return quote_qualified_identifier(schema, name_shard(name, shard_id));
}
