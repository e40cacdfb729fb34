/*
 * shard_name.c: renames a raw parse tree from shell table to shard.
 *
 * One row per kind of statement says which of its parts carry names. What is renamed:
 * tables, indexes, constraints and statistics objects; what lives inside its table
 * (columns, policies, triggers) keeps its name. A shard has neither identity nor sequence
 * defaults: its values come from the node that runs the INSERT.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_type.h"
#include "parser/parser.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "tcop/utility.h"
#include "pando/base/name.h"
#include "pando/ddl/partition.h"
#include "pando/ddl/shard_ddl.h"

/* <name>_<shardid>; NULL stays NULL. */
static char *
shard_rename(const char *name, const ShardMap *map)
{
	return name == NULL ? NULL : name_shard(name, map->shard_id);
}

/* The shard that stands for a table in this shard group. */
static int64
shard_map_find(const ShardMap *map, Oid relid)
{
	const DistTable *own;
	const DistTable *other;

	if (relid == map->relid)
		return map->shard_id;
	for (int i = 0; map->peers != NULL && i < map->peers->count; i++)
	{
		if (map->peers->relids[i] == relid)
			return map->peers->shard_ids[i];
	}

	other = dist_table(relid);
	if (other != NULL && other->kind == TABLE_REFERENCE)
		return other->shards[0].id;

	own = dist_table(map->relid);
	if (own != NULL && other != NULL && dist_table_colocated(own, other))
	{
		const Shard *shard = shard_of_table(own, map->shard_id);

		if (shard != NULL && shard->index < other->nshards)
			return other->shards[shard->index].id;
	}

	ereport(
		ERROR,
		(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		 errmsg("table \"%s\" cannot refer to table \"%s\"", get_rel_name(map->relid),
				get_rel_name(relid)),
		 errdetail(
			 "A distributed table can refer to tables that are colocated with it and "
			 "to reference tables."),
		 errhint("Distribute \"%s\" with colocate_with, or make it a reference table.",
				 get_rel_name(relid))));
	return 0;
}

/* Statements come from clients, too: CLUSTER or DROP TYPE name no table. */
static void
require_table_name(bool named)
{
	if (!named)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("a statement that does not name its table or index cannot "
							   "be applied to a shard")));
}

void
shard_rename_range_var(RangeVar *relation, const ShardMap *map)
{
	Oid relid;
	Oid table;
	int64 shard_id;

	require_table_name(relation != NULL && IsA(relation, RangeVar));
	relid = table = RangeVarGetRelid(relation, NoLock, false);
	if (partition_relkind_is_index(get_rel_relkind(relid)))
		table = IndexGetRelation(relid, false);
	shard_id = shard_map_find(map, table);
	relation->catalogname = NULL;
	relation->schemaname = get_namespace_name(get_rel_namespace(relid));
	relation->relname = name_shard(relation->relname, shard_id);
}

static void
rename_range_vars(List *relations, const ShardMap *map)
{
	foreach_ptr (RangeVar, relation, relations)
		shard_rename_range_var(relation, map);
}

/* A name as a list of strings, of an object in the shell table's schema unless it says.
 */
static void
rename_name_list(List *names, const ShardMap *map)
{
	String *last;

	require_table_name(names != NIL && IsA(names, List) && IsA(llast(names), String));
	last = llast(names);
	last->sval = shard_rename(last->sval, map);
}

/* ------------------------------------------------------------------------------------
 * Expressions: tables in subqueries, and columns written as <table>.<column>
 */

typedef struct ExpressionContext
{
	const ShardMap *map;
	const char *table; /* the shell's name; NULL where a subquery uses it for itself */
} ExpressionContext;

static bool rename_expression_walker(Node *node, void *context);

/* A table in a subquery keeps its old name as an alias. */
static void
rename_subquery_table(RangeVar *relation, const ShardMap *map)
{
	if (relation->alias == NULL)
		relation->alias = makeAlias(relation->relname, NIL);
	shard_rename_range_var(relation, map);
}

