/*
 * sequence_value.h: what takes a value of a sequence, and the ranges of sequences.
 *
 * A bigint sequence has a range of values of its own on each worker. A narrower one, or
 * one with bounds of its own, gives values on the coordinator alone (ddl/sequence.h).
 */
#ifndef PANDO_METADATA_SEQUENCE_VALUE_H
#define PANDO_METADATA_SEQUENCE_VALUE_H

#include "pando/compat/compat.h"
#include "catalog/pg_sequence.h"
#include "nodes/nodes.h"
#include "nodes/pathnodes.h"

/* Values of one node: 2^48 of them. */
#define SEQUENCE_RANGE_BITS 48
#define SEQUENCE_RANGE_FIRST(group) (((int64) (group) << SEQUENCE_RANGE_BITS) + 1)
#define SEQUENCE_RANGE_LAST(group) ((((int64) (group) + 1) << SEQUENCE_RANGE_BITS) - 1)

/* Raises if the relation is no sequence. */
extern FormData_pg_sequence sequence_form(Oid seqid);

/* Has the sequence a range of values that is this worker's? */
extern bool sequence_has_own_range(const FormData_pg_sequence *form);

/* The table whose identity column has the sequence; InvalidOid: none. */
extern Oid sequence_identity_table(Oid seqid);

/*
 * The expression, or query, with functions of Pando's (ddl/sequence_value.h) where it
 * asks a sequence of this node for values, sets it, or tells what was given last. The
 * same node if it does nothing such, or on the coordinator. A SQL function that would be
 * inlined and does is inlined; `glob`, which may be NULL, gets what a plan then depends
 * on.
 */
extern Node *sequence_values_of_cluster(Node *node, PlannerGlobal *glob);

#endif
