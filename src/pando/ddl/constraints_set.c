/*
 * constraints_set.c: SET CONSTRAINTS.
 *
 * When deferrable constraints are checked is a transaction's business on every node that
 * takes part in it. ALL goes to all nodes as it is. A named constraint of a distributed
 * table exists once per shard: each node names those of its shards. Triggers fire in the
 * client's backend, and so do those that are constraints.
 */
#include "pando/compat/compat.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_constraint.h"
#include "nodes/makefuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "pando/base/name.h"
#include "pando/ddl/handler.h"
#include "pando/ddl/statements.h"
#include "pando/metadata/node.h"

/* Tables (Oids) with a constraint of that name in the schema. */
static List *
tables_with_constraint(const char *name, Oid schema)
{
	Relation catalog = table_open(ConstraintRelationId, AccessShareLock);
	List *tables = NIL;
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&keys[0], Anum_pg_constraint_conname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum(name));
	ScanKeyInit(&keys[1], Anum_pg_constraint_connamespace, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(schema));
	scan = systable_beginscan(catalog, ConstraintNameNspIndexId, true, NULL,
							  lengthof(keys), keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_constraint constraint = (Form_pg_constraint) GETSTRUCT(tuple);

		if (constraint->contype != CONSTRAINT_TRIGGER)
			tables = lappend_oid(tables, constraint->conrelid);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return tables;
}

/* The tables that a name stands for: those of the first schema that has any. */
static List *
tables_of(const RangeVar *constraint)
{
	List *tables = NIL;
	List *schemas = constraint->schemaname
						? list_make1_oid(get_namespace_oid(constraint->schemaname, true))
						: fetch_search_path(true);

	foreach_oid(schema, schemas)
	{
		tables = tables_with_constraint(constraint->relname, schema);
		if (tables != NIL)
			break;
	}
	return tables;
}

static void
add_table(DdlJob *job, ConstraintsSetStmt *of_shards, Oid relid, char *constraint)
{
	char *schema = get_namespace_name(get_rel_namespace(relid));

	job_add_table(job, relid);
	foreach_ptr (ShardMap, map, job_shard_maps(relid, node_local_group()))
	{
		RangeVar *name = makeRangeVar(schema, name_shard(constraint, map->shard_id), -1);

		of_shards->constraints = lappend(of_shards->constraints, name);
	}
}

void
constraints_set_prepare(DdlJob *job)
{
	ConstraintsSetStmt *stmt = (ConstraintsSetStmt *) job->stmt;
	ConstraintsSetStmt *of_shards = makeNode(ConstraintsSetStmt);

	/* Of no effect elsewhere: PostgreSQL only warns. */
	if (!job->applying && !IsTransactionBlock())
		return;
	job->concerned = stmt->constraints == NIL;
	of_shards->deferred = stmt->deferred;
	foreach_ptr (RangeVar, constraint, stmt->constraints)
	{
		foreach_oid(relid, tables_of(constraint))
		{
			if (job_table_has_shards(relid))
				add_table(job, of_shards, relid, constraint->relname);
		}
	}
	if (of_shards->constraints != NIL)
		job->shard_statements = list_make1(of_shards);
}
