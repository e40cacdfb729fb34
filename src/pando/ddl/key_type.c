/*
 * key_type.c: the type of the distribution column.
 *
 * A row is where the hash of its key says. So the type may change as long as each value
 * remains what it is, and both types hash it alike: integers of any width, text and
 * varchar that isn't cut, numeric that isn't rounded, a domain and what it is over. A
 * colocation group has the type of its tables once all of them have the same.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_relation.h"
#include "parser/parse_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pando/catalog/colocation.h"
#include "pando/ddl/key_type.h"
#include "pando/metadata/table.h"
#include "pando/planner/query/equality.h"

static bool
is_integer(Oid type)
{
	type = getBaseType(type);
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/* The argument of an expression that leaves values as they are; NULL of another one. */
static Node *
kept_value(Node *expr)
{
	FuncExpr *function = (FuncExpr *) expr;

	if (IsA(expr, RelabelType))
		return (Node *) ((RelabelType *) expr)->arg;
	if (IsA(expr, CoerceToDomain))
		return (Node *) ((CoerceToDomain *) expr)->arg;
	if (IsA(expr, FuncExpr) && list_length(function->args) == 1 &&
		is_integer(function->funcresulttype) &&
		is_integer(exprType(linitial(function->args))))
		return linitial(function->args);
	return NULL;
}

/* What USING says of the table's columns. */
static Node *
using_expression(const DistTable *table, const ColumnDef *column)
{
	ParseState *parse = make_parsestate(NULL);
	Relation relation = table_open(table->relid, AccessShareLock);
	ParseNamespaceItem *item = addRangeTableEntryForRelation(
		parse, relation, AccessShareLock, NULL, false, true);
	Node *expr;

	addNSItemToQuery(parse, item, false, true, true);
	expr = transformExpr(parse, copyObject(column->raw_default),
						 EXPR_KIND_ALTER_COL_TRANSFORM);
	assign_expr_collations(parse, expr);
	free_parsestate(parse);
	table_close(relation, NoLock);
	return expr;
}

/* Does the conversion of the key to the type leave each value as it is? */
static bool
keeps_values(const DistTable *table, const ColumnDef *column, Oid type, int32 typmod)
{
	Node *expr = column->raw_default != NULL
					 ? using_expression(table, column)
					 : (Node *) makeVar(1, table->key, table->key_type, table->key_typmod,
										table->key_collation, 0);

	expr = coerce_to_target_type(NULL, expr, exprType(expr), type, typmod,
								 COERCION_ASSIGNMENT, COERCE_IMPLICIT_CAST, -1);
	if (expr != NULL)
		expr = (Node *) expression_planner((Expr *) expr);
	while (expr != NULL && !IsA(expr, Var))
		expr = kept_value(expr);
	return expr != NULL && ((Var *) expr)->varattno == table->key;
}

static bool
hashes_alike(const DistTable *table, Oid type, Oid collation)
{
	Oid family = hash_family_of_type(table->key_type);

	return OidIsValid(family) && family == hash_family_of_type(type) &&
		   (collation == table->key_collation ||
			(OidIsValid(collation) && OidIsValid(table->key_collation) &&
			 get_collation_isdeterministic(collation) &&
			 get_collation_isdeterministic(table->key_collation)));
}

/* Why the column can't get the type; NULL: it can, or PostgreSQL itself says why not. */
static const char *
reason_against(const DistTable *table, ColumnDef *column)
{
	Oid type;
	int32 typmod;

	if (table->kind != TABLE_HASH)
		return "The table's shards hold ranges of values of its type.";
	if (!OidIsValid(LookupTypeNameOid(NULL, column->typeName, true)))
		return NULL;
	typenameTypeIdAndMod(NULL, column->typeName, &type, &typmod);
	if (!hashes_alike(table, type, GetColumnDefCollation(NULL, column, type)) ||
		!keeps_values(table, column, type, typmod))
		return "Values may change, or hash in another way, and rows would belong "
			   "elsewhere.";
	return NULL;
}

void
key_type_check(Oid relid, const AlterTableCmd *command)
{
	const DistTable *table = dist_table_require(relid);
	bool drops = command->subtype == AT_DropColumn;
	const char *reason;

	if ((!drops && command->subtype != AT_AlterColumnType) ||
		table->named_key == InvalidAttrNumber || command->name == NULL ||
		strcmp(get_attname(relid, table->named_key, false), command->name) != 0)
		return;
	reason = drops ? "It says where each row belongs."
				   : reason_against(table, (ColumnDef *) command->def);
	if (reason == NULL)
		return;
	ereport(
		ERROR,
		(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		 errmsg("cannot %s distribution column \"%s\" of table \"%s\"",
				drops ? "drop" : "change the type of", command->name,
				get_rel_name(relid)),
		 errdetail("%s", reason),
		 errhint(
			 "Use undistribute_table() first, or alter_distributed_table() to distribute "
			 "by another column.")));
}

/*
 * Have the keys of all tables of the group one type that isn't the group's? Then it gets
 * it.
 */
static void
fit_group(int32 colocation)
{
	ColocationRow *row = catalog_colocation_by_id(colocation);
	Oid type = InvalidOid;
	Oid collation = InvalidOid;

	foreach_oid(relid, dist_table_oids_of_colocation(colocation))
	{
		const DistTable *table = dist_table_require(relid);

		if (OidIsValid(type) &&
			(table->key_type != type || table->key_collation != collation))
			return;
		type = table->key_type;
		collation = table->key_collation;
	}
	if (row == NULL || !OidIsValid(type) ||
		(row->distributioncolumntype == type &&
		 row->distributioncolumncollation == collation))
		return;
	row->distributioncolumntype = type;
	row->distributioncolumncollation = collation;
	(void) catalog_colocation_update(row);
}

void
key_type_changed(List *relids)
{
	foreach_oid(relid, relids)
	{
		const DistTable *table = dist_table_require(relid);

		if (table->kind == TABLE_HASH)
			fit_group(table->colocation);
	}
}
