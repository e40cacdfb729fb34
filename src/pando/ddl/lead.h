/*
 * lead.h: schema changes that begin on a node other than the coordinator.
 */
#ifndef PANDO_DDL_LEAD_H
#define PANDO_DDL_LEAD_H

#include "pando/compat/compat.h"
#include "storage/lockdefs.h"

#include "pando/ddl/handler.h"

/*
 * Takes the locks of a prepared statement (lock_list.h) on the coordinator, then here,
 * then those that keep writers out on all other nodes, but for those of `*taken` (List of
 * DdlLock *), which it adds to; `again` says that it is not the first time. False: there
 * was nothing to wait for; after true this node's metadata is as new as the
 * coordinator's, and what was found out before may have changed: it has to be prepared
 * again, and to come here again.
 */
extern bool lead_statement(const DdlJob *job, bool again, List **taken);

/*
 * The same for a function that changes a table's metadata, which the user owns: no node
 * joins or leaves, and nobody else chooses a colocation group, until the transaction
 * ends. InvalidOid: no table is in the metadata yet.
 */
extern void lead_change(Oid relid);

/* Locks one of pando's catalogs on the coordinator, if that is another node. Afterwards
 * what has committed there is seen here, too. */
extern void lead_catalog(const char *name, LOCKMODE mode);

/* Locks tables on the coordinator, if that is another node. */
extern void lead_relations(List *relids, LOCKMODE mode);

/*
 * The default privileges that this node has stay, until the transaction ends: for
 * definitions that say what is different from them. On the other nodes
 * pando.default_privileges_keep() has to come before these.
 */
extern void lead_default_privileges(void);

extern void lead_init(void);

#endif
