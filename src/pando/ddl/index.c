/*
 * index.c: CREATE INDEX, DROP INDEX, REINDEX and CLUSTER.
 *
 * What PostgreSQL runs outside a transaction block (CONCURRENTLY, REINDEX and CLUSTER of
 * partitioned tables) cannot be one distributed transaction. It is done on the
 * coordinator's shell first, then on all other nodes at the same time, there shard after
 * shard; each step commits by itself. When one fails, the index stays where it was made,
 * and the error says how to clean up.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/ddl/constraint.h"
#include "pando/ddl/object.h"
#include "pando/ddl/outside.h"
#include "pando/ddl/partition.h"
#include "pando/ddl/statements.h"
#include "pando/ddl/view.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"

/* ------------------------------------------------------------------------------------
 * CREATE INDEX
 */

void
index_create_prepare(DdlJob *job)
{
	IndexStmt *stmt = (IndexStmt *) job->stmt;
	Oid relid = job_distributed_table(stmt->relation);

	if (!OidIsValid(relid))
	{
		if (!stmt->concurrent)
			view_prepare(job, stmt->relation);
		return;
	}
	/* Nothing is made, whatever has that name: PostgreSQL says so. */
	if (stmt->if_not_exists &&
		OidIsValid(get_relname_relid(stmt->idxname, get_rel_namespace(relid))))
		return;
	job_add_table(job, relid);
	partition_indexes_note(job, relid);
	constraint_prepare_index(job, relid, stmt);
	job->outside = stmt->concurrent;
	if (!job->outside)
		job_add_shards(job, relid, job->stmt);
}

/* CREATE INDEX CONCURRENTLY for another relation than the one that has the index already.
 */
static char *
index_command(Oid indexid, const char *index_name, const char *relation,
			  bool if_not_exists)
{
	char *definition = pg_get_indexdef_string(indexid);
	bool is_unique = strncmp(definition, "CREATE UNIQUE", strlen("CREATE UNIQUE")) == 0;
	char *start = psprintf("CREATE %sINDEX %s ON %s USING ", is_unique ? "UNIQUE " : "",
						   quote_identifier(get_rel_name(indexid)),
						   name_qualified(IndexGetRelation(indexid, false)));

	if (strncmp(definition, start, strlen(start)) != 0)
		elog(ERROR, "unexpected index definition: %s", definition);
	return psprintf("CREATE %sINDEX CONCURRENTLY %s%s ON %s USING %s",
					is_unique ? "UNIQUE " : "", if_not_exists ? "IF NOT EXISTS " : "",
					quote_identifier(index_name), relation, definition + strlen(start));
}

static void
set_validity(Oid indexid, bool valid)
{
	Relation indexes = table_open(IndexRelationId, RowExclusiveLock);
	HeapTuple tuple;
	Form_pg_index form;

	/* PostgreSQL may have set it in this command. */
	CommandCounterIncrement();
	tuple = SearchSysCacheCopy1(INDEXRELID, ObjectIdGetDatum(indexid));
	if (!HeapTupleIsValid(tuple))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("relation with OID %u is not an index", indexid)));
	form = (Form_pg_index) GETSTRUCT(tuple);
	form->indisvalid = valid;
	CatalogTupleUpdate(indexes, &tuple->t_self, tuple);
	CacheInvalidateRelcacheByRelid(form->indrelid);
	table_close(indexes, RowExclusiveLock);
	CommandCounterIncrement();
}

PG_FUNCTION_INFO_V1(index_invalidate);

