/*
 * constraint.c: names and limits of constraints and indexes on distributed tables.
 *
 * Names follow PostgreSQL's own rules (<table>_<columns>_<label><n>). They are chosen
 * before the statement runs, so that all nodes and all shards agree on them.
 *
 * A unique key is checked within one shard, so it must contain the distribution column; a
 * foreign key is checked against one shard of the other table, so the other is colocated
 * and joined by the distribution column, or is a reference table.
 */
#include "pando/compat/compat.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_constraint.h"
#include "commands/defrem.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_target.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "pando/ddl/lock_list.h"
#include "pando/ddl/constraint.h"
#include "pando/ddl/local_key.h"
#include "pando/metadata/table.h"

/* ------------------------------------------------------------------------------------
 * Names
 */

static bool
name_is_taken(DdlJob *job, const char *name, Oid schema, bool is_relation,
			  bool is_constraint)
{
	foreach_ptr (char, taken, job->names)
	{
		if (strcmp(taken, name) == 0)
			return true;
	}
	if (is_relation && OidIsValid(get_relname_relid(name, schema)))
		return true;
	return is_constraint && ConstraintNameExists(name, schema);
}

/* A free name of the form <table>_<middle>_<label>, with a number after the label if
 * needed. */
static char *
name_choose(DdlJob *job, Oid relid, const char *middle, const char *label,
			bool is_relation, bool is_constraint)
{
	char *modlabel = pstrdup(label);

	for (int pass = 1;; pass++)
	{
		char *name = makeObjectName(get_rel_name(relid), middle, modlabel);

		if (!name_is_taken(job, name, get_rel_namespace(relid), is_relation,
						   is_constraint))
			return name;
		modlabel = psprintf("%s%d", label, pass);
	}
}

/* Names joined by underscores, cut where PostgreSQL stops to add more. */
static char *
name_join(List *names)
{
	StringInfoData joined;

	initStringInfo(&joined);
	foreach_ptr (char, name, names)
	{
		if (joined.len > 0)
			appendStringInfoChar(&joined, '_');
		appendStringInfoString(&joined, name);
		if (joined.len >= NAMEDATALEN)
			break;
	}
	return joined.data;
}

/* List of String to List of char *. */
static List *
name_strings(List *values)
{
	List *names = NIL;

	foreach_ptr (String, value, values)
		names = lappend(names, value->sval);
	return names;
}

/* Column names of an index as PostgreSQL gives them to its columns. */
static List *
name_index_columns(List *elements)
{
	List *names = NIL;

	foreach_ptr (IndexElem, element, elements)
	{
		const char *origin = element->name;
		char *name;

		if (origin == NULL)
			origin = FigureIndexColname(element->expr);
		name = pstrdup(origin != NULL ? origin : "expr");
		for (int i = 1;; i++)
		{
			bool taken = false;

			foreach_ptr (char, other, names)
				taken = taken || strcmp(other, name) == 0;
			if (!taken)
				break;
			name = psprintf("%s%d", origin != NULL ? origin : "expr", i);
		}
		names = lappend(names, name);
	}
	return names;
}

static bool
column_names_walker(Node *node, List **names)
{
	if (node == NULL)
		return false;
	if (IsA(node, ColumnRef))
	{
		Node *last = llast(((ColumnRef *) node)->fields);

		if (IsA(last, String))
		{
			foreach_ptr (char, name, *names)
			{
				if (strcmp(name, strVal(last)) == 0)
					return false;
			}
			*names = lappend(*names, strVal(last));
		}
		return false;
	}
	return raw_expression_tree_walker(node, column_names_walker, names);
}

/* The one column that a CHECK is about, NULL if there are more. */
static char *
name_check_column(Constraint *constraint)
{
	List *names = NIL;

	column_names_walker(constraint->raw_expr, &names);
	return list_length(names) == 1 ? linitial(names) : NULL;
}

static List *
exclusion_elements(Constraint *constraint)
{
	List *elements = NIL;

	foreach_ptr (List, pair, constraint->exclusions)
		elements = lappend(elements, linitial(pair));
	return elements;
}

static char *
constraint_choose_name(DdlJob *job, Oid relid, Constraint *constraint, char *column)
{
	switch (constraint->contype)
	{
		case CONSTR_PRIMARY:
			return name_choose(job, relid, NULL, "pkey", true, true);
		case CONSTR_UNIQUE:
			return name_choose(
				job, relid,
				name_join(column != NULL
							  ? list_make1(column)
							  : list_concat(name_strings(constraint->keys),
											name_strings(constraint->including))),
				"key", true, true);
		case CONSTR_EXCLUSION:
			return name_choose(
				job, relid, name_join(name_index_columns(exclusion_elements(constraint))),
				"excl", true, true);
		case CONSTR_CHECK:
			return name_choose(job, relid,
							   column != NULL ? column : name_check_column(constraint),
							   "check", false, true);
		case CONSTR_FOREIGN:
			return name_choose(job, relid,
							   name_join(column != NULL
											 ? list_make1(column)
											 : name_strings(constraint->fk_attrs)),
							   "fkey", false, true);
		default:
			return NULL;
	}
}

