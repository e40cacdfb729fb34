/*
 * table_check.c: may this table be distributed, and in this way?
 *
 * Foreign keys are enforced by PostgreSQL between shards of one shard group, and between
 * a shard and its node's copy of a reference table. So the columns of a foreign key
 * between distributed tables include the distribution columns, at the same place, and no
 * action of the key may change a distribution column behind our back.
 */
#include "pando/compat/compat.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/catalog.h"
#include "catalog/indexing.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "rewrite/prs2lock.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/relcache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/base/type.h"
#include "pando/cluster/table_check.h"
#include "pando/ddl/row_expressions.h"

/* ------------------------------------------------------------------------------------
 * The relation
 */

void
table_check_owner(Oid relid)
{
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("relation with OID %u does not exist", relid)));
	if (!compat_owns_relation(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relid)),
					   get_rel_name(relid));
}

static void
refuse(Relation rel, int code, const char *what, const char *hint)
{
	ereport(ERROR, (errcode(code),
					errmsg("cannot distribute %s", name_qualified(RelationGetRelid(rel))),
					errdetail("%s", what), hint != NULL ? errhint("%s", hint) : 0));
}

/* Is it a shard of a distributed table? */
static bool
is_shard(Relation rel)
{
	const char *underscore = strrchr(RelationGetRelationName(rel), '_');
	const DistTable *table = NULL;
	char *end;
	int64 id;

	if (underscore == NULL || underscore[1] < '1' || underscore[1] > '9')
		return false;
	id = strtoll(underscore + 1, &end, 10);
	return *end == '\0' && shard_by_id(id, &table) != NULL &&
		   strcmp(name_shard_qualified(table->relid, id),
				  name_qualified(RelationGetRelid(rel))) == 0;
}

static void
check_relkind(Relation rel, bool may_be_foreign)
{
	bool foreign = rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE;

	if (rel->rd_rel->relkind == RELKIND_RELATION ||
		rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE || (foreign && may_be_foreign))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("\"%s\" is not an ordinary table", RelationGetRelationName(rel)),
			 errdetail_relkind_not_supported(rel->rd_rel->relkind),
			 foreign ? errhint("citus_add_local_table_to_metadata() makes it usable on "
							   "all nodes.")
					 : 0));
}

static void
check_kind(Relation rel, bool may_be_foreign)
{
	Oid namespace = RelationGetNamespace(rel);
	char *schema = get_namespace_name(namespace);

	check_relkind(rel, may_be_foreign);
	if (rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		refuse(rel, ERRCODE_FEATURE_NOT_SUPPORTED, "It is a temporary table.", NULL);
	if (IsCatalogRelation(rel) || namespace == PG_CATALOG_NAMESPACE ||
		strcmp(schema, "information_schema") == 0 || strcmp(schema, "citus") == 0 ||
		strcmp(schema, "pando") == 0)
		refuse(rel, ERRCODE_WRONG_OBJECT_TYPE, "It is a catalog.", NULL);
	if (is_shard(rel))
		refuse(rel, ERRCODE_WRONG_OBJECT_TYPE, "It is a shard of a distributed table.",
			   NULL);
	if ((has_superclass(RelationGetRelid(rel)) && !rel->rd_rel->relispartition) ||
		(has_subclass(RelationGetRelid(rel)) &&
		 rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE))
		refuse(rel, ERRCODE_FEATURE_NOT_SUPPORTED, "It takes part in table inheritance.",
			   NULL);
}

static void
check_no_partition(Relation rel)
{
	if (rel->rd_rel->relispartition)
		refuse(rel, ERRCODE_FEATURE_NOT_SUPPORTED, "It is a partition.",
			   "Distribute the table that it is a partition of; its partitions follow.");
}

static void
check_policies(Relation rel)
{
	if (rel->rd_rel->relrowsecurity &&
		check_enable_rls(RelationGetRelid(rel), InvalidOid, true) == RLS_ENABLED)
		refuse(rel, ERRCODE_FEATURE_NOT_SUPPORTED,
			   "Row security hides some of its rows from you.",
			   "Run ALTER TABLE ... NO FORCE ROW LEVEL SECURITY first.");
}

static void
check_not_in_metadata(Relation rel, bool may_be_foreign)
{
	const DistTable *table;

	check_kind(rel, may_be_foreign);
	table = dist_table(RelationGetRelid(rel));
	if (table != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("table %s is already %s", name_qualified(RelationGetRelid(rel)),
						table->kind == TABLE_REFERENCE ? "a reference table"
						: table->managed_local		   ? "a managed local table"
													   : "distributed"),
				 errhint("Run undistribute_table() first to distribute it in another "
						 "way.")));
}