static bool
from_item_walker(Node *node, void *name)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeVar))
	{
		RangeVar *relation = (RangeVar *) node;

		return strcmp(relation->alias != NULL ? relation->alias->aliasname
											  : relation->relname,
					  name) == 0;
	}
	if (IsA(node, RangeSubselect))
	{
		Alias *alias = ((RangeSubselect *) node)->alias;

		return alias != NULL && strcmp(alias->aliasname, name) == 0;
	}
	return raw_expression_tree_walker(node, from_item_walker, name);
}

static bool
rename_subquery(SelectStmt *select, ExpressionContext *context)
{
	ExpressionContext inner = *context;

	if (inner.table != NULL &&
		from_item_walker((Node *) select->fromClause, (void *) inner.table))
		inner.table = NULL;
	return raw_expression_tree_walker((Node *) select, rename_expression_walker, &inner);
}

/* table.column, schema.table.column */
static void
rename_column_ref(ColumnRef *column, ExpressionContext *context)
{
	int position = list_length(column->fields) - 2;
	ListCell *cell;

	if (position < 0 || position > 1 || context->table == NULL)
		return;
	cell = list_nth_cell(column->fields, position);
	if (IsA(lfirst(cell), String) && strcmp(strVal(lfirst(cell)), context->table) == 0)
		lfirst(cell) = makeString(shard_rename(context->table, context->map));
}

static bool
rename_expression_walker(Node *node, void *arg)
{
	ExpressionContext *context = arg;

	if (node == NULL)
		return false;
	if (IsA(node, RangeVar))
	{
		rename_subquery_table((RangeVar *) node, context->map);
		return false;
	}
	if (IsA(node, SelectStmt))
		return rename_subquery((SelectStmt *) node, context);
	if (IsA(node, ColumnRef))
	{
		rename_column_ref((ColumnRef *) node, context);
		return false;
	}
	return raw_expression_tree_walker(node, rename_expression_walker, arg);
}

static void
rename_expression(Node *expr, const ShardMap *map)
{
	ExpressionContext context = {map, get_rel_name(map->relid)};

	if (expr != NULL)
		rename_expression_walker(expr, &context);
}

static bool
nextval_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, FuncCall))
	{
		String *name = llast(((FuncCall *) node)->funcname);

		if (strcmp(name->sval, "nextval") == 0)
			return true;
	}
	return raw_expression_tree_walker(node, nextval_walker, context);
}

bool
shard_default_is_sequence(Node *expr)
{
	return nextval_walker(expr, NULL);
}

/* ------------------------------------------------------------------------------------
 * Columns and constraints
 */

static const struct
{
	const char *serial;
	const char *type;
} serial_types[] = {{"smallserial", "int2"}, {"serial2", "int2"},	{"serial", "int4"},
					{"serial4", "int4"},	 {"bigserial", "int8"}, {"serial8", "int8"}};

/* serial becomes its integer type; returns whether it was one. */
static bool
column_replace_serial(ColumnDef *column)
{
	TypeName *type = column->typeName;

	if (type == NULL || list_length(type->names) != 1 || type->pct_type)
		return false;
	for (int i = 0; i < lengthof(serial_types); i++)
	{
		if (strcmp(strVal(linitial(type->names)), serial_types[i].serial) == 0)
		{
			column->typeName = SystemTypeName(pstrdup(serial_types[i].type));
			return true;
		}
	}
	return false;
}

/* Has the table a check constraint or foreign key of that name? */
static bool
has_inheritable(Oid relid, const char *name)
{
	Oid id = get_relation_constraint_oid(relid, name, true);
	HeapTuple tuple;
	bool found;

	if (!OidIsValid(id))
		return false;
	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(id));
	if (!HeapTupleIsValid(tuple))
		return false;
	found = ((Form_pg_constraint) GETSTRUCT(tuple))->contype == CONSTRAINT_CHECK ||
			((Form_pg_constraint) GETSTRUCT(tuple))->contype == CONSTRAINT_FOREIGN;
	ReleaseSysCache(tuple);
	return found;
}

