/*
 * shard_ddl.h: a schema change on a shell table, turned into the same change on its
 * shards.
 *
 * The raw parse tree is copied once per shard and renamed in place: tables, indexes,
 * constraints and statistics objects of the shell become those of the shard.
 */
#ifndef PANDO_DDL_SHARD_DDL_H
#define PANDO_DDL_SHARD_DDL_H

#include "pando/compat/compat.h"
#include "fmgr.h"
#include "nodes/parsenodes.h"

#include "pando/metadata/table.h"

/* Shards that are to be, of which the metadata don't know yet, of colocated tables. */
typedef struct ShardPeers
{
	int count;
	const Oid *relids; /* shell tables */
	const int64 *shard_ids;
} ShardPeers;

/* Which shard stands for a table, and with it for the tables that are colocated. */
typedef struct ShardMap
{
	Oid relid;				 /* shell table */
	int64 shard_id;			 /* its shard */
	const DistTable *table;	 /* looked up when another table is mentioned */
	const ShardPeers *peers; /* what stands for other tables; NULL: as the metadata say */
} ShardMap;

/*
 * Renames a raw statement in place. Names that PostgreSQL would choose must be there
 * already. Looks up shell tables under the current search_path, so it must run before the
 * shell table is changed. Raises feature_not_supported for a table without a shard in
 * this group. Returns false when nothing is left to do for a shard.
 */
extern bool shard_rename_statement(Node *stmt, const ShardMap *map);

/*
 * The id in the name of a check constraint or foreign key of the shard `map` of a
 * partition, if its parent is (or is to be) `parent`: that of the highest ancestor's
 * shard that has it, under that name.
 */
extern int64 shard_constraint_shard(Oid parent, Oid child, const char *name,
									const ShardMap *map);

/* Names a relation's shard in place, qualified. */
extern void shard_rename_range_var(RangeVar *relation, const ShardMap *map);

/*
 * Takes from a column's definition what only the shell has: identity, serial and the
 * default of a sequence. Returns whether the column is NOT NULL for that.
 */
extern bool shard_column_forget_sequence(ColumnDef *column);

/* Does an expression (raw) call nextval()? Such defaults are the initiating node's. */
extern bool shard_default_is_sequence(Node *expr);

/* Runs a raw statement in this backend as a part of another; `source` is its text. */
extern void shard_run(Node *stmt, const char *source);

/* Parses text (one or more statements) to raw trees (List of Node *). */
extern List *shard_parse(const char *sql);

/*
 * Drops relations of this node (qualified names), if they exist, with all that needs
 * them. For one that another role owns ereport(elevel) is called, and it stays: names are
 * free to all, and a table of that name may have taken a shard's place.
 */
extern void shard_drop_tables(List *names, Oid owner, int elevel);

/* The SQL function pando.shard_group_create(). */
extern Datum shard_group_create(PG_FUNCTION_ARGS);

/* A relation's owner; raises undefined_table. */
extern Oid shard_owner(Oid relid);

/* Raises insufficient_privilege unless the current user owns the table. */
extern void shard_require_owner(Oid relid);

#endif
