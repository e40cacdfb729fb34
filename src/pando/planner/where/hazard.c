/*
 * hazard.c: what an expression holds that may not be evaluated on another node.
 *
 * Immutable functions run anywhere. A stable one without Vars is computed once per
 * statement by the client's backend and sent as a value. With Vars it runs where the row
 * is, if it gives the same there (free_function.c). Volatile functions may do anything,
 * except those known to give a fresh value only.
 */
#include "pando/compat/compat.h"

#include "access/sysattr.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "pando/metadata/table.h"
#include "pando/plan/row_place.h"
#include "pando/planner/where/object_names.h"
#include "pando/planner/where/fragment_params.h"
#include "pando/planner/where/free_function.h"
#include "pando/planner/where/hazard.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

int hazard_in_paths = 0;

typedef struct HazardScan
{
	bool has_vars; /* of the expression node being looked at */
	const char *reason;
} HazardScan;

static bool
check_function(Oid function, void *context)
{
	HazardScan *scan = context;
	char volatility = func_volatile(function);
	const char *kind;

	/* Without values of a row it is computed beforehand, here. */
	if (function_is_free(function) ||
		(volatility != PROVOLATILE_VOLATILE && !scan->has_vars))
		return false;
	if (volatility == PROVOLATILE_VOLATILE)
		scan->reason = psprintf("volatile function %s", get_func_name(function));
	else
	{
		kind = volatility == PROVOLATILE_STABLE ? "stable" : "catalog";
		scan->reason =
			psprintf("%s function %s of a row's values", kind, get_func_name(function));
	}
	return true;
}

/* Vars of any level, aggregates and sublinks: all that is not computed beforehand. */
static bool
rows_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var) || IsA(node, Aggref) || IsA(node, WindowFunc) ||
		IsA(node, GroupingFunc) || IsA(node, SubLink))
		return true;
	return expression_tree_walker(node, rows_walker, context);
}

static bool
depends_on_rows(Node *node)
{
	return rows_walker(node, NULL);
}

/* The field names of a row are lost in text unless they are those of a plain ROW(). */
static bool
has_field_names(const RowExpr *row)
{
	int number = 0;

	if (row->row_typeid != RECORDOID)
		return false;
	foreach_ptr (String, name, row->colnames)
	{
		if (strcmp(strVal(name), psprintf("f%d", ++number)) != 0)
			return true;
	}
	return false;
}

/* Nodes know no views. */
static bool
is_of_view(const RowExpr *row)
{
	Oid relid =
		row->row_typeid != RECORDOID ? get_typ_typrelid(row->row_typeid) : InvalidOid;

	return OidIsValid(relid) && get_rel_relkind(relid) == RELKIND_VIEW;
}

static bool
names_relation_of_here(const Const *constant)
{
	Oid relid = constant->consttype == REGCLASSOID && !constant->constisnull
					? DatumGetObjectId(constant->constvalue)
					: InvalidOid;

	return relid >= FirstNormalObjectId && dist_table(relid) == NULL;
}

static bool
hazard_walker(Node *node, void *context)
{
	HazardScan *scan = context;

	if (node == NULL || IsA(node, Query) || is_shard_call(node))
		return false;
	switch (nodeTag(node))
	{
		case T_NextValueExpr:
			scan->reason = "nextval";
			return true;
		case T_Var:
			if (((Var *) node)->varattno == TableOidAttributeNumber)
				scan->reason = "tableoid";
			else if (((Var *) node)->varattno == InvalidAttrNumber &&
					 ((Var *) node)->vartype != RECORDOID)
				scan->reason = "whole-row reference"; /* a shard's row type is another */
			return scan->reason != NULL;
		case T_RowExpr:
			/* Rows of the paths of SEARCH and CYCLE are only compared. */
			if (hazard_in_paths == 0 && has_field_names((RowExpr *) node))
			{
				scan->reason = "a row with field names";
				return true;
			}
			if (is_of_view((RowExpr *) node))
			{
				scan->reason = "a row of a view";
				return true;
			}
			break;
		case T_Const:
			if (names_relation_of_here((Const *) node))
			{
				scan->reason = "the name of a table that other nodes may not have";
				return true;
			}
			break;
		case T_Param:
			if (((Param *) node)->paramkind == PARAM_EXTERN &&
				!value_can_be_sent(((Param *) node)->paramtype))
			{
				scan->reason = psprintf("a parameter of type %s",
										format_type_be(((Param *) node)->paramtype));
				return true;
			}
			break;
		case T_CurrentOfExpr:
			scan->reason = "WHERE CURRENT OF";
			return true;
		case T_OpExpr:
		case T_DistinctExpr:
		case T_ScalarArrayOpExpr:
			if (!compares_names(node))
				break;
			foreach_ptr (Node, argument, compared_names(node))
			{
				if (hazard_walker((Node *) *compared_name(argument), context))
					return true;
			}
			return false;
		case T_Aggref:
			if (clauses_order_names(((Aggref *) node)->aggorder, ((Aggref *) node)->args))
			{
				scan->reason = "an order of catalog names";
				return true;
			}
			break;
		case T_CoerceViaIO:
		case T_RelabelType:
		case T_ArrayCoerceExpr:
		case T_FuncExpr:
			if (cast_looks_up_object(node) && depends_on_rows(node))
			{
				scan->reason = "cast from or to a catalog name type";
				return true;
			}
			break;
		default:
			break;
	}
	scan->has_vars = true;
	if (IsA(node, FuncExpr) || IsA(node, OpExpr) || IsA(node, ScalarArrayOpExpr) ||
		IsA(node, CoerceViaIO))
		scan->has_vars = depends_on_rows(node);
	if (check_functions_in_node(node, check_function, scan))
		return true;
	return expression_tree_walker(node, hazard_walker, scan);
}

const char *
expression_hazard(Node *node)
{
	HazardScan scan = {0};

	hazard_walker(node, &scan);
	return scan.reason;
}