int64
shard_constraint_shard(Oid parent, Oid child, const char *name, const ShardMap *map)
{
	Oid owner = child;

	while (OidIsValid(parent) && has_inheritable(parent, name))
	{
		owner = parent;
		parent = get_rel_relispartition(parent) ? get_partition_parent(parent, true)
												: InvalidOid;
	}
	return shard_map_find(map, owner);
}

/* A partition's constraints that are its parent's have that name on shards as well. */
static char *
rename_constraint_name(const char *name, const ShardMap *map)
{
	if (name == NULL || !get_rel_relispartition(map->relid) ||
		PartitionHasPendingDetach(map->relid))
		return shard_rename(name, map);
	return name_shard(name, shard_constraint_shard(get_partition_parent(map->relid, true),
												   map->relid, name, map));
}

static void
rename_constraint(Constraint *constraint, const ShardMap *map)
{
	constraint->conname = rename_constraint_name(constraint->conname, map);
	constraint->indexname = shard_rename(constraint->indexname, map);
	if (constraint->pktable != NULL)
		shard_rename_range_var(constraint->pktable, map);
	rename_expression(constraint->raw_expr, map);
	rename_expression(constraint->where_clause, map);
	foreach_ptr (List, pair, constraint->exclusions)
		rename_expression(((IndexElem *) linitial(pair))->expr, map);
}

bool
shard_column_forget_sequence(ColumnDef *column)
{
	List *constraints = NIL;
	bool not_null = column_replace_serial(column);

	foreach_ptr (Constraint, constraint, column->constraints)
	{
		if (constraint->contype == CONSTR_IDENTITY)
			not_null = true;
		else if (constraint->contype != CONSTR_DEFAULT ||
				 !shard_default_is_sequence(constraint->raw_expr))
			constraints = lappend(constraints, constraint);
	}
	column->constraints = constraints;
	return not_null;
}

static void
rename_column(ColumnDef *column, const ShardMap *map)
{
	bool not_null = shard_column_forget_sequence(column);

	foreach_ptr (Constraint, constraint, column->constraints)
		rename_constraint(constraint, map);
	if (not_null)
	{
		Constraint *constraint = makeNode(Constraint);

		constraint->contype = CONSTR_NOTNULL;
		constraint->location = -1;
		column->constraints = lappend(column->constraints, constraint);
	}
}

static void
rename_elements(List *elements, const ShardMap *map)
{
	foreach_ptr (Node, element, elements)
	{
		if (IsA(element, ColumnDef))
			rename_column((ColumnDef *) element, map);
		else if (IsA(element, Constraint))
			rename_constraint((Constraint *) element, map);
	}
}

/* ------------------------------------------------------------------------------------
 * ALTER TABLE
 */

typedef enum CommandName
{
	NAME_KEPT,
	NAME_RENAMED, /* of a constraint or index */
	NAME_NOWHERE  /* the sub-command does nothing to a shard */
} CommandName;

/* Sub-commands whose name is renamed or which are the shell's alone; others keep theirs.
 */
static const struct
{
	AlterTableType subtype;
	CommandName name;
} alter_commands[] = {
	{AT_DropConstraint, NAME_RENAMED}, {AT_ValidateConstraint, NAME_RENAMED},
	{AT_ClusterOn, NAME_RENAMED},	   {AT_AddIdentity, NAME_NOWHERE},
	{AT_SetIdentity, NAME_NOWHERE},	   {AT_DropIdentity, NAME_NOWHERE},
};

