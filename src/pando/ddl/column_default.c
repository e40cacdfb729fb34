/*
 * column_default.c: ADD COLUMN whose default gives the rows that are there their values.
 *
 * A stable default is the same for all rows. Its value travels as text among the names
 * that the coordinator fixes. In the tree for the shards the default becomes that text,
 * cast to the column's type; a second statement sets the default that was asked for.
 *
 * What is another value for each row, and none that a shard may choose (sequences, which
 * shards don't know; volatile functions where a row has several copies), the coordinator
 * gives the rows by an UPDATE, once all shards have the column. Until then it allows
 * NULL.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "catalog/heap.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_node.h"
#include "parser/parse_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/syscache.h"

#include "pando/base/literal.h"
#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/catalog/partition.h"
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

/* The column's default as an expression of its type; NULL: none, or that of a sequence.
 */
static Node *
default_expression(DdlJob *job, ColumnDef *column)
{
	Constraint *constraint = default_of(column);
	ParseState *pstate;
	Node *expr;
	Oid type;
	int32 typmod;

	if (constraint == NULL || shard_default_is_sequence(constraint->raw_expr))
		return NULL;
	pstate = make_parsestate(NULL);
	pstate->p_sourcetext = job->source;
	typenameTypeIdAndMod(pstate, column->typeName, &type, &typmod);
	expr = cookDefault(pstate, copyObject(constraint->raw_expr), type, typmod,
					   column->colname, '\0');
	free_parsestate(pstate);
	return expr;
}

/* Is the column's default one that must be computed once? Sets its value then. */
static bool
default_is_stable(DdlJob *job, ColumnDef *column, char **value)
{
	Node *expr = default_expression(job, column);

	if (expr == NULL || contain_volatile_functions(expr) ||
		!contain_mutable_functions(expr))
		return false;
	*value = job->applying ? "" : expression_value(expr, exprType(expr));
	return *value != NULL;
}

static bool
is_serial(const TypeName *type)
{
	static const char *const serials[] = {"serial",	 "serial2",		"serial4",
										  "serial8", "smallserial", "bigserial"};

	for (int i = 0; i < lengthof(serials); i++)
	{
		if (type != NULL && list_length(type->names) == 1 &&
			strcmp(strVal(linitial(type->names)), serials[i]) == 0)
			return true;
	}
	return false;
}

bool
column_is_numbered(const ColumnDef *column)
{
	foreach_ptr (Constraint, constraint, column->constraints)
	{
		if (constraint->contype == CONSTR_IDENTITY ||
			(constraint->contype == CONSTR_DEFAULT &&
			 shard_default_is_sequence(constraint->raw_expr)))
			return true;
	}
	return is_serial(column->typeName);
}

/* Is it for columns_fill() to give the rows that are there their values? */
static bool
is_filled(DdlJob *job, Oid relid, ColumnDef *column)
{
	const DistTable *table = dist_table_require(relid);

	return !table->managed_local &&
		   (column_is_numbered(column) ||
			(table->repmodel != REPMODEL_SINGLE &&
			 contain_volatile_functions(default_expression(job, column))));
}

/* Rows without a value have no key. */
static void
refuse_primary_key(Oid relid, const ColumnDef *column)
{
	foreach_ptr (Constraint, constraint, column->constraints)
	{
		if (constraint->contype == CONSTR_PRIMARY &&
			sql_value("SELECT 1 FROM %s LIMIT 1", name_qualified(relid)) != NULL)
			ereport(
				ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("adding column \"%s\" with values of its own for each row as "
						"primary key to table \"%s\" is not supported while the table "
						"has rows",
						column->colname, get_rel_name(relid)),
				 errhint("Add the column first, then the primary key.")));
	}
}

