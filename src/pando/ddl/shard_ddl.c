/*
 * shard_ddl.c: shards made from, changed like and dropped with their shell table.
 *
 * A node makes shards from its own shell table: the shell's definition as text
 * (table_def.c), parsed once, renamed per shard (shard_name.c) and run. All of it happens
 * inside the backend, as the current user, who must own the table.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parser.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/regproc.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/ddl/shard_ddl.h"
#include "pando/ddl/table_def.h"
#include "pando/ddl/utility.h"
#include "pando/metadata/shard_relation.h"

PG_FUNCTION_INFO_V1(shards_create);
PG_FUNCTION_INFO_V1(shard_group_create);
PG_FUNCTION_INFO_V1(shards_drop);
PG_FUNCTION_INFO_V1(worker_apply_shard_ddl_command);

void
shard_require_owner(Oid relid)
{
	if (!compat_owns_relation(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relid)),
					   get_rel_name(relid));
}

List *
shard_parse(const char *sql)
{
	List *statements = NIL;

	foreach_ptr (RawStmt, raw, raw_parser(sql, RAW_PARSE_DEFAULT))
		statements = lappend(statements, raw->stmt);
	return statements;
}

void
shard_run(Node *stmt, const char *source)
{
	utility_apply_statement(stmt, source, PROCESS_UTILITY_SUBCOMMAND);
	CommandCounterIncrement();
}

Oid
shard_owner(Oid relid)
{
	Oid owner = relation_owner(relid);

	if (!OidIsValid(owner))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("relation with OID %u does not exist", relid)));
	return owner;
}

void
shard_drop_tables(List *names, Oid owner, int elevel)
{
	ObjectAddresses *objects = new_object_addresses();
	bool any = false;

	foreach_ptr (char, name, names)
	{
		RangeVar *relation = makeRangeVarFromNameList(compat_qualified_name(name));
		ObjectAddress address;

		ObjectAddressSet(address, RelationRelationId,
						 RangeVarGetRelid(relation, AccessExclusiveLock, true));
		if (!OidIsValid(address.objectId))
			continue;
		if (shard_owner(address.objectId) != owner)
		{
			ereport(elevel,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("table %s is not dropped because it belongs to another role",
							name)));
			continue;
		}
		add_exact_object_address(&address, objects);
		any = true;
	}
	if (any)
		performMultipleDeletions(objects, DROP_CASCADE, PERFORM_DELETION_QUIETLY);
	CommandCounterIncrement();
	free_object_addresses(objects);
}

/* bigint[] without NULLs. */
static int
shard_ids(ArrayType *array, int64 **ids)
{
	if (ARR_NDIM(array) > 1 || array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("shard ids must be a one-dimensional array without nulls")));
	*ids = (int64 *) ARR_DATA_PTR(array);
	return ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
}

/* Stages by name; 'all' is every one of them. */
static const char *const stage_names[] = {
	[SHARD_STAGE_TABLE] = "table",
	[SHARD_STAGE_INDEXES] = "indexes",
	[SHARD_STAGE_FOREIGN_KEYS] = "foreign_keys",
};

/* A foreign key counts as valid without a look at the rows. */
static void
trust_foreign_keys(Node *stmt)
{
	if (!IsA(stmt, AlterTableStmt))
		return;
	foreach_ptr (AlterTableCmd, cmd, ((AlterTableStmt *) stmt)->cmds)
	{
		Constraint *constraint = (Constraint *) cmd->def;

		if (cmd->subtype == AT_AddConstraint && constraint->contype == CONSTR_FOREIGN)
			constraint->skip_validation = true;
	}
}

/* A stage, or all of them, as SQL names it. */
typedef struct Stages
{
	int first;
	int last;
	bool trusted; /* rows are known to satisfy foreign keys */
} Stages;

static Stages
stages_of_name(const char *name)
{
	if (strcmp(name, "all") == 0)
		return (Stages){0, lengthof(stage_names) - 1, false};
	if (strcmp(name, "table_and_indexes") == 0)
		return (Stages){SHARD_STAGE_TABLE, SHARD_STAGE_INDEXES, false};
	if (strcmp(name, "foreign_keys_held") == 0)
		return (Stages){SHARD_STAGE_FOREIGN_KEYS, SHARD_STAGE_FOREIGN_KEYS, true};
	for (int stage = 0; stage < lengthof(stage_names); stage++)
	{
		if (strcmp(name, stage_names[stage]) == 0)
			return (Stages){stage, stage, false};
	}
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("unknown stage \"%s\"", name),
					errhint("Stages are table, indexes, table_and_indexes, "
							"foreign_keys and all.")));
}

