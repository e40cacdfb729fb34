/*
 * detach.c: ALTER TABLE ... DETACH PARTITION CONCURRENTLY, and FINALIZE.
 *
 * PostgreSQL detaches a partition in two transactions. The first one marks it
 * (pg_inherits.inhdetachpending): whose snapshot sees the mark takes it for detached. The
 * second one comes when nobody takes it for attached any longer, and does the rest. Here:
 *
 * - The marks of all shells and all shards are one distributed transaction, so a
 *   statement sees the rows of all the partition's shards through the parent, or of none.
 *   It keeps out no reader and no writer of the parent. PostgreSQL has no statement for
 *   this half alone: mark() does what ATExecDetachPartition() does so far.
 * - The rest is PostgreSQL's FINALIZE, a transaction for each shard, then for each shell,
 *   the leading node's last: while a shell is marked there may be shards that are. What
 *   fails there, or is killed, leaves a partition that all nodes take for detached, and
 *   FINALIZE, from any node, ends what is left.
 *
 * What is made anew while a partition is marked (a moved shard, a new node's shell) is
 * made as after the end (sql/functions/definition.sql, shard_name.c).
 */
#include "pando/compat/compat.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/heap.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "commands/tablecmds.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "partitioning/partdesc.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "pando/base/debug_point.h"
#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/ddl/detach.h"
#include "pando/ddl/lock_list.h"
#include "pando/ddl/outside.h"
#include "pando/ddl/partition.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

static PartitionCmd *
detach_command(const Node *stmt)
{
	return (PartitionCmd *) linitial_node(AlterTableCmd, ((AlterTableStmt *) stmt)->cmds)
		->def;
}

static bool
is_finalize(const Node *stmt)
{
	return linitial_node(AlterTableCmd, ((AlterTableStmt *) stmt)->cmds)->subtype ==
		   AT_DetachPartitionFinalize;
}

bool
detach_is_in_steps(const Node *stmt)
{
	const AlterTableStmt *alter = (const AlterTableStmt *) stmt;
	AlterTableCmd *command;

	if (alter->cmds == NIL)
		return false;
	command = linitial_node(AlterTableCmd, alter->cmds);
	return command->subtype == AT_DetachPartitionFinalize ||
		   (command->subtype == AT_DetachPartition &&
			((PartitionCmd *) command->def)->concurrent);
}

static Oid
detach_child(const DdlJob *job)
{
	return RangeVarGetRelid(detach_command(job->stmt)->name, NoLock, false);
}

/* ------------------------------------------------------------------------------------
 * The marks
 */

/* Foreign keys to the partition that are parts of those to its parent (List of char *).
 */
static List *
keys_to(Oid child, const char *column)
{
	return sql_column("SELECT %s FROM pg_catalog.pg_constraint WHERE confrelid = %u AND "
					  "contype = 'f' AND conparentid <> 0",
					  column, child);
}

/* In pg_inherits. Raises when it isn't there, or another partition is marked. */
static void
mark_inheritance(Relation parent, Relation child)
{
	Relation catalog = table_open(InheritsRelationId, RowExclusiveLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;
	bool found = false;

	ScanKeyInit(&key, Anum_pg_inherits_inhparent, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(RelationGetRelid(parent)));
	scan = systable_beginscan(catalog, InheritsParentIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_inherits form = (Form_pg_inherits) GETSTRUCT(tuple);

		if (form->inhdetachpending)
			ereport(
				ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partition \"%s\" already pending detach in partitioned table "
						"\"%s.%s\"",
						get_rel_name(form->inhrelid),
						get_namespace_name(RelationGetNamespace(parent)),
						RelationGetRelationName(parent)),
				 errhint("Use ALTER TABLE ... DETACH PARTITION ... FINALIZE to complete "
						 "the pending detach operation.")));
		if (form->inhrelid == RelationGetRelid(child))
		{
			HeapTuple marked = heap_copytuple(tuple);

			((Form_pg_inherits) GETSTRUCT(marked))->inhdetachpending = true;
			CatalogTupleUpdate(catalog, &marked->t_self, marked);
			heap_freetuple(marked);
			found = true;
		}
	}
	systable_endscan(scan);
	table_close(catalog, RowExclusiveLock);
	if (!found)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("relation \"%s\" is not a partition of relation \"%s\"",
							   RelationGetRelationName(child),
							   RelationGetRelationName(parent))));
}

