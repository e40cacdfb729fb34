/*
 * sequence.h: sequences whose values are unique over the cluster.
 *
 * Every node has the sequences of its shell tables. A bigint sequence has a range of its
 * own on each worker: (group << 48) + 1 and up; the coordinator's is untouched. A
 * narrower one (or one with bounds of its own) gives values on the coordinator only: on
 * workers statements ask the coordinator (sequence_value.h), and the sequence there is
 * exhausted, so that nothing takes a value past that.
 */
#ifndef PANDO_DDL_SEQUENCE_H
#define PANDO_DDL_SEQUENCE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/* Makes a sequence of this node fit its role; nothing on the coordinator or when done. */
extern void sequence_fit(Oid seqid);

/*
 * Before a sequence of this node gets a type: a narrower one has no room for the node's
 * range, and PostgreSQL changes bounds that are those of the type.
 */
extern void sequence_before_type(Oid seqid, const TypeName *type);

/*
 * When a table becomes one of this node alone, and the other nodes' are there still: the
 * sequences that it owns give their values here, and none that another node has given
 * comes again when the table is distributed once more.
 */
extern void sequence_undistribute(Oid relid);

/* The same as sequence_fit() for all sequences that a table owns or uses. */
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
