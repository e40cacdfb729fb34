/*
 * row_expressions.h: what a table's definition computes of its rows.
 */
#ifndef PANDO_DDL_ROW_EXPRESSIONS_H
#define PANDO_DDL_ROW_EXPRESSIONS_H

#include "pando/compat/compat.h"

#include "utils/relcache.h"

/*
 * Raises feature_not_supported if a check constraint, a generated column or a policy in
 * force refers to tableoid: it is evaluated on a shard, whose OID that would be.
 */
extern void row_expressions_check(Relation rel);

#endif
