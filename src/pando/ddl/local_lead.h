/*
 * local_lead.h: statements on managed local tables that begin on another node than the
 * coordinator.
 */
#ifndef PANDO_DDL_LOCAL_LEAD_H
#define PANDO_DDL_LOCAL_LEAD_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

#include "pando/ddl/handler.h"

/* Is the prepared statement one of this node's client on such tables? `local`: tables of
 * this node alone that it names as well. Raises if it can't be run from here. */
extern bool local_lead_is_for(const DdlJob *job, List *local);

/* Runs it then, on all nodes; false: it is none. */
extern bool local_lead_run(DdlJob *job, List *local);

/*
 * Has the coordinator run a statement for this node's client, in his transaction, with
 * all that it tells other nodes. `relids`: the tables whose shells it changes, which are
 * locked first.
 */
extern void local_lead_call(List *relids, const char *sql);
extern void local_lead_text(const char *sql);

#endif