void
table_check_ordinary(Relation rel)
{
	check_not_in_metadata(rel, true);
}

void
table_check_relation(Relation rel)
{
	check_no_partition(rel);
	table_check_partition(rel);
}

void
table_check_partition(Relation rel)
{
	check_not_in_metadata(rel, false);
	check_policies(rel);
	row_expressions_check(rel);
}

/* ------------------------------------------------------------------------------------
 * Distribution column
 */

void
table_check_key(Relation rel, const char *column, TableSpec *spec)
{
	AttrNumber key = get_attnum(RelationGetRelid(rel), column);
	Form_pg_attribute attribute;

	if (key == InvalidAttrNumber)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
						errmsg("column \"%s\" of relation \"%s\" does not exist", column,
							   RelationGetRelationName(rel))));
	if (key < 0)
		refuse(rel, ERRCODE_FEATURE_NOT_SUPPORTED,
			   psprintf("Its column \"%s\" is a system column.", column), NULL);
	attribute = TupleDescAttr(RelationGetDescr(rel), key - 1);
	if (attribute->attgenerated != '\0')
		refuse(rel, ERRCODE_FEATURE_NOT_SUPPORTED,
			   psprintf("Its column \"%s\" is a generated column.", column),
			   "Choose another distribution column.");
	if (!OidIsValid(
			lookup_type_cache(attribute->atttypid, TYPECACHE_HASH_PROC)->hash_proc))
		ereport(
			ERROR,
			(errcode(ERRCODE_UNDEFINED_FUNCTION),
			 errmsg("type %s of column \"%s\" has no hash function",
					format_type_be(attribute->atttypid), column),
			 errdetail("Rows are distributed by the hash of the distribution column."),
			 errhint("Choose another distribution column, or create a default hash "
					 "operator class for the type.")));
	if (!type_hash_is_portable(attribute->atttypid))
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("type %s of column \"%s\" cannot be distributed by",
					format_type_be(attribute->atttypid), column),
			 errdetail("Its hash is made from object identifiers, which differ between "
					   "nodes."),
			 errhint("Choose another distribution column.")));
	spec->key = key;
	spec->key_name = pstrdup(NameStr(attribute->attname));
	spec->key_type = attribute->atttypid;
	spec->key_collation = attribute->attcollation;
}

/* ------------------------------------------------------------------------------------
 * Unique and exclusion constraints
 */

/* Is the column compared for equality in the exclusion constraint of that index? */
static bool
exclusion_compares_equal(Relation index, int position)
{
	Oid *operators;
	Oid *procedures;
	uint16 *strategies;
	Oid type = TupleDescAttr(RelationGetDescr(index), position)->atttypid;

	RelationGetExclusionInfo(index, &operators, &procedures, &strategies);
	return op_hashjoinable(operators[position], type) ||
		   op_mergejoinable(operators[position], type);
}

static bool
index_holds_within_shard(Relation index, AttrNumber key)
{
	Form_pg_index form = index->rd_index;

	for (int i = 0; i < form->indnkeyatts; i++)
	{
		if (form->indkey.values[i] == key &&
			(!form->indisexclusion || exclusion_compares_equal(index, i)))
			return true;
	}
	return false;
}

void
table_check_unique(Relation rel, const TableSpec *spec)
{
	ListCell *cell;

	if (!AttributeNumberIsValid(spec->key))
		return;
	foreach (cell, RelationGetIndexList(rel))
	{
		Relation index = index_open(lfirst_oid(cell), AccessShareLock);

		if (spec->kind == TABLE_APPEND &&
			(index->rd_index->indisunique || index->rd_index->indisexclusion))
			refuse(rel, ERRCODE_FEATURE_NOT_SUPPORTED,
				   psprintf("Uniqueness, which its index \"%s\" asks for, is kept within "
							"each shard, and rows of a table that is distributed by "
							"append may be in any.",
							RelationGetRelationName(index)),
				   NULL);
		if ((index->rd_index->indisunique || index->rd_index->indisexclusion) &&
			!index_holds_within_shard(index, spec->key))
			ereport(
				ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot distribute %s by \"%s\": %s \"%s\" does not include it",
						name_qualified(RelationGetRelid(rel)), spec->key_name,
						index->rd_index->indisprimary	  ? "primary key"
						: index->rd_index->indisexclusion ? "exclusion constraint"
														  : "unique index",
						RelationGetRelationName(index)),
				 errdetail("Uniqueness is kept within each shard, so the distribution "
						   "column must be one of the columns%s.",
						   index->rd_index->indisexclusion ? ", compared with =" : ""),
				 errhint("Add the distribution column to the constraint, or make the "
						 "table a reference table.")));
		index_close(index, AccessShareLock);
	}
}

