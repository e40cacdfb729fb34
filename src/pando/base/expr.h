/*
 * expr.h: small expressions that several modules make.
 */
#ifndef PANDO_BASE_EXPR_H
#define PANDO_BASE_EXPR_H

#include "pando/compat/compat.h"
#include "nodes/primnodes.h"

/* CASE WHEN condition THEN value END */
extern Node *expr_if(Node *condition, Node *value);

/* expr IS NOT NULL, of something that is no row. */
extern Node *expr_is_not_null(Node *expr);

#endif
