/*
 * identity_value.h: the next value of an identity column, and the ranges of sequences.
 *
 * A bigint sequence has a range of values of its own on each worker. A narrower one, or
 * one with bounds of its own, gives values on the coordinator alone (ddl/sequence.h).
 */
#ifndef PANDO_METADATA_IDENTITY_VALUE_H
#define PANDO_METADATA_IDENTITY_VALUE_H

#include "pando/compat/compat.h"
#include "catalog/pg_sequence.h"
#include "nodes/nodes.h"

/* Values of one node: 2^48 of them. */
#define SEQUENCE_RANGE_BITS 48
#define SEQUENCE_RANGE_FIRST(group) (((int64) (group) << SEQUENCE_RANGE_BITS) + 1)
#define SEQUENCE_RANGE_LAST(group) ((((int64) (group) + 1) << SEQUENCE_RANGE_BITS) - 1)

/* Raises if the relation is no sequence. */
extern FormData_pg_sequence sequence_form(Oid seqid);

/* The table whose identity column has the sequence; InvalidOid: none. */
extern Oid sequence_identity_table(Oid seqid);

/*
 * The expression, or query, with pando.sequence_next() in place of what takes the next
 * value of a distributed table's identity column from a sequence that gives none here.
 * The same node if there is no such.
 */
extern Node *identity_values_from_coordinator(Node *node);

#endif