static bool
rename_alter_command(AlterTableCmd *command, const ShardMap *map)
{
	for (int i = 0; i < lengthof(alter_commands); i++)
	{
		if (alter_commands[i].subtype != command->subtype)
			continue;
		if (alter_commands[i].name == NAME_NOWHERE)
			return false;
		command->name = command->subtype == AT_ClusterOn
							? shard_rename(command->name, map)
							: rename_constraint_name(command->name, map);
	}
	if (command->subtype == AT_ColumnDefault && command->def != NULL &&
		shard_default_is_sequence(command->def))
	{
		command->def = NULL; /* a default it had is gone, too */
		return true;
	}
	if (command->def == NULL)
		return true;
	if (IsA(command->def, ColumnDef) && command->subtype == AT_AddColumn)
		rename_column((ColumnDef *) command->def, map);
	else if (IsA(command->def, Constraint))
		rename_constraint((Constraint *) command->def, map);
	else if (IsA(command->def, PartitionCmd))
		shard_rename_range_var(((PartitionCmd *) command->def)->name, map);
	else if (command->subtype == AT_AlterColumnType)
		rename_expression(((ColumnDef *) command->def)->raw_default, map);
	else if (IsA(command->def, ReplicaIdentityStmt))
	{
		ReplicaIdentityStmt *identity = (ReplicaIdentityStmt *) command->def;

		identity->name = shard_rename(identity->name, map);
	}
	return true;
}

static bool
rename_alter_table(Node *node, const ShardMap *map)
{
	AlterTableStmt *stmt = (AlterTableStmt *) node;
	List *commands = NIL;

	foreach_ptr (AlterTableCmd, command, stmt->cmds)
	{
		if (rename_alter_command(command, map))
			commands = lappend(commands, command);
	}
	stmt->cmds = commands;
	shard_rename_range_var(stmt->relation, map);
	return commands != NIL;
}

/* ------------------------------------------------------------------------------------
 * The other statements
 */

static bool
rename_create_table(Node *node, const ShardMap *map)
{
	CreateStmt *stmt = (CreateStmt *) node;

	shard_rename_range_var(stmt->relation, map);
	rename_elements(stmt->tableElts, map);
	return true;
}

static bool
rename_index(Node *node, const ShardMap *map)
{
	IndexStmt *stmt = (IndexStmt *) node;

	require_table_name(stmt->idxname != NULL);
	stmt->idxname = shard_rename(stmt->idxname, map);
	foreach_ptr (IndexElem, element, stmt->indexParams)
		rename_expression(element->expr, map);
	rename_expression(stmt->whereClause, map);
	shard_rename_range_var(stmt->relation, map);
	return true;
}

static bool
rename_create_policy(Node *node, const ShardMap *map)
{
	CreatePolicyStmt *stmt = (CreatePolicyStmt *) node;

	shard_rename_range_var(stmt->table, map);
	rename_expression(stmt->qual, map);
	rename_expression(stmt->with_check, map);
	return true;
}

static bool
rename_alter_policy(Node *node, const ShardMap *map)
{
	AlterPolicyStmt *stmt = (AlterPolicyStmt *) node;

	shard_rename_range_var(stmt->table, map);
	rename_expression(stmt->qual, map);
	rename_expression(stmt->with_check, map);
	return true;
}

static bool
rename_create_trigger(Node *node, const ShardMap *map)
{
	CreateTrigStmt *stmt = (CreateTrigStmt *) node;

	shard_rename_range_var(stmt->relation, map);
	if (stmt->constrrel != NULL)
		shard_rename_range_var(stmt->constrrel, map);
	return true;
}

static bool
rename_create_statistics(Node *node, const ShardMap *map)
{
	CreateStatsStmt *stmt = (CreateStatsStmt *) node;

	rename_name_list(stmt->defnames, map);
	rename_range_vars(stmt->relations, map);
	return true;
}

static bool
rename_alter_statistics(Node *node, const ShardMap *map)
{
	rename_name_list(((AlterStatsStmt *) node)->defnames, map);
	return true;
}

static bool
rename_grant(Node *node, const ShardMap *map)
{
	rename_range_vars(((GrantStmt *) node)->objects, map);
	return true;
}

static bool
rename_truncate(Node *node, const ShardMap *map)
{
	rename_range_vars(((TruncateStmt *) node)->relations, map);
	return true;
}

static bool
rename_reindex(Node *node, const ShardMap *map)
{
	shard_rename_range_var(((ReindexStmt *) node)->relation, map);
	return true;
}

