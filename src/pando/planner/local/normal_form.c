/*
 * normal_form.c: a statement without its constants, to know it again with others.
 *
 * A constant becomes a parameter where it is compared in WHERE or ON, computed with or
 * assigned in an UPDATE, or is in the row of an INSERT; nowhere else. In those places
 * PostgreSQL's result can't depend on whether a value is a constant or a parameter of the
 * same type. It is done in place: a Const node is large enough to hold a Param.
 *
 * Equal constants of a query with several tables become the same parameter: that they are
 * equal may be what makes the query one for a single shard group.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"

#include "pando/compat/rights.h"
#include "pando/base/type.h"
#include "pando/metadata/table.h"
#include "pando/planner/local/normal_form.h"

/* Beyond what a client can number. */
#define FIRST_NUMBER 1000000

StaticAssertDecl(sizeof(Param) <= sizeof(Const), "a Const can't become a Param in place");

/* ------------------------------------------------------------------------------------
 * Which statements.
 */

static bool
has_plain_relations(const Query *query)
{
	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		if ((rte->rtekind != RTE_RELATION && rte->rtekind != RTE_JOIN) ||
			rte->tablesample != NULL || rte->securityQuals != NIL ||
			OidIsValid(entry_rights(rte)->checkAsUser))
			return false;
	}
	return true;
}

static bool
assigns_key(const Query *query, const DistTable *table)
{
	foreach_ptr (TargetEntry, tle, query->targetList)
	{
		if (!tle->resjunk && tle->resno == table->key)
			return true;
	}
	return false;
}

static bool
is_candidate(const Query *query)
{
	const RangeTblEntry *target;
	const DistTable *table;

	if (query->cteList != NIL || query->hasSubLinks || query->hasRowSecurity ||
		query->setOperations != NULL || query->groupClause != NIL ||
		query->groupingSets != NIL || query->windowClause != NIL ||
		query->distinctClause != NIL || query->withCheckOptions != NIL ||
		!has_plain_relations(query))
		return false;
	if (query->commandType == CMD_SELECT)
		return list_length(query->rtable) == 1 || !query->hasForUpdate;

	target = list_nth(query->rtable, query->resultRelation - 1);
	table = dist_table(target->relid);
	switch (query->commandType)
	{
		case CMD_INSERT:
			return table != NULL && query->jointree->fromlist == NIL;
		case CMD_UPDATE:
			/* What is assigned to the key is compared with what the key must be. */
			return table != NULL && list_length(query->rtable) == 1 &&
				   !assigns_key(query, table);
		case CMD_DELETE:
			return table != NULL && list_length(query->rtable) == 1;
		default:
			return false;
	}
}

/* ------------------------------------------------------------------------------------
 * Constants.
 */

typedef struct Taker
{
	NormalForm *form;
	bool share; /* equal constants get one number */
	bool full;	/* too many of them */
} Taker;

static int
number_of(Taker *taker, const Const *constant)
{
	NormalForm *form = taker->form;

	for (int i = 0; taker->share && i < form->count; i++)
	{
		if (equal(&form->constants[i], constant))
			return form->numbers[i];
	}
	return FIRST_NUMBER + form->count;
}

static void
take_constant(Node *node, Taker *taker)
{
	NormalForm *form = taker->form;
	Const constant;
	Param param = {.xpr.type = T_Param, .paramkind = PARAM_EXTERN};

	if (!IsA(node, Const) || ((Const *) node)->constisnull ||
		!type_is_basic(((Const *) node)->consttype))
		return;
	if (form->count >= NORMAL_CONSTANTS_MAX)
	{
		taker->full = true;
		return;
	}
	constant = *(Const *) node;
	form->numbers[form->count] = number_of(taker, &constant);
	form->constants[form->count] = constant;
	form->nodes[form->count] = node;
	param.paramid = form->numbers[form->count++];
	param.paramtype = constant.consttype;
	param.paramtypmod = constant.consttypmod;
	param.paramcollid = constant.constcollid;
	param.location = constant.location;
	memcpy(node, &param, sizeof(Param));
}

/* The operands of an operator that are constants. */
static void
take_operands(const OpExpr *clause, Taker *taker)
{
	foreach_ptr (Node, arg, clause->args)
		take_constant(arg, taker);
}

static void
take_from_condition(Node *node, Taker *taker)
{
	if (node == NULL)
		return;
	if (IsA(node, BoolExpr))
	{
		foreach_ptr (Node, arg, ((BoolExpr *) node)->args)
			take_from_condition(arg, taker);
	}
	else if (IsA(node, OpExpr) && ((OpExpr *) node)->opresulttype == BOOLOID)
		take_operands((OpExpr *) node, taker);
}

static void
take_from_joins(Node *item, Taker *taker)
{
	if (item == NULL)
		return;
	if (IsA(item, JoinExpr))
	{
		JoinExpr *join = (JoinExpr *) item;

		take_from_joins(join->larg, taker);
		take_from_joins(join->rarg, taker);
		take_from_condition(join->quals, taker);
	}
	else if (IsA(item, FromExpr))
	{
		foreach_ptr (Node, part, ((FromExpr *) item)->fromlist)
			take_from_joins(part, taker);
		take_from_condition(((FromExpr *) item)->quals, taker);
	}
}