/* ------------------------------------------------------------------------------------
 * Foreign keys
 */

/* Are the table's rows elsewhere than in the relation itself? */
static bool
is_in_shards(Oid relid)
{
	const DistTable *table = dist_table(relid);

	return table != NULL && table->kind != TABLE_MANAGED_LOCAL;
}

static char *
quote_attribute(Oid relid, AttrNumber column)
{
	return pstrdup(quote_identifier(get_attname(relid, column, false)));
}

typedef struct ForeignKey
{
	char *name;
	Oid from;
	Oid to;
	int ncolumns;
	AttrNumber from_columns[INDEX_MAX_KEYS];
	AttrNumber to_columns[INDEX_MAX_KEYS];
} ForeignKey;

static ForeignKey *
foreign_key_from_tuple(HeapTuple tuple)
{
	Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);
	ForeignKey *fk = palloc0(sizeof(ForeignKey));

	fk->name = pstrdup(NameStr(form->conname));
	fk->from = form->conrelid;
	fk->to = form->confrelid;
	DeconstructFkConstraintRow(tuple, &fk->ncolumns, fk->from_columns, fk->to_columns,
							   NULL, NULL, NULL, NULL, NULL);
	return fk;
}

/* Foreign keys from (outgoing) or to the table. */
static List *
foreign_keys_of(Oid relid, bool outgoing)
{
	Relation catalog = table_open(ConstraintRelationId, AccessShareLock);
	List *keys = NIL;
	ScanKeyData scan_key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&scan_key,
				outgoing ? Anum_pg_constraint_conrelid : Anum_pg_constraint_confrelid,
				BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	/* There is no index on confrelid. */
	scan = systable_beginscan(catalog, ConstraintRelidTypidNameIndexId, outgoing, NULL, 1,
							  &scan_key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);

		/* Those of partitions that follow their parents' are PostgreSQL's business. */
		if (form->contype == CONSTRAINT_FOREIGN && !OidIsValid(form->conparentid))
			keys = lappend(keys, foreign_key_from_tuple(tuple));
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return keys;
}

List *
table_foreign_key_neighbours(Oid relid)
{
	List *neighbours = NIL;

	foreach_ptr (ForeignKey, fk, foreign_keys_of(relid, true))
	{
		if (fk->to != relid)
			neighbours = list_append_unique_oid(neighbours, fk->to);
	}
	foreach_ptr (ForeignKey, fk, foreign_keys_of(relid, false))
	{
		if (fk->from != relid)
			neighbours = list_append_unique_oid(neighbours, fk->from);
	}
	return neighbours;
}

static void
refuse_foreign_key(const ForeignKey *fk, const char *detail, const char *hint)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("foreign key \"%s\" from %s to %s cannot be kept", fk->name,
						   name_qualified(fk->from), name_qualified(fk->to)),
					errdetail("%s", detail), hint != NULL ? errhint("%s", hint) : 0));
}

/* Does the key pair up these columns? */
static bool
pairs_columns(const ForeignKey *fk, AttrNumber from, AttrNumber to)
{
	for (int i = 0; i < fk->ncolumns; i++)
	{
		if (fk->from_columns[i] == from && fk->to_columns[i] == to)
			return true;
	}
	return false;
}

