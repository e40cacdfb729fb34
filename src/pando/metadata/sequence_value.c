/*
 * sequence_value.c: see sequence_value.h.
 *
 * Whether a sequence of a worker gives values itself is found when a value is taken: a
 * plan may be older than the table that made the sequence the cluster's. Only for the
 * core's own node for the next value of an identity column, NextValueExpr, which asks
 * for no right on the sequence, is it decided here: such a plan goes when the table
 * changes.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_func.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "pando/metadata/node.h"
#include "pando/metadata/sequence_value.h"
#include "pando/metadata/table.h"

FormData_pg_sequence
sequence_form(Oid seqid)
{
	FormData_pg_sequence form;
	HeapTuple tuple = SearchSysCache1(SEQRELID, ObjectIdGetDatum(seqid));

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("relation with OID %u is not a sequence", seqid)));
	form = *(Form_pg_sequence) GETSTRUCT(tuple);
	ReleaseSysCache(tuple);
	return form;
}

bool
sequence_has_own_range(const FormData_pg_sequence *form)
{
	return form->seqtypid == INT8OID &&
		   form->seqmin == SEQUENCE_RANGE_FIRST(node_local_group());
}

Oid
sequence_identity_table(Oid seqid)
{
	Oid relid;
	int32 attnum;

	return sequenceIsOwned(seqid, DEPENDENCY_INTERNAL, &relid, &attnum) ? relid
																		: InvalidOid;
}

static bool
is_coordinators(const NextValueExpr *next)
{
	FormData_pg_sequence form = sequence_form(next->seqid);
	const DistTable *table;
	Oid relid;

	if (sequence_has_own_range(&form))
		return false;
	relid = sequence_identity_table(next->seqid);
	table = OidIsValid(relid) ? dist_table(relid) : NULL;
	return table != NULL && !table->managed_local;
}

/* What stands for a function of the core; NULL: it is none that concerns sequences. */
static const char *
function_instead(Oid funcid)
{
	switch (funcid)
	{
		case F_NEXTVAL:
			return "sequence_next";
		case F_CURRVAL:
			return "sequence_current";
		case F_LASTVAL:
			return "sequence_last";
		case F_SETVAL_REGCLASS_INT8:
		case F_SETVAL_REGCLASS_INT8_BOOL:
			return "sequence_set";
		default:
			return NULL;
	}
}

static Node *
call(const char *name, List *args)
{
	Oid types[3];
	int n = 0;
	Oid function;

	foreach_ptr (Node, arg, args)
		types[n++] = exprType(arg);
	function = LookupFuncName(list_make2(makeString("pando"), makeString(pstrdup(name))),
							  n, types, false);
	return (Node *) makeFuncExpr(function, INT8OID, args, InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

static Node *
call_instead(const FuncExpr *given)
{
	List *args = given->args;

	if (given->funcid == F_SETVAL_REGCLASS_INT8)
		args = lappend(args, makeBoolConst(true, false));
	return call(function_instead(given->funcid), args);
}

/* The next value of an identity column, as a value of the column's type. */
static Node *
identity_value(NextValueExpr *next)
{
	Node *value;

	if (is_coordinators(next))
		value = call("sequence_next",
					 list_make1(makeConst(REGCLASSOID, -1, InvalidOid, sizeof(Oid),
										  ObjectIdGetDatum(next->seqid), false, true)));
	else
	{
		NextValueExpr *own = copyObject(next);

		own->typeId = INT8OID;
		value = call("sequence_own", list_make1(own));
	}
	return coerce_to_target_type(NULL, value, INT8OID, next->typeId, -1,
								 COERCION_ASSIGNMENT, COERCE_IMPLICIT_CAST, -1);
}

/* A call of a user's function. */
typedef struct Called
{
	List *args; /* in order, with the values of those that are not given */
	bool may_inline;
} Called;

static Called
look_up(const FuncExpr *call)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(call->funcid));
	Called called = {.args = call->args};
	Form_pg_proc form;

	if (!HeapTupleIsValid(tuple))
		return called;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	called.args =
		expand_function_arguments(call->args, false, call->funcresulttype, tuple);
	called.may_inline = !call->funcretset && form->prolang == SQLlanguageId &&
						form->provolatile == PROVOLATILE_VOLATILE;
	ReleaseSysCache(tuple);
	return called;
}

