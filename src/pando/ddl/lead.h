/*
 * lead.h: schema changes that begin on a node other than the coordinator.
 */
#ifndef PANDO_DDL_LEAD_H
#define PANDO_DDL_LEAD_H

#include "pando/compat/compat.h"

#include "pando/ddl/handler.h"

/*
 * Takes the locks of a prepared statement on the coordinator's shells of its tables, as
 * far as the user has the right to change them; afterwards this node's metadata is as new
 * as the coordinator's. Nothing to do on the coordinator.
 */
extern void lead_statement(const DdlJob *job);

/*
 * The same for a function that changes a table's metadata, which the user owns: no node
 * joins or leaves, and nobody else chooses a colocation group, until the transaction
 * ends.
 */
extern void lead_change(Oid relid);

extern void lead_init(void);

#endif
