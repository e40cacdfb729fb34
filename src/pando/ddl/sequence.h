/*
 * sequence.h: sequences whose values are unique over the cluster.
 *
 * Every node has the sequences of its shell tables. A bigint sequence has a range of its
 * own on each worker: (group << 48) + 1 and up; the coordinator's is untouched. A
 * narrower one (or one with bounds of its own) gives values on the coordinator only: on
 * workers a default asks the coordinator through pando.sequence_next(), an identity
 * column is exhausted and raises.
 */
#ifndef PANDO_DDL_SEQUENCE_H
#define PANDO_DDL_SEQUENCE_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

/* Makes a sequence of this node fit its role; nothing on the coordinator or when done. */
extern void sequence_fit(Oid seqid);

/* The same for all sequences that a table owns or uses. */
extern void sequence_fit_table(Oid relid);

/*
 * Makes the sequences that a table uses, and those that it owns if asked to, on the other
 * nodes.
 */
extern void sequence_send_used(Oid relid, bool owned);

/* A distributed table that owns the sequence or uses it in a default; InvalidOid if none.
 */
extern Oid sequence_distributed_table(Oid seqid);

#endif