/* For the shards: neither NOT NULL nor, where it is a sequence's, a default. */
static void
allow_null(ColumnDef *column)
{
	List *constraints = NIL;

	shard_column_forget_sequence(column);
	foreach_ptr (Constraint, constraint, column->constraints)
	{
		if (constraint->contype != CONSTR_NOTNULL &&
			constraint->contype != CONSTR_DEFAULT)
			constraints = lappend(constraints, constraint);
	}
	column->constraints = constraints;
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
		bool filled;
		char *value = NULL;

		if (command->subtype != AT_AddColumn ||
			(command->missing_ok &&
			 get_attnum(relid, column->colname) != InvalidAttrNumber))
			continue;
		filled = is_filled(job, relid, column);
		if (!filled && !default_is_stable(job, column, &value))
			continue;
		if (*afterwards == NULL)
		{
			*afterwards = copyObject(stmt);
			(*afterwards)->cmds = NIL;
		}
		if (default_of(column) != NULL)
			(*afterwards)->cmds =
				lappend((*afterwards)->cmds, set_default_command(column));
		if (filled)
		{
			refuse_primary_key(relid, column);
			job->filled = lappend(job->filled, column->colname);
			allow_null(column);
		}
		else
			default_of(column)->raw_expr =
				default_literal(job_fix_name(job, value), column->typeName);
	}
	return (Node *) fixed;
}

/* ------------------------------------------------------------------------------------
 * The coordinator's UPDATE.
 */

/* Would an UPDATE of columns that are new fire a trigger of this table? */
static bool
update_fires_trigger(Oid relid)
{
	Relation rel = table_open(relid, NoLock);
	bool fires = false;

	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		const Trigger *trigger = &rel->trigdesc->triggers[i];

		fires |= !trigger->tgisinternal && TRIGGER_FOR_UPDATE(trigger->tgtype) &&
				 trigger->tgnattr == 0 && trigger->tgenabled != TRIGGER_DISABLED;
	}
	table_close(rel, NoLock);
	return fires;
}

/* An UPDATE is a change like any other, ALTER TABLE isn't. */
static void
check_update(Oid relid, const char *column)
{
	const char *why = NULL;
	const char *hint = NULL;

	foreach_oid(each, find_all_inheritors(relid, AccessExclusiveLock, NULL))
	{
		if (update_fires_trigger(each))
		{
			why = "An UPDATE gives the rows their values, and would fire its triggers.";
			hint = "Disable the triggers of UPDATE in the same transaction.";
		}
	}
	if (check_enable_rls(relid, InvalidOid, true) == RLS_ENABLED)
		why = "An UPDATE gives the rows their values, and sees those that policies show.";
	if (why != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot add column \"%s\" with values of its own for each row to "
						"table \"%s\"",
						column, get_rel_name(relid)),
				 errdetail("%s", why), hint != NULL ? errhint("%s", hint) : 0));
}

static void
fill(Oid relid, List *columns)
{
	StringInfoData sets;

	initStringInfo(&sets);
	foreach_ptr (char, column, columns)
		appendStringInfo(&sets, "%s%s = DEFAULT", sets.len > 0 ? ", " : "",
						 quote_identifier(column));
	sql_run("UPDATE %s SET %s", name_qualified(relid), sets.data);
}

static bool
column_is_not_null(Oid relid, const char *column)
{
	HeapTuple tuple = SearchSysCacheAttName(relid, column);
	bool result = ((Form_pg_attribute) GETSTRUCT(tuple))->attnotnull;

	ReleaseSysCache(tuple);
	return result;
}

void
columns_fill(DdlJob *job, Oid relid)
{
	if (job->filled == NIL)
		return;
	if (sql_value("SELECT 1 FROM %s LIMIT 1", name_qualified(relid)) != NULL)
	{
		check_update(relid, linitial(job->filled));
		fill(relid, job->filled);
	}
	foreach_ptr (char, column, job->filled)
	{
		if (column_is_not_null(relid, column))
			sql_run("ALTER TABLE %s ALTER COLUMN %s SET NOT NULL", name_qualified(relid),
					quote_identifier(column));
	}
}