static void
check_to_sharded(const ForeignKey *fk, const TableSpec *spec, bool together,
				 int32 to_colocation, AttrNumber to_key)
{
	if (spec->kind == TABLE_REFERENCE)
		refuse_foreign_key(fk, "A reference table cannot reference a distributed table.",
						   NULL);
	if (!together && (spec->new_colocation || to_colocation != spec->colocation))
		refuse_foreign_key(
			fk, "The two tables are not colocated.",
			"Distribute both by columns of the same type, with colocate_with "
			"naming the other table; or make the referenced one a reference "
			"table.");
	if (AttributeNumberIsValid(spec->key) && !pairs_columns(fk, spec->key, to_key))
		refuse_foreign_key(fk,
						   "It does not pair the distribution columns of the two tables.",
						   "Add the distribution columns to the foreign key, or make the "
						   "referenced table a reference table.");
}

static void
check_outgoing(const ForeignKey *fk, const TableSpec *spec, List *together)
{
	const DistTable *to = dist_table(fk->to);

	if (fk->to == fk->from)
	{
		if (spec->kind == TABLE_APPEND)
			refuse_foreign_key(fk,
							   "A table that is distributed by append can only "
							   "reference reference tables.",
							   NULL);
		if (AttributeNumberIsValid(spec->key))
			check_to_sharded(fk, spec, true, spec->colocation, spec->key);
	}
	else if (to == NULL || to->kind == TABLE_MANAGED_LOCAL)
	{
		if (!list_member_oid(together, fk->to))
			refuse_foreign_key(
				fk, psprintf("%s is a local table.", name_qualified(fk->to)),
				psprintf(
					"Run create_reference_table('%s') first, or distribute it first.",
					name_qualified(fk->to)));
	}
	else if (dist_table_is_sharded(to))
		check_to_sharded(fk, spec, list_member_oid(together, fk->to), to->colocation,
						 to->key);
}

/* Tables that reference it: the ones to be distributed next, usually. */
static void
check_incoming(const ForeignKey *fk, const TableSpec *spec, List *together)
{
	const DistTable *from = dist_table(fk->from);

	if (fk->from == fk->to || list_member_oid(together, fk->from))
		return;
	if (from != NULL && from->managed_local && spec->kind == TABLE_REFERENCE)
		return;
	if (from == NULL || from->managed_local)
		ereport(NOTICE,
				(errmsg("foreign key \"%s\" of local table %s does not see changes of %s "
						"until that table is distributed, too",
						fk->name, name_qualified(fk->from), name_qualified(fk->to))));
	else if (spec->kind != TABLE_REFERENCE)
		refuse_foreign_key(fk, "The referencing table is not colocated.", NULL);
}

void
table_check_foreign_keys(Relation rel, const TableSpec *spec, List *together)
{
	foreach_ptr (ForeignKey, fk, foreign_keys_of(RelationGetRelid(rel), true))
	{
		check_outgoing(fk, spec, together);
	}
	foreach_ptr (ForeignKey, fk, foreign_keys_of(RelationGetRelid(rel), false))
	{
		check_incoming(fk, spec, together);
	}
}

/* Raises if a row of the referencing table has no counterpart; both are plain tables now.
 */
static void
validate_foreign_key(const ForeignKey *fk)
{
	StringInfoData join, filter;

	initStringInfo(&join);
	initStringInfo(&filter);
	for (int i = 0; i < fk->ncolumns; i++)
	{
		char *from = quote_attribute(fk->from, fk->from_columns[i]);
		char *to = quote_attribute(fk->to, fk->to_columns[i]);

		appendStringInfo(&join, "%sf.%s = t.%s", i > 0 ? " AND " : "", from, to);
		appendStringInfo(&filter, " AND f.%s IS NOT NULL", from);
	}
	if (sql_value_as_is(psprintf(
			"SELECT 1 FROM ONLY %s f LEFT JOIN ONLY %s t ON %s WHERE t.%s IS NULL%s "
			"LIMIT 1",
			name_qualified(fk->from), name_qualified(fk->to), join.data,
			quote_attribute(fk->to, fk->to_columns[0]), filter.data)) != NULL)
		ereport(ERROR, (errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
						errmsg("rows of local table %s violate foreign key \"%s\"",
							   name_qualified(fk->from), fk->name),
						errdetail("Rows of %s changed while it was distributed.",
								  name_qualified(fk->to)),
						errhint("Delete those rows, or drop the foreign key.")));
}

void
table_validate_local_references(Oid relid)
{
	foreach_ptr (ForeignKey, fk, foreign_keys_of(relid, false))
	{
		if (fk->from != relid && !is_in_shards(fk->from))
			validate_foreign_key(fk);
	}
}