/* SQL: nobody may rely on the index, as after a CREATE INDEX CONCURRENTLY that failed. */
Datum
index_invalidate(PG_FUNCTION_ARGS)
{
	Oid indexid = PG_GETARG_OID(0);

	if (!compat_owns_relation(indexid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, get_rel_name(indexid));
	set_validity(indexid, false);
	PG_RETURN_VOID();
}

bool
index_create_run(DdlJob *job)
{
	IndexStmt *stmt = (IndexStmt *) job->stmt;
	Oid relid;
	OutsideWork *work;
	OutsideWork *validation;
	Oid indexid;
	char *name;
	char *hint;
	bool existed;

	if (!stmt->concurrent)
		return false;
	relid = linitial_oid(job->tables);
	name = pstrdup(stmt->idxname);
	existed = OidIsValid(get_relname_relid(name, get_rel_namespace(relid)));
	job_run_shell(job); /* commits and begins again */
	indexid = get_relname_relid(name, get_rel_namespace(relid));
	if (!OidIsValid(indexid))
		elog(ERROR, "index \"%s\" was not created", name);

	hint = psprintf("Drop what was made with DROP INDEX %s before you try again.",
					name_qualified(indexid));
	work = outside_begin(hint);
	validation = outside_begin(hint);
	outside_on_other_nodes(
		work, index_command(indexid, name, name_qualified(relid), stmt->if_not_exists));
	/* No node relies on the index until all shards have it. */
	if (!existed)
	{
		outside_on_other_nodes(work,
							   psprintf("SELECT pando.index_invalidate(%s)",
										quote_literal_cstr(name_qualified(indexid))));
		outside_on_other_nodes(validation, psprintf("REINDEX INDEX CONCURRENTLY %s",
													name_qualified(indexid)));
		set_validity(indexid, false);
	}
	foreach_ptr (ShardMap, map, outside_shards(work, relid))
		outside_add(work, ((OutsideShard *) map)->group,
					index_command(indexid, name_shard(name, map->shard_id),
								  name_shard_qualified(relid, map->shard_id),
								  stmt->if_not_exists));
	outside_run(work);
	if (!existed)
	{
		outside_run(validation);
		set_validity(indexid, true);
	}
	return true;
}

/* ------------------------------------------------------------------------------------
 * DROP INDEX
 */

/* The distributed table of an index named by a list of strings; InvalidOid for others. */
static Oid
index_table(List *names, Oid *indexid)
{
	Oid relid;

	*indexid = RangeVarGetRelid(makeRangeVarFromNameList(names), NoLock, true);
	if (!OidIsValid(*indexid) || !partition_relkind_is_index(get_rel_relkind(*indexid)))
		return InvalidOid;
	relid = IndexGetRelation(*indexid, true);
	return job_table_has_shards(relid) ? relid : InvalidOid;
}

static Node *
index_drop_statement(const DropStmt *stmt, Oid indexid, int64 shard_id)
{
	DropStmt *drop = makeNode(DropStmt);

	drop->removeType = OBJECT_INDEX;
	drop->objects =
		list_make1(list_make2(makeString(get_namespace_name(get_rel_namespace(indexid))),
							  makeString(name_shard(get_rel_name(indexid), shard_id))));
	drop->behavior = stmt->behavior;
	drop->missing_ok = true; /* one that was built halfway may lack some */
	return (Node *) drop;
}

void
index_drop_prepare(DdlJob *job)
{
	DropStmt *stmt = (DropStmt *) job->stmt;
	List *ours = NIL;

	job->outside = stmt->concurrent;
	foreach_ptr (List, names, stmt->objects)
	{
		Oid indexid;
		Oid relid = index_table(names, &indexid);

		if (!OidIsValid(relid) && OidIsValid(indexid) && !stmt->concurrent &&
			view_is_everywhere(IndexGetRelation(indexid, true)))
		{
			ours = lappend(ours, names);
			job->concerned = true;
		}
		if (!OidIsValid(relid))
			continue;
		ours = lappend(ours, names);
		job_add_table(job, relid);
		if (job->outside)
			continue;
		foreach_ptr (ShardMap, map, job_shard_maps(relid, node_local_group()))
			job->shard_statements =
				lappend(job->shard_statements,
						index_drop_statement(stmt, indexid, map->shard_id));
	}
	if (job->applying)
	{
		stmt->objects = ours;
		stmt->missing_ok = true;
	}
}

bool
index_drop_run(DdlJob *job)
{
	DropStmt *stmt = (DropStmt *) job->stmt;
	Oid relid;
	OutsideWork *work;
	Oid indexid;
	char *name;
	char *schema;

	if (!stmt->concurrent)
		return false;
	relid = linitial_oid(job->tables);
	index_table(linitial(stmt->objects), &indexid); /* PostgreSQL allows only one */
	name = get_rel_name(indexid);
	schema = get_namespace_name(get_rel_namespace(indexid));
	job_run_shell(job);

	work = outside_begin(
		psprintf("Run DROP INDEX CONCURRENTLY IF EXISTS for the indexes \"%s_<shard "
				 "id>\" that are left, on their nodes.",
				 name));
	outside_on_other_nodes(work, psprintf("DROP INDEX CONCURRENTLY IF EXISTS %s",
										  quote_qualified_identifier(schema, name)));
	foreach_ptr (ShardMap, map, outside_shards(work, relid))
		outside_add(work, ((OutsideShard *) map)->group,
					psprintf("DROP INDEX CONCURRENTLY IF EXISTS %s",
							 quote_qualified_identifier(
								 schema, name_shard(name, map->shard_id))));
	outside_run(work);
	return true;
}

/* ------------------------------------------------------------------------------------
 * REINDEX
 */

/* Does PostgreSQL do it in several transactions? */
static bool
is_done_in_steps(const ReindexStmt *stmt, Oid relid)
{
	bool concurrent = get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE;

	foreach_ptr (DefElem, option, stmt->params)
	{
		if (strcmp(option->defname, "concurrently") == 0)
			concurrent |= defGetBoolean(option);
	}
	return concurrent;
}

/* The statement for another table, or an index of it. */
static char *
reindex_command(const ReindexStmt *stmt, const char *name)
{
	StringInfoData sql;
	const char *separator = " (";

	initStringInfo(&sql);
	appendStringInfoString(&sql, "REINDEX");
	foreach_ptr (DefElem, option, stmt->params)
	{
		/* The shell's say enough. */
		if (strcmp(option->defname, "verbose") == 0)
			continue;
		appendStringInfo(&sql, "%s%s", separator, option->defname);
		if (option->arg != NULL)
			appendStringInfo(&sql, " %s", quote_identifier(defGetString(option)));
		separator = ", ";
	}
	if (separator[0] == ',')
		appendStringInfoChar(&sql, ')');
	appendStringInfo(&sql, " %s %s",
					 stmt->kind == REINDEX_OBJECT_INDEX ? "INDEX" : "TABLE", name);
	return sql.data;
}

/* The distributed table; *indexid is set when it was named by its index. */
static Oid
reindex_table(const ReindexStmt *stmt, Oid *indexid)
{
	Oid relid = stmt->relation == NULL ? InvalidOid
									   : RangeVarGetRelid(stmt->relation, NoLock, true);

	*indexid = InvalidOid;
	if (OidIsValid(relid) && stmt->kind == REINDEX_OBJECT_INDEX)
	{
		*indexid = relid;
		relid = partition_relkind_is_index(get_rel_relkind(relid))
					? IndexGetRelation(relid, true)
					: InvalidOid;
	}
	return job_table_has_shards(relid) ? relid : InvalidOid;
}

void
reindex_prepare(DdlJob *job)
{
	ReindexStmt *stmt = (ReindexStmt *) job->stmt;
	Oid indexid;
	Oid relid = reindex_table(stmt, &indexid);

	if (stmt->relation == NULL)
	{
		/* SCHEMA, DATABASE, SYSTEM: each node has its own, but for a node's own schemas
		 */
		job->concerned = !job->applying && node_list(NODES_OTHER) != NIL &&
						 (stmt->kind != REINDEX_OBJECT_SCHEMA ||
						  object_schema_is_everywhere(stmt->name));
		return;
	}
	if (!OidIsValid(relid))
		return;
	job_add_table(job, relid);
	job->outside = is_done_in_steps(stmt, relid);
	if (!job->outside)
		job_add_shards(job, relid, job->stmt);
}

bool
reindex_run(DdlJob *job)
{
	ReindexStmt *stmt = (ReindexStmt *) job->stmt;
	OutsideWork *work;
	Oid indexid;
	Oid relid;

	if (stmt->relation != NULL && !job->outside)
		return false;
	job_run_shell(job);
	work = outside_begin(
		"Indexes whose names end in _ccnew are what is left of a failed REINDEX; "
		"drop them on their nodes.");
	if (stmt->relation == NULL)
	{
		outside_on_other_nodes(work, job_text(job));
		outside_run(work);
		return true;
	}
	relid = reindex_table(stmt, &indexid);
	if (!OidIsValid(relid))
		return true;
	outside_on_other_nodes(
		work,
		reindex_command(stmt, name_qualified(OidIsValid(indexid) ? indexid : relid)));
	foreach_ptr (ShardMap, map, outside_shards(work, relid))
		outside_add(work, ((OutsideShard *) map)->group,
					reindex_command(
						stmt, name_shard_qualified(OidIsValid(indexid) ? indexid : relid,
												   map->shard_id)));
	outside_run(work);
	return true;
}

/* ------------------------------------------------------------------------------------
 * CLUSTER
 */

/* Distributed tables of the current user that remember an index to be clustered by. */
static List *
clustered_tables(void)
{
	List *relids = NIL;

	foreach_ptr (
		char, id,
		sql_column("SELECT indrelid FROM pg_catalog.pg_index WHERE indisclustered"))
	{
		Oid relid = atooid(id);
		const DistTable *table = dist_table(relid);

		if (table != NULL && table->kind != TABLE_MANAGED_LOCAL &&
			compat_owns_relation(relid, GetUserId()))
			relids = lappend_oid(relids, relid);
	}
	return relids;
}

void
cluster_prepare(DdlJob *job)
{
	ClusterStmt *stmt = (ClusterStmt *) job->stmt;

	if (stmt->relation != NULL)
	{
		Oid relid = job_distributed_table(stmt->relation);

		if (OidIsValid(relid) && get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
		{
			job_add_table(job, relid);
			job->outside = true;
		}
		else
			job_one_table(job, stmt->relation);
	}
	else
		job->concerned = clustered_tables() != NIL;
}

/* CLUSTER table USING index, of a partitioned one. */
static void
cluster_partitions(DdlJob *job, const char *index)
{
	Oid relid = linitial_oid(job->tables);
	OutsideWork *work;

	/* Without an index it fails. */
	job_run_shell(job);
	work = outside_begin(NULL);
	outside_on_other_nodes(work, psprintf("CLUSTER %s USING %s", name_qualified(relid),
										  quote_identifier(index)));
	foreach_ptr (OutsideShard, shard, outside_shards(work, relid))
		outside_add(work, shard->group,
					psprintf("CLUSTER %s USING %s",
							 name_shard_qualified(relid, shard->map.shard_id),
							 quote_identifier(name_shard(index, shard->map.shard_id))));
	outside_run(work);
}

/* Without a table, all of them, outside a transaction as PostgreSQL does it. */
bool
cluster_run(DdlJob *job)
{
	const ClusterStmt *stmt = (ClusterStmt *) job->stmt;
	OutsideWork *work;
	ListCell *cell;

	if (stmt->relation != NULL)
	{
		if (get_rel_relkind(linitial_oid(job->tables)) != RELKIND_PARTITIONED_TABLE)
			return false;
		cluster_partitions(job, stmt->indexname);
		return true;
	}
	work = outside_begin(NULL);
	foreach (cell, clustered_tables())
	{
		Oid relid = lfirst_oid(cell);

		foreach_ptr (OutsideShard, shard, outside_shards(work, relid))
			outside_add(
				work, shard->group,
				psprintf("CLUSTER %s", name_shard_qualified(relid, shard->map.shard_id)));
	}
	job_run_shell(job);
	outside_run(work);
	return true;
}