/* ------------------------------------------------------------------------------------
 * Keys
 */

/* Raises for a unique key that does not contain the distribution column. */
static void
key_refuse(Oid relid, const char *what, char *key)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		 errmsg("creating %s on non-distribution columns of \"%s\" is not supported",
				what, get_rel_name(relid)),
		 errdetail(
			 "Uniqueness is enforced within each shard, so the columns must include the "
			 "distribution column \"%s\"%s.",
			 key, strncmp(what, "exclusion", 9) == 0 ? " with an equality operator" : ""),
		 errhint("Add \"%s\" to the columns.", key)));
}

/* The column that all unique keys must contain; NULL: none must. */
static char *
table_key_name(Oid relid)
{
	const DistTable *table = dist_table_require(relid);

	return AttributeNumberIsValid(table->key) ? get_attname(relid, table->key, false)
											  : NULL;
}

/* Rows with one value may be in any shards of such a table. */
static void
key_refuse_append(Oid relid)
{
	if (dist_table_require(relid)->kind == TABLE_APPEND)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg(
				 "unique keys of table \"%s\", which is distributed by append, are not "
				 "supported",
				 get_rel_name(relid)),
			 errdetail("Uniqueness is enforced within each shard.")));
}

static bool
names_contain(List *names, const char *wanted)
{
	foreach_ptr (char, name, names)
	{
		if (strcmp(name, wanted) == 0)
			return true;
	}
	return false;
}

static bool
exclusion_contains(Constraint *constraint, const char *key)
{
	foreach_ptr (List, pair, constraint->exclusions)
	{
		IndexElem *element = linitial(pair);
		List *operator= lsecond(pair);

		if (element->name != NULL && strcmp(element->name, key) == 0 &&
			strcmp(strVal(llast(operator)), "=") == 0)
			return true;
	}
	return false;
}

/* Names of an index's columns. */
static List *
index_column_names(Oid relid, Oid indexid)
{
	Relation index = index_open(indexid, AccessShareLock);
	List *names = NIL;

	for (int i = 0; i < index->rd_index->indnkeyatts; i++)
	{
		if (index->rd_index->indkey.values[i] != InvalidAttrNumber)
			names = lappend(names,
							get_attname(relid, index->rd_index->indkey.values[i], false));
	}
	index_close(index, AccessShareLock);
	return names;
}

/* Of ADD CONSTRAINT ... USING INDEX; NIL: there is no such index, or it is none that
 * PostgreSQL takes. */
static List *
names_of_using_index(Oid relid, const char *name)
{
	Oid indexid = get_relname_relid(name, get_rel_namespace(relid));

	if (!OidIsValid(indexid) || get_rel_relkind(indexid) != RELKIND_INDEX)
		return NIL;
	return index_column_names(relid, indexid);
}

static void
constraint_check_key(Oid relid, Constraint *constraint, char *column)
{
	char *key = table_key_name(relid);
	List *names = name_strings(constraint->keys);

	key_refuse_append(relid);
	if (key == NULL)
		return;
	if (column != NULL)
		names = list_make1(column);
	if (constraint->indexname != NULL)
		names = names_of_using_index(relid, constraint->indexname);
	if (names == NIL && constraint->indexname != NULL)
		return; /* PostgreSQL will say so */
	if (constraint->contype == CONSTR_EXCLUSION)
	{
		if (!exclusion_contains(constraint, key))
			key_refuse(relid, "exclusion constraints", key);
	}
	else if (!names_contain(names, key))
		key_refuse(relid,
				   constraint->contype == CONSTR_PRIMARY ? "a primary key"
														 : "unique constraints",
				   key);
}

/* ------------------------------------------------------------------------------------
 * Foreign keys
 */

static void
foreign_key_refuse(Oid relid, Oid other, const char *detail)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		 errmsg("cannot create foreign key constraint from \"%s\" to \"%s\"",
				get_rel_name(relid), get_rel_name(other)),
		 errdetail("%s", detail),
		 errhint("Foreign keys go to tables that are colocated, along the distribution "
				 "column, and to reference tables.")));
}

/* Column names of a table's primary key. */
static List *
primary_key_names(Oid relid)
{
	Oid constraint;
	Bitmapset *columns = get_primary_key_attnos(relid, true, &constraint);
	List *names = NIL;
	int column = -1;
	Oid index;

	if (columns == NULL)
		return NIL;
	index = get_constraint_index(constraint);
	if (OidIsValid(index))
		return index_column_names(relid, index);
	while ((column = bms_next_member(columns, column)) >= 0)
		names =
			lappend(names, get_attname(relid, column + FirstLowInvalidHeapAttributeNumber,
									   false));
	return names;
}

