/*
 * drop.h: what follows when a distributed table or a recorded object is dropped, by any
 * statement (DROP TABLE, SCHEMA, OWNED, a cascade).
 *
 * An object access hook sees each drop before it happens and takes notes in the scope of
 * the innermost utility statement; when the statement is done, drop_scope_finish() drops
 * the shards, removes the metadata and tells the other nodes.
 */
#ifndef PANDO_DDL_DROP_H
#define PANDO_DDL_DROP_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

typedef struct DropScope DropScope;

extern DropScope *drop_scope_enter(void);
extern void drop_scope_finish(DropScope *scope);
extern void drop_scope_leave(DropScope *scope);

/* Catalog rows made by the innermost statement in one catalog (List of Oid), so far. */
extern void drop_scope_capture(Oid class_id);
extern List *drop_scope_captured(void);

/* Installs the hook; called from ddl_init only. */
extern void drop_init(void);

#endif