/* No row of another table may need one of the partition's. On shells there are none. */
static void
check_keys_to(Relation child, bool has_rows)
{
	foreach_ptr (char, id, keys_to(RelationGetRelid(child), "oid"))
	{
		HeapTuple tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(atooid(id)));
		Form_pg_constraint form;
		Trigger trigger = {0};
		Relation referencing;

		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for constraint %s", id);
		form = (Form_pg_constraint) GETSTRUCT(tuple);
		referencing = table_open(form->conrelid, ShareLock);
		trigger.tgname = NameStr(form->conname);
		trigger.tgenabled = TRIGGER_FIRES_ON_ORIGIN;
		trigger.tgisinternal = true;
		trigger.tgconstrrelid = RelationGetRelid(child);
		trigger.tgconstrindid = form->conindid;
		trigger.tgconstraint = form->oid;
		if (has_rows)
			RI_PartitionRemove_Check(&trigger, referencing, child);
		table_close(referencing, NoLock);
		ReleaseSysCache(tuple);
	}
}

/* A check that says what the partition's bounds do, on it and on its partitions. */
static void
add_check(Relation rel, Constraint *check, bool top)
{
	List *added = AddRelationNewConstraints(rel, NIL, list_make1(copyObject(check)), true,
											top, true, NULL);

	CommandCounterIncrement();
	if (added == NIL)
		return; /* it was there, and below */
	if (check->conname == NULL)
		check->conname = ((CookedConstraint *) linitial(added))->name;
	foreach_oid(
		child, find_inheritance_children(RelationGetRelid(rel), ShareUpdateExclusiveLock))
	{
		Relation child_rel = table_open(child, NoLock);

		add_check(child_rel, check, false);
		table_close(child_rel, NoLock);
	}
}

/*
 * In the place of the bounds, where another check doesn't say as much already. Bounds by
 * hash name the parent, so there PostgreSQL makes none. Returns the check's name, "" for
 * none; `name` is NULL to let PostgreSQL choose.
 */
static char *
add_check_of_bounds(Relation parent, Relation child, char *name)
{
	List *bounds;
	Constraint *check;

	if (RelationGetPartitionKey(parent)->strategy == PARTITION_STRATEGY_HASH)
		return "";
	bounds =
		(List *) eval_const_expressions(NULL, (Node *) RelationGetPartitionQual(child));
	if (PartConstraintImpliedByRelConstraint(child, bounds))
		return "";
	check = makeNode(Constraint);
	check->contype = CONSTR_CHECK;
	check->conname = name;
	check->location = -1;
	check->cooked_expr = nodeToString(make_ands_explicit(bounds));
	check->initially_valid = true;
	check->skip_validation = true; /* the bounds have seen to it */
	add_check(child, check, true);
	return check->conname;
}

/* Of a shell or a shard. Arguments and result as above. */
static char *
mark(Oid parent_id, Oid child_id, char *check, bool has_rows)
{
	Relation parent = table_open(parent_id, ShareUpdateExclusiveLock);
	Relation child;

	shard_require_owner(parent_id);
	CheckTableNotInUse(parent, "ALTER TABLE");
	if (parent->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR, (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
						errmsg("table \"%s\" is not partitioned",
							   RelationGetRelationName(parent))));
	if (OidIsValid(get_default_oid_from_partdesc(RelationGetPartitionDesc(parent, true))))
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("cannot detach partitions concurrently when a default "
							   "partition exists")));
	child = table_open(child_id, ShareUpdateExclusiveLock);
	mark_inheritance(parent, child);
	check_keys_to(child, has_rows);
	check = add_check_of_bounds(parent, child, check);
	CacheInvalidateRelcache(parent);
	CommandCounterIncrement();
	table_close(child, NoLock);
	table_close(parent, NoLock);
	return check;
}

static void
require_no_transaction(const DdlJob *job, const char *statement)
{
	PreventInTransactionBlock(job->call->context == PROCESS_UTILITY_TOPLEVEL, statement);
}

/* What ends it on the nodes is in it. */
static void
require_language(void)
{
	if (sql_value("SELECT 1 WHERE pg_catalog.has_language_privilege('plpgsql', "
				  "'USAGE')") == NULL)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_LANGUAGE, "plpgsql");
}

