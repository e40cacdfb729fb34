/*
 * column_default.c: ADD COLUMN with a default that depends on the moment (see the
 * header).
 *
 * The value travels as text among the names that the coordinator fixes. In the tree for
 * the shards the default becomes that text, cast to the column's type; a second statement
 * sets the default that was asked for.
 */
#include "pando/compat/compat.h"

#include "catalog/heap.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_node.h"
#include "parser/parse_type.h"

#include "pando/base/literal.h"
#include "pando/ddl/column_default.h"
#include "pando/metadata/table.h"

static Constraint *
default_of(ColumnDef *column)
{
	foreach_ptr (Constraint, constraint, column->constraints)
	{
		if (constraint->contype == CONSTR_DEFAULT)
			return constraint;
	}
	return NULL;
}

/* The value of an expression as text; NULL for an SQL NULL. */
static char *
expression_value(Node *expr, Oid type)
{
	EState *estate = CreateExecutorState();
	ExprState *state = ExecPrepareExpr((Expr *) expr, estate);
	MemoryContext old = CurrentMemoryContext;
	bool isnull;
	Datum value =
		ExecEvalExprSwitchContext(state, GetPerTupleExprContext(estate), &isnull);
	char *text;

	MemoryContextSwitchTo(old);
	text = literal_text(value, isnull, type);
	FreeExecutorState(estate);
	return text;
}

/* Is the column's default one that must be computed once? Sets its value then. */
static bool
default_is_stable(DdlJob *job, ColumnDef *column, char **value)
{
	Constraint *constraint = default_of(column);
	ParseState *pstate;
	Node *expr;
	Oid type;
	int32 typmod;

	if (constraint == NULL || shard_default_is_sequence(constraint->raw_expr))
		return false;
	pstate = make_parsestate(NULL);
	pstate->p_sourcetext = job->source;
	typenameTypeIdAndMod(pstate, column->typeName, &type, &typmod);
	expr = cookDefault(pstate, copyObject(constraint->raw_expr), type, typmod,
					   column->colname, '\0');
	free_parsestate(pstate);
	if (expr == NULL || contain_volatile_functions(expr) ||
		!contain_mutable_functions(expr))
		return false;
	*value = job->applying ? "" : expression_value(expr, type);
	return *value != NULL;
}

static Node *
default_literal(char *text, TypeName *type)
{
	A_Const *constant = makeNode(A_Const);
	TypeCast *cast = makeNode(TypeCast);

	constant->val.sval.type = T_String;
	constant->val.sval.sval = text;
	constant->location = -1;
	cast->arg = (Node *) constant;
	cast->typeName = copyObject(type);
	cast->location = -1;
	return (Node *) cast;
}

static AlterTableCmd *
set_default_command(ColumnDef *column)
{
	AlterTableCmd *command = makeNode(AlterTableCmd);

	command->subtype = AT_ColumnDefault;
	command->name = column->colname;
	command->def = copyObject(default_of(column)->raw_expr);
	return command;
}

Node *
column_default_fix(DdlJob *job, Oid relid, AlterTableStmt *stmt,
				   AlterTableStmt **afterwards)
{
	AlterTableStmt *fixed = copyObject(stmt);

	*afterwards = NULL;
	foreach_ptr (AlterTableCmd, command, fixed->cmds)
	{
		ColumnDef *column = (ColumnDef *) command->def;
		char *value;

		if (command->subtype != AT_AddColumn || !default_is_stable(job, column, &value))
			continue;
		if (*afterwards == NULL)
		{
			*afterwards = copyObject(stmt);
			(*afterwards)->cmds = NIL;
		}
		(*afterwards)->cmds = lappend((*afterwards)->cmds, set_default_command(column));
		default_of(column)->raw_expr =
			default_literal(job_fix_name(job, value), column->typeName);
	}
	return (Node *) fixed;
}
