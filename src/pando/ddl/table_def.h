/*
 * table_def.h: a table's definition as SQL commands, read from this node's catalogs.
 */
#ifndef PANDO_DDL_TABLE_DEF_H
#define PANDO_DDL_TABLE_DEF_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

/*
 * Everything that makes the same shell tables on another node, in order, as a List of
 * char *: owned sequences, CREATE TABLE (columns with types, collations, defaults,
 * identity, generated, storage, compression; reloptions, access method, persistence),
 * owner, indexes, primary key, unique, check and exclusion constraints, replica identity,
 * clustering, statistics objects, row security, policies, comments, grants. Without
 * foreign keys.
 */
extern List *table_def_commands(List *relids);

/*
 * What another node needs of a managed local table to send statements here: columns,
 * owner, privileges, indexes, unique and check constraints.
 */
extern List *table_def_local_shell(Oid relid);

/* ALTER TABLE ... ADD CONSTRAINT ... FOREIGN KEY, one per foreign key of the tables. */
extern List *table_def_foreign_keys(List *relids);

/* CREATE OR REPLACE RULE and what goes with it, for each rule of the tables. */
extern List *table_def_rules(List *relids);

/*
 * The stages in which a node makes shards out of its shell table
 * (SQL: pando.shards_create(regclass, bigint[], stage)).
 */
typedef enum ShardStage
{
	SHARD_STAGE_TABLE,	 /* the bare table: owner, grants, columns, not null */
	SHARD_STAGE_INDEXES, /* indexes, constraints, statistics objects, triggers, the rest
						  */
	SHARD_STAGE_FOREIGN_KEYS /* to colocated shards and reference tables */
} ShardStage;

/* Commands of one stage for a shard, naming the shell table; shard_ddl.h renames them. */
extern List *table_def_shard_commands(Oid relid, ShardStage stage);

#endif