static bool
rename_cluster(Node *node, const ShardMap *map)
{
	ClusterStmt *stmt = (ClusterStmt *) node;

	stmt->indexname = shard_rename(stmt->indexname, map);
	shard_rename_range_var(stmt->relation, map);
	return true;
}

static bool
rename_rename(Node *node, const ShardMap *map)
{
	RenameStmt *stmt = (RenameStmt *) node;

	switch (stmt->renameType)
	{
		case OBJECT_TABLE:
		case OBJECT_INDEX:
			stmt->newname = shard_rename(stmt->newname, map);
			break;
		case OBJECT_TABCONSTRAINT:
			stmt->subname = shard_rename(stmt->subname, map);
			stmt->newname = shard_rename(stmt->newname, map);
			break;
		case OBJECT_STATISTIC_EXT:
			rename_name_list((List *) stmt->object, map);
			stmt->newname = shard_rename(stmt->newname, map);
			return true;
		default: /* columns, policies and triggers keep their names */
			break;
	}
	shard_rename_range_var(stmt->relation, map);
	return true;
}

static bool
rename_set_schema(Node *node, const ShardMap *map)
{
	AlterObjectSchemaStmt *stmt = (AlterObjectSchemaStmt *) node;

	if (stmt->objectType == OBJECT_STATISTIC_EXT)
		rename_name_list((List *) stmt->object, map);
	else
		shard_rename_range_var(stmt->relation, map);
	return true;
}

static bool
rename_depends(Node *node, const ShardMap *map)
{
	shard_rename_range_var(((AlterObjectDependsStmt *) node)->relation, map);
	return true;
}

static bool
rename_owner(Node *node, const ShardMap *map)
{
	rename_name_list((List *) ((AlterOwnerStmt *) node)->object, map);
	return true;
}

/* schema.table.object: names of what is on the table, with the shard's name put in. */
static List *
rename_attached(List *names, const ShardMap *map)
{
	RangeVar *relation =
		makeRangeVarFromNameList(list_truncate(list_copy(names), list_length(names) - 1));

	shard_rename_range_var(relation, map);
	return list_make3(makeString(relation->schemaname), makeString(relation->relname),
					  llast(names));
}

static bool
rename_drop(Node *node, const ShardMap *map)
{
	DropStmt *stmt = (DropStmt *) node;
	ListCell *cell;

	foreach (cell, stmt->objects)
	{
		List *names = lfirst(cell);

		if (stmt->removeType == OBJECT_POLICY || stmt->removeType == OBJECT_TRIGGER ||
			stmt->removeType == OBJECT_RULE)
			lfirst(cell) = rename_attached(names, map);
		else
			rename_name_list(names, map);
	}
	return true;
}

static const struct
{
	NodeTag tag;
	bool (*rename)(Node *stmt, const ShardMap *map);
} renamers[] = {
	{T_AlterTableStmt, rename_alter_table},
	{T_CreateStmt, rename_create_table},
	{T_IndexStmt, rename_index},
	{T_CreatePolicyStmt, rename_create_policy},
	{T_AlterPolicyStmt, rename_alter_policy},
	{T_CreateTrigStmt, rename_create_trigger},
	{T_CreateStatsStmt, rename_create_statistics},
	{T_AlterStatsStmt, rename_alter_statistics},
	{T_GrantStmt, rename_grant},
	{T_TruncateStmt, rename_truncate},
	{T_ReindexStmt, rename_reindex},
	{T_ClusterStmt, rename_cluster},
	{T_RenameStmt, rename_rename},
	{T_AlterObjectSchemaStmt, rename_set_schema},
	{T_AlterObjectDependsStmt, rename_depends},
	{T_AlterOwnerStmt, rename_owner},
	{T_DropStmt, rename_drop},
};

bool
shard_rename_statement(Node *stmt, const ShardMap *map)
{
	for (int i = 0; i < lengthof(renamers); i++)
	{
		if (nodeTag(stmt) == renamers[i].tag)
			return renamers[i].rename(stmt, map);
	}
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("%s cannot be applied to a shard",
						   GetCommandTagName(CreateCommandTag(stmt)))));
	return false;
}