/* Commands of the stages, for all of the shards. Names are qualified: the caller sets
 * search_path. */
static void
shards_create_stages(Oid relid, Stages stages, const int64 *ids, int nids,
					 const ShardPeers *peers)
{
	for (int stage = stages.first; stage <= stages.last; stage++)
	{
		foreach_ptr (char, command, table_def_shard_commands(relid, stage))
		{
			foreach_ptr (Node, stmt, shard_parse(command))
			{
				for (int i = 0; i < nids; i++)
				{
					ShardMap map = {.relid = relid, .shard_id = ids[i], .peers = peers};
					Node *copy = copyObject(stmt);

					CHECK_FOR_INTERRUPTS();
					if (stages.trusted)
						trust_foreign_keys(copy);
					if (shard_rename_statement(copy, &map))
						shard_run(copy, command);
				}
			}
		}
	}
}

/*
 * Makes this node's shards out of its shell table, in one stage or all of them.
 * "foreign_keys_held" makes foreign keys that the rows, copied from a shard that has
 * them, are known to satisfy.
 */
Datum
shards_create(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	int64 *ids;
	int nids = shard_ids(PG_GETARG_ARRAYTYPE_P(1), &ids);
	Stages stages = stages_of_name(text_to_cstring(PG_GETARG_TEXT_PP(2)));
	int guc_level;

	shard_require_owner(relid);
	guc_level = sql_pin_search_path();
	shards_create_stages(relid, stages, ids, nids, NULL);
	AtEOXact_GUC(true, guc_level);
	PG_RETURN_VOID();
}

/*
 * pando.shard_group_create(tables, shard ids, stage): the same for a shard of each of
 * several colocated tables, parents before partitions. They refer to each other, whatever
 * the metadata say, which need not know these shards.
 */
Datum
shard_group_create(PG_FUNCTION_ARGS)
{
	ArrayType *tables = PG_GETARG_ARRAYTYPE_P(0);
	int64 *ids;
	int nids = shard_ids(PG_GETARG_ARRAYTYPE_P(1), &ids);
	Stages stages = stages_of_name(text_to_cstring(PG_GETARG_TEXT_PP(2)));
	ShardPeers peers = {nids, (Oid *) ARR_DATA_PTR(tables), ids};
	int guc_level;

	if (ARR_NDIM(tables) > 1 || array_contains_nulls(tables) ||
		ArrayGetNItems(ARR_NDIM(tables), ARR_DIMS(tables)) != nids)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("there must be as many shard ids as tables")));
	guc_level = sql_pin_search_path();
	for (int i = 0; i < nids; i++)
	{
		shard_require_owner(peers.relids[i]);
		shards_create_stages(peers.relids[i], stages, &ids[i], 1, &peers);
	}
	AtEOXact_GUC(true, guc_level);
	PG_RETURN_VOID();
}

/* Drops this node's shards, if they are there. */
Datum
shards_drop(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	List *names = NIL;
	int64 *ids;
	int nids = shard_ids(PG_GETARG_ARRAYTYPE_P(1), &ids);

	shard_require_owner(relid);
	for (int i = 0; i < nids; i++)
		names = lappend(names, name_shard_qualified(relid, ids[i]));
	shard_drop_tables(names, shard_owner(relid), ERROR);
	PG_RETURN_VOID();
}

/* Applies statements that name the shell table to one of its shards on this node. */
Datum
worker_apply_shard_ddl_command(PG_FUNCTION_ARGS)
{
	bool with_schema = PG_NARGS() == 3;
	char *command = text_to_cstring(PG_GETARG_TEXT_PP(with_schema ? 2 : 1));
	ShardMap map = {.shard_id = PG_GETARG_INT64(0)};
	const DistTable *table = NULL;
	int guc_level = NewGUCNestLevel();

	if (shard_by_id(map.shard_id, &table) == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("shard " INT64_FORMAT " does not exist", map.shard_id)));
	map.relid = table->relid;
	shard_require_owner(map.relid);
	if (with_schema)
	{
		char *schema = text_to_cstring(PG_GETARG_TEXT_PP(1));

		set_config_option("search_path", quote_identifier(schema), PGC_USERSET,
						  PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	}
	foreach_ptr (Node, stmt, shard_parse(command))
	{
		if (shard_rename_statement(stmt, &map))
			shard_run(stmt, command);
	}
	AtEOXact_GUC(true, guc_level);
	PG_RETURN_VOID();
}
