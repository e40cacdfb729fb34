/*
 * expr.h: small expressions that several modules make.
 */
#ifndef PANDO_BASE_EXPR_H
#define PANDO_BASE_EXPR_H

#include "pando/compat/compat.h"
#include "nodes/params.h"
#include "nodes/primnodes.h"

/* CASE WHEN condition THEN value END */
extern Node *expr_if(Node *condition, Node *value);

/*
 * A row of columns as a value. One of a type with dropped columns, whose places are
 * constants, is hidden in a way that text keeps: PostgreSQL would simplify IS NULL of it
 * by those places as well.
 */
extern Node *expr_row(RowExpr *row);

extern Param *expr_param(ParamKind kind, int number, Oid type, int32 typmod,
						 Oid collation);

/* What stands in a sublink's test for a column of its query, from 1, that is `expr`. */
extern Param *expr_sublink_param(int column, Node *expr);

/* expr IS NOT NULL, of something that is no row. */
extern Node *expr_is_not_null(Node *expr);

/* The integer that the expression widens (int4 to int8 and the like), or NULL. */
extern Node *expr_widened_integer(const Expr *expr);

/*
 * The value of an expression that needs no executor: a constant, an external parameter,
 * or the widening of one. False: it needs one. Raises the executor's errors for a
 * parameter that has no value, or one of another type.
 */
extern bool expr_value(const Expr *expr, ParamListInfo params, Datum *value,
					   bool *isnull);

#endif