/* Does the key of one table refer to the key of the other? */
static bool
foreign_key_joins_keys(Oid relid, Oid other, List *columns, List *other_columns)
{
	char *key = table_key_name(relid);
	char *other_key = table_key_name(other);
	ListCell *cell;
	ListCell *other_cell;

	forboth(cell, columns, other_cell, other_columns)
	{
		if (strcmp(lfirst(cell), key) == 0 && strcmp(lfirst(other_cell), other_key) == 0)
			return true;
	}
	return false;
}

static void
constraint_check_foreign_key(Oid relid, Constraint *constraint, char *column)
{
	const DistTable *table = dist_table_require(relid);
	Oid other_relid = RangeVarGetRelid(constraint->pktable, NoLock, true);
	const DistTable *other = OidIsValid(other_relid) ? dist_table(other_relid) : NULL;
	List *columns =
		column != NULL ? list_make1(column) : name_strings(constraint->fk_attrs);
	List *other_columns = constraint->pk_attrs != NIL ? name_strings(constraint->pk_attrs)
													  : primary_key_names(other_relid);

	if (!OidIsValid(other_relid))
		return; /* PostgreSQL says so */
	if (other == NULL || other->kind == TABLE_MANAGED_LOCAL)
		foreign_key_refuse(relid, other_relid,
						   "The referenced table is not distributed.");
	if (other->kind == TABLE_REFERENCE)
		return;
	if (table->kind == TABLE_REFERENCE)
		foreign_key_refuse(relid, other_relid,
						   "A reference table can only refer to reference tables.");
	if (!dist_table_colocated(table, other))
		foreign_key_refuse(relid, other_relid, "The tables are not colocated.");
	if (table->kind == TABLE_APPEND)
		foreign_key_refuse(relid, other_relid,
						   "A table that is distributed by append can only refer to "
						   "reference tables.");
	if (AttributeNumberIsValid(table->key) &&
		!foreign_key_joins_keys(relid, other_relid, columns, other_columns))
		foreign_key_refuse(relid, other_relid,
						   "The distribution columns do not refer to one another.");
}

/* ------------------------------------------------------------------------------------
 * Entry points
 */

void
constraint_prepare(DdlJob *job, Oid relid, Constraint *constraint, char *column)
{
	switch (constraint->contype)
	{
		case CONSTR_PRIMARY:
		case CONSTR_UNIQUE:
		case CONSTR_EXCLUSION:
			constraint_check_key(relid, constraint, column);
			break;
		case CONSTR_FOREIGN:
			/* Waits for who drops it. */
			lock_list_add(job, job_distributed_table(constraint->pktable),
						  ShareRowExclusiveLock);
			if (!dist_table_require(relid)->managed_local)
				constraint_check_foreign_key(relid, constraint, column);
			else if (!job->applying)
				local_key_check(relid, constraint);
			break;
		case CONSTR_CHECK:
			break;
		default:
			return;
	}
	if (constraint->conname != NULL)
		return;
	/* USING INDEX without a name keeps the index's */
	constraint->conname =
		job_fix_name(job, constraint->indexname != NULL
							  ? pstrdup(constraint->indexname)
							  : constraint_choose_name(job, relid, constraint, column));
}

void
constraint_prepare_index(DdlJob *job, Oid relid, IndexStmt *stmt)
{
	char *key = table_key_name(relid);

	if (stmt->unique)
		key_refuse_append(relid);
	if (stmt->unique && key != NULL)
	{
		bool found = false;

		foreach_ptr (IndexElem, element, stmt->indexParams)
			found = found || (element->name != NULL && strcmp(element->name, key) == 0);
		if (!found)
			key_refuse(relid, "unique indexes", key);
	}
	if (stmt->idxname == NULL)
		stmt->idxname = job_fix_name(
			job, name_choose(job, relid,
							 name_join(name_index_columns(list_concat_copy(
								 stmt->indexParams, stmt->indexIncludingParams))),
							 "idx", true, false));
}

void
constraint_prepare_statistics(DdlJob *job, Oid relid, CreateStatsStmt *stmt)
{
	List *columns = NIL;
	char *schema = get_namespace_name(get_rel_namespace(relid));
	char *name;
	int pass = 0;

	if (stmt->defnames != NIL)
		return;
	foreach_ptr (StatsElem, element, stmt->exprs)
		columns = lappend(columns, element->name != NULL ? element->name : "expr");
	do
	{
		name = makeObjectName(get_rel_name(relid), name_join(columns),
							  pass == 0 ? "stat" : psprintf("stat%d", pass));
		pass++;
	} while (OidIsValid(get_statistics_object_oid(
		list_make2(makeString(schema), makeString(name)), true)));
	stmt->defnames = list_make2(makeString(schema), makeString(job_fix_name(job, name)));
}