void
detach_prepare(DdlJob *job, Oid relid)
{
	Oid child = RangeVarGetRelid(detach_command(job->stmt)->name, NoLock, true);

	if (job->applying && is_finalize(job->stmt))
		job_refuse(job, "DETACH PARTITION FINALIZE in another node's statement", NULL);
	if (!OidIsValid(child) || dist_table(child) == NULL)
		return;
	if (!job->applying)
	{
		if (!is_finalize(job->stmt))
			require_no_transaction(job, "ALTER TABLE ... DETACH CONCURRENTLY");
		shard_require_owner(relid);
		require_language();
		/* Their names on shards are to be changed in the end, which takes the owner. */
		if (partition_shared_constraints(relid, child, PARTITION_CHECKS_AND_KEYS) != NIL)
			shard_require_owner(child);
	}
	job_add_table(job, relid);
	if (is_finalize(job->stmt))
	{
		job->outside = true;
		return;
	}
	lock_list_add(job, relid, ShareUpdateExclusiveLock);
	lock_list_add(job, child, ShareUpdateExclusiveLock);
	foreach_ptr (char, id, keys_to(child, "conrelid"))
		lock_list_add(job, atooid(id), ShareLock);
}

void
detach_shell(DdlJob *job)
{
	char *given = job->applying && job->names_given != NIL
					  ? pstrdup(linitial(job->names_given))
					  : NULL;

	Oid parent = linitial_oid(job->tables);
	bool has_rows = dist_table_require(parent)->kind == TABLE_MANAGED_LOCAL;

	job_fix_name(job, mark(parent, detach_child(job), given, has_rows));
}

static void
mark_shards(DdlJob *job)
{
	Oid parent = linitial_oid(job->tables);
	Oid child = detach_child(job);
	const DistTable *table = dist_table_require(parent);
	const DistTable *partition = dist_table_require(child);
	char *check = linitial(job->names);
	GroupShards own;

	if (table->managed_local)
		return;
	own = dist_table_in_group(partition, node_local_group());
	DEBUG_STEPS(own.nshards);
	for (int i = 0; i < own.nshards; i++)
	{
		int shard = own.shards[i];
		int64 id = partition->shards[shard].id;
		RangeVar *above =
			makeRangeVar(get_namespace_name(get_rel_namespace(parent)),
						 name_shard(get_rel_name(parent), table->shards[shard].id), -1);
		RangeVar *below = makeRangeVar(get_namespace_name(get_rel_namespace(child)),
									   name_shard(get_rel_name(child), id), -1);

		CHECK_FOR_INTERRUPTS();
		(void) mark(RangeVarGetRelid(above, ShareUpdateExclusiveLock, false),
					RangeVarGetRelid(below, ShareUpdateExclusiveLock, false),
					check[0] != '\0' ? name_shard(check, id) : check, true);
	}
	if (own.nshards > 0)
		xact_wrote_locally();
}

/* ------------------------------------------------------------------------------------
 * The rest
 */

typedef struct Detach
{
	Oid parent;
	Oid child;
	List *constraints; /* whose names on shards become the partition's own (char *) */
	List *renamed;	   /* the partition and those below it (Oid) */
	OutsideWork *shards;
	OutsideWork *shells;
} Detach;

/* Finalizes one shell or shard, if it is marked; `renames` are its statements then. */
static char *
finalize_command(const char *parent, const char *child, const char *renames)
{
	return psprintf(
		"DO LANGUAGE plpgsql %s",
		quote_literal_cstr(psprintf(
			"BEGIN IF EXISTS (SELECT FROM pg_catalog.pg_inherits i "
			"WHERE i.inhrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(%s)::"
			"pg_catalog.oid AND i.inhparent OPERATOR(pg_catalog.=) "
			"pg_catalog.to_regclass(%s)::pg_catalog.oid AND i.inhdetachpending) THEN "
			"ALTER TABLE %s DETACH PARTITION %s FINALIZE; %sEND IF; END",
			quote_literal_cstr(child), quote_literal_cstr(parent), parent, child,
			renames)));
}