static bool
take_all_walker(Node *node, Taker *taker)
{
	if (node == NULL)
		return false;
	take_constant(node, taker);
	return expression_tree_walker(node, take_all_walker, taker);
}

static void
take_from_assignments(Query *query, Taker *taker)
{
	foreach_ptr (TargetEntry, tle, query->targetList)
	{
		Node *expr = (Node *) tle->expr;

		if (tle->resjunk)
			continue;
		if (query->commandType == CMD_INSERT)
			take_all_walker(expr, taker);
		else if (IsA(expr, OpExpr))
			take_operands((OpExpr *) expr, taker);
		else
			take_constant(expr, taker);
	}
}

/* ------------------------------------------------------------------------------------
 * The hash.
 */

static uint64
mix(uint64 hash, uint64 value)
{
	hash = (hash ^ value) * UINT64CONST(0x9E3779B97F4A7C15);
	return hash ^ (hash >> 29);
}

static uint64
mix_constant(uint64 hash, const Const *constant)
{
	hash = mix(hash, constant->consttype);
	if (constant->constisnull)
		return hash;
	if (constant->constbyval)
		return mix(hash, (uint64) constant->constvalue);
	return mix(hash,
			   hash_bytes_extended(
				   (unsigned char *) DatumGetPointer(constant->constvalue),
				   datumGetSize(constant->constvalue, false, constant->constlen), 0));
}

/* What tells statements apart most of the time; equal() decides. */
static bool
hash_walker(Node *node, uint64 *hash)
{
	if (node == NULL)
		return false;
	*hash = mix(*hash, nodeTag(node));
	switch (nodeTag(node))
	{
		case T_Var:
			*hash = mix(*hash, ((uint64) ((Var *) node)->varno << 16) ^
								   (uint16) ((Var *) node)->varattno);
			break;
		case T_Const:
			*hash = mix_constant(*hash, (Const *) node);
			break;
		case T_Param:
			*hash = mix(*hash, ((uint64) ((Param *) node)->paramid << 32) ^
								   ((Param *) node)->paramtype);
			break;
		case T_OpExpr:
			*hash = mix(*hash, ((OpExpr *) node)->opno);
			break;
		case T_FuncExpr:
			*hash = mix(*hash, ((FuncExpr *) node)->funcid);
			break;
		case T_Aggref:
			*hash = mix(*hash, ((Aggref *) node)->aggfnoid);
			break;
		case T_BoolExpr:
			*hash = mix(*hash, ((BoolExpr *) node)->boolop);
			break;
		case T_TargetEntry:
			*hash = mix(*hash, ((TargetEntry *) node)->resno);
			break;
		case T_RangeTblEntry:
			*hash = mix(*hash, ((RangeTblEntry *) node)->relid);
			return false;
		case T_Query:
			return query_tree_walker((Query *) node, hash_walker, hash,
									 QTW_EXAMINE_RTES_BEFORE);
		default:
			break;
	}
	return expression_tree_walker(node, hash_walker, hash);
}

static uint64
hash_of(Query *query)
{
	uint64 hash = mix(query->commandType, list_length(query->sortClause));

	(void) query_tree_walker(query, hash_walker, &hash, QTW_EXAMINE_RTES_BEFORE);
	return hash;
}

/* ------------------------------------------------------------------------------------
 * There and back.
 */

bool
normal_form_take(Query *query, NormalForm *form)
{
	Taker taker = {.form = form, .share = list_length(query->rtable) > 1};

	if (!is_candidate(query))
		return false;
	form->count = 0;
	form->stmt_len = query->stmt_len;
	take_from_joins((Node *) query->jointree, &taker);
	if (query->commandType != CMD_SELECT)
		take_from_assignments(query, &taker);
	if (taker.full)
	{
		normal_form_restore(query, form);
		return false;
	}
	/* It is compared by equal(). */
	query->stmt_len = 0;
	form->hash = hash_of(query);
	return true;
}

void
normal_form_restore(Query *query, const NormalForm *form)
{
	for (int i = 0; i < form->count; i++)
		memcpy(form->nodes[i], &form->constants[i], sizeof(Const));
	query->stmt_len = form->stmt_len;
}

List *
normal_form_constants(const NormalForm *form)
{
	List *constants = NIL;

	for (int i = 0; i < form->count; i++)
	{
		Const *constant = makeNode(Const);

		*constant = form->constants[i];
		constants = lappend(constants, constant);
	}
	return constants;
}

typedef struct Numbering
{
	int clients; /* the highest number of the client's parameters */
	bool assign;
} Numbering;

static bool
number_walker(Node *node, Numbering *numbering)
{
	Param *param = (Param *) node;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, number_walker, numbering, 0);
	if (!IsA(node, Param) || param->paramkind != PARAM_EXTERN)
		return expression_tree_walker(node, number_walker, numbering);
	if (numbering->assign && param->paramid >= FIRST_NUMBER)
		param->paramid += numbering->clients + 1 - FIRST_NUMBER;
	else if (!numbering->assign && param->paramid < FIRST_NUMBER)
		numbering->clients = Max(numbering->clients, param->paramid);
	return false;
}

int
normal_form_number(Query *copy)
{
	Numbering numbering = {0};

	number_walker((Node *) copy, &numbering);
	numbering.assign = true;
	number_walker((Node *) copy, &numbering);
	return numbering.clients + 1;
}
