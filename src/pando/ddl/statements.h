/*
 * statements.h: the handlers, one per kind of statement; handlers.c has the table of
 * them.
 */
#ifndef PANDO_DDL_STATEMENTS_H
#define PANDO_DDL_STATEMENTS_H

#include "pando/ddl/handler.h"

/* alter_table.c */
extern void alter_table_prepare(DdlJob *job);
extern void alter_table_changed(DdlJob *job);
extern void alter_table_shell(DdlJob *job);
extern void alter_table_finish(DdlJob *job);
extern void rename_prepare(DdlJob *job);
extern void rename_changed(DdlJob *job);
extern void rename_finish(DdlJob *job);
extern void rename_attribute_prepare(DdlJob *job);
extern void rename_attribute_changed(DdlJob *job);
extern void set_schema_prepare(DdlJob *job);

/* create_table.c */
extern void create_table_prepare(DdlJob *job);
extern void create_foreign_table_prepare(DdlJob *job);
/* NOTICE that a local table's foreign key sees only half of what it should. */
extern void constraint_check_local(RangeVar *table, Constraint *constraint);
extern void column_check_local(RangeVar *table, ColumnDef *column);

/* index.c */
extern void index_create_prepare(DdlJob *job);
extern bool index_create_run(DdlJob *job);
extern void index_drop_prepare(DdlJob *job);
extern bool index_drop_run(DdlJob *job);
extern void reindex_prepare(DdlJob *job);
extern bool reindex_run(DdlJob *job);
extern void cluster_prepare(DdlJob *job);
extern bool cluster_run(DdlJob *job);

/* attached.c */
extern void policy_create_prepare(DdlJob *job);
extern void policy_alter_prepare(DdlJob *job);
extern void trigger_create_prepare(DdlJob *job);
extern void trigger_create_changed(DdlJob *job);
extern void depends_prepare(DdlJob *job);

/* Have the table's shards its trigger of that name as well? */
extern bool trigger_is_on_shards(Oid relid, const char *name);

/*
 * What the table's foreign keys do to its rows fires its triggers: tells the tables that
 * they refer to, directly or through others, which of their actions are done where the
 * client is. Raises an error if one can't be.
 */
extern void trigger_follow_keys(Oid relid);

/* A trigger of a partition may have changed: tells it to the tables that it belongs to.
 */
extern void trigger_tell_parents(Oid relid);

/* Leaves out what is about triggers and rules that they don't have; false if nothing is
 * left. */
extern bool attached_commands_for_shards(Oid relid, AlterTableStmt *stmt);

extern void rule_create_prepare(DdlJob *job);
extern void rule_create_changed(DdlJob *job);
extern void attached_drop_prepare(DdlJob *job);
extern void statistics_create_prepare(DdlJob *job);
extern void statistics_alter_prepare(DdlJob *job);
extern void statistics_drop_prepare(DdlJob *job);
extern void statistics_named_prepare(DdlJob *job);
extern void comment_prepare(DdlJob *job);
extern void security_label_prepare(DdlJob *job);

/* truncate.c */
extern void truncate_prepare(DdlJob *job);
extern void truncate_shell(DdlJob *job);
extern void truncate_finish(DdlJob *job);
extern void lock_prepare(DdlJob *job);

/* constraints_set.c */
extern void constraints_set_prepare(DdlJob *job);

/* vacuum.c */
extern void vacuum_prepare(DdlJob *job);
extern bool vacuum_run(DdlJob *job);

/* grant.c */
extern void grant_prepare(DdlJob *job);
extern void grant_role_prepare(DdlJob *job);

/* database.c */
extern void database_create_prepare(DdlJob *job);
extern bool database_create_run(DdlJob *job);
extern void database_drop_prepare(DdlJob *job);
extern bool database_drop_run(DdlJob *job);
extern void database_alter_prepare(DdlJob *job);
extern void database_owner_prepare(DdlJob *job);

/* view.c */
extern void matview_refresh_prepare(DdlJob *job);
extern bool matview_refresh_run(DdlJob *job);

/* publication.c */
extern void publication_alter_prepare(DdlJob *job);

/* object.c */
extern void object_create_prepare(DdlJob *job);
extern bool object_create_run(DdlJob *job);
extern void object_prepare(DdlJob *job);
extern void object_drop_prepare(DdlJob *job);
extern void sequence_alter_prepare(DdlJob *job);
extern List *sequence_options_of_node(List *options);
extern void sequence_alter_finish(DdlJob *job);
extern void sequence_drop_prepare(DdlJob *job);

/* sequence_session.c */
extern void discard_prepare(DdlJob *job);
extern void owned_prepare(DdlJob *job);
extern void default_privileges_prepare(DdlJob *job);
extern void role_set_prepare(DdlJob *job);

#endif