/* On a shard of the partition, and those of its own partitions. */
static char *
renames_of(const Detach *detach, int shard)
{
	const DistTable *partition = dist_table_require(detach->child);
	ShardMap map = {.relid = detach->child, .shard_id = partition->shards[shard].id};
	StringInfoData sql;

	initStringInfo(&sql);
	foreach_ptr (char, constraint, detach->constraints)
	{
		char *from =
			name_shard(constraint, shard_constraint_shard(detach->parent, detach->child,
														  constraint, &map));

		foreach_oid(relid, detach->renamed)
		{
			char *name =
				name_shard_qualified(relid, dist_table_require(relid)->shards[shard].id);

			appendStringInfo(
				&sql,
				"IF EXISTS (SELECT FROM pg_catalog.pg_constraint c WHERE c.conrelid "
				"OPERATOR(pg_catalog.=) pg_catalog.to_regclass(%s)::pg_catalog.oid AND "
				"c.conname OPERATOR(pg_catalog.=) %s) THEN ALTER TABLE %s RENAME "
				"CONSTRAINT %s TO %s; END IF; ",
				quote_literal_cstr(name), quote_literal_cstr(from), name,
				quote_identifier(from),
				quote_identifier(name_shard(constraint, map.shard_id)));
		}
	}
	return sql.data;
}

/* All that may be marked, this node's shell apart. */
static Detach
rest_of(Oid parent, Oid child)
{
	char *hint =
		psprintf("Run ALTER TABLE %s DETACH PARTITION %s FINALIZE to end it: the "
				 "partition counts as detached already.",
				 name_qualified(parent), name_qualified(child));
	Detach detach = {.parent = parent,
					 .child = child,
					 .constraints = partition_shared_constraints(
						 parent, child, PARTITION_CHECKS_AND_KEYS),
					 .renamed = find_all_inheritors(child, NoLock, NULL),
					 .shards = outside_begin(hint),
					 .shells = outside_begin(hint)};
	const DistTable *table = dist_table_require(parent);
	const DistTable *partition = dist_table_require(child);

	/* A managed local table is its own shard. */
	for (int i = 0; !table->managed_local && i < partition->nshards; i++)
	{
		const Shard *shard = &partition->shards[i];
		char *command = finalize_command(
			name_shard_qualified(parent, table->shards[i].id),
			name_shard_qualified(child, shard->id), renames_of(&detach, i));

		CHECK_FOR_INTERRUPTS();
		for (int j = 0; j < shard->nplacements; j++)
			outside_add(detach.shards, shard->placements[j].group, command);
	}
	outside_on_other_nodes(detach.shells, finalize_command(name_qualified(parent),
														   name_qualified(child), ""));
	return detach;
}

static void
detach_complete(DdlJob *job, bool with_shell)
{
	Detach detach = rest_of(linitial_oid(job->tables), detach_child(job));

	outside_commit();
	DEBUG_POINT("detach-marked");
	outside_run(detach.shards);
	DEBUG_POINT("detach-shards-done");
	outside_commit();
	outside_run(detach.shells);
	DEBUG_POINT("detach-other-shells-done");
	if (!with_shell)
		return;
	/* The client's own statement, for event triggers. */
	linitial_node(AlterTableCmd, ((AlterTableStmt *) job->stmt)->cmds)->subtype =
		AT_DetachPartitionFinalize;
	detach_command(job->stmt)->concurrent = false;
	outside_run_shell(detach.shells, job);
}

void
detach_finish(DdlJob *job)
{
	mark_shards(job);
	if (!job->applying)
		detach_complete(job, true);
}

static const char pending[] =
	"SELECT 1 FROM pg_catalog.pg_inherits i WHERE i.inhdetachpending AND "
	"i.inhparent OPERATOR(pg_catalog.=) pg_catalog.to_regclass(%s)::pg_catalog.oid AND "
	"i.inhrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(%s)::pg_catalog.oid";

static void
finalize(DdlJob *job)
{
	Oid child = detach_child(job);
	char *question =
		psprintf(pending, quote_literal_cstr(name_qualified(linitial_oid(job->tables))),
				 quote_literal_cstr(name_qualified(child)));
	bool here = sql_value_as_is(question) != NULL;
	bool there = false;

	/* Shards are done as soon as one shell is. */
	foreach_ptr (const DistNode, node, here ? NIL : node_list(NODES_OTHER))
		there |= xact_value_from_node(node, question) != NULL;
	if (!here && !there)
	{
		job_run_shell(job);
		return;
	}
	require_no_transaction(job, "ALTER TABLE ... DETACH FINALIZE");
	detach_complete(job, here);
}

bool
detach_run(DdlJob *job)
{
	if (!detach_is_in_steps(job->stmt) || !is_finalize(job->stmt))
		return false;
	finalize(job);
	return true;
}