/* As PostgreSQL inlines the call while it plans; NULL if it doesn't. */
static Node *
inlined(FuncExpr *given, PlannerGlobal *glob)
{
	PlannerInfo *root = NULL;
	Node *body;

	if (glob != NULL)
	{
		root = makeNode(PlannerInfo);
		root->glob = glob;
		root->parse = makeNode(Query);
		root->query_level = 1;
	}
	body = eval_const_expressions(root, (Node *) given);
	return IsA(body, FuncExpr) && ((FuncExpr *) body)->funcid == given->funcid ? NULL
																			   : body;
}

/* The functions in whose bodies one looks: a recursive one is inlined once. */
typedef struct Looking
{
	PlannerGlobal *glob;
	List *inside; /* oid list */
} Looking;

static Looking
look_inside(const Looking *looking, Oid funcid)
{
	return (Looking){looking->glob, lappend_oid(list_copy(looking->inside), funcid)};
}

static bool find_walker(Node *node, void *context);

/* Would a SQL function be inlined, and is it about sequences? One that isn't inlined
 * plans its statements when it runs. */
static bool
is_inlined_value(const FuncExpr *call, List *args, const Looking *looking)
{
	Looking inside;
	FuncExpr *probe = makeFuncExpr(call->funcid, call->funcresulttype, NIL,
								   call->funccollid, call->inputcollid, call->funcformat);
	int id = 0;

	if (list_member_oid(looking->inside, call->funcid))
		return false;
	/* Arguments are not evaluated for this. */
	foreach_ptr (Node, arg, args)
	{
		Param *param = makeNode(Param);

		param->paramkind = PARAM_EXTERN;
		param->paramid = ++id;
		param->paramtype = exprType(arg);
		param->paramtypmod = exprTypmod(arg);
		param->paramcollid = exprCollation(arg);
		probe->args = lappend(probe->args, param);
	}
	inside = look_inside(looking, call->funcid);
	return find_walker(inlined(probe, NULL), &inside);
}

static bool
find_in_call(const FuncExpr *call, Looking *looking)
{
	Called called;

	if (function_instead(call->funcid) != NULL)
		return true;
	if (call->funcid < FirstNormalObjectId)
		return find_walker((Node *) call->args, looking);
	called = look_up(call);
	return find_walker((Node *) called.args, looking) ||
		   (called.may_inline && is_inlined_value(call, called.args, looking));
}

static bool
find_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, NextValueExpr))
		return true;
	if (IsA(node, FuncExpr))
		return find_in_call((FuncExpr *) node, context);
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, find_walker, context, 0);
	return expression_tree_walker(node, find_walker, context);
}

static Node *value_mutator(Node *node, void *context);

static Node *
call_mutator(FuncExpr *given, Looking *looking)
{
	FuncExpr *call = copyObject(given);
	Called called = {.args = call->args};
	Node *body = NULL;

	if (call->funcid >= FirstNormalObjectId)
		called = look_up(call);
	call->args = (List *) value_mutator((Node *) called.args, looking);
	if (called.may_inline && is_inlined_value(call, call->args, looking))
		body = inlined(call, looking->glob);
	if (body != NULL)
	{
		Looking inside = look_inside(looking, call->funcid);

		return value_mutator(body, &inside);
	}
	return function_instead(call->funcid) != NULL ? call_instead(call) : (Node *) call;
}

static Node *
value_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, NextValueExpr))
		return identity_value((NextValueExpr *) node);
	if (IsA(node, FuncExpr))
		return call_mutator((FuncExpr *) node, context);
	if (IsA(node, Query))
		return (Node *) query_tree_mutator((Query *) node, value_mutator, context, 0);
	return expression_tree_mutator(node, value_mutator, context);
}

Node *
sequence_values_of_cluster(Node *node, PlannerGlobal *glob)
{
	Looking looking = {glob, NIL};

	if (node == NULL || node_is_coordinator() || !find_walker(node, &looking))
		return node;
	return value_mutator(node, &looking);
}
