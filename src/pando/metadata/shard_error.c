/*
 * shard_error.c: an error that comes from a shard names the logical table.
 *
 * PostgreSQL's constraint errors name table and constraint in fields, and again in the
 * message; foreign keys name the other table in message and detail. All of these end in
 * the id of a shard, which leads to its table, and whether the text before the id is what
 * name_shard() makes is certain. The rest of a text stays as it is: the values of rows
 * stand in details alone, in parentheses, before the name of a foreign key's table.
 * Foreign keys to partitions have names that PostgreSQL makes on each node; what they
 * are to tells which is which. What hinders DROP, or goes with it, is told for the
 * tables; their shards are left out.
 *
 * PostgreSQL reads catalogs itself to describe such a row just before it raises the
 * error, so they may be read where it is caught, before the transaction is aborted.
 */
#include "pando/compat/compat.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "lib/stringinfo.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "pando/base/name.h"
#include "pando/metadata/shard_error.h"
#include "pando/metadata/shard_relation.h"
#include "pando/metadata/table.h"

/* A name of this node's shard, and what it stands for. */
typedef struct ShardName
{
	char *shard;
	char *logical;
} ShardName;

bool
shard_error_possible(int sqlstate)
{
	return ERRCODE_TO_CATEGORY(sqlstate) == ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION ||
		   sqlstate == ERRCODE_INSUFFICIENT_PRIVILEGE ||
		   sqlstate == ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST ||
		   sqlstate == ERRCODE_LOCK_NOT_AVAILABLE || sqlstate == ERRCODE_OBJECT_IN_USE ||
		   sqlstate == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
}

/* The number that follows the underscore, and where it ends; 0: there is none. */
static int64
id_after(const char *underscore, const char **end)
{
	char *stop;
	int64 id;

	if (underscore[1] < '1' || underscore[1] > '9')
		return 0;
	errno = 0;
	id = strtoll(underscore + 1, &stop, 10);
	*end = stop;
	return errno == 0 ? id : 0;
}

/* The table's name as a shard's; false: there is no such shard. */
static bool
table_of_shard(int64 id, ShardName *name, const DistTable **table)
{
	if (shard_by_id(id, table) == NULL || (*table)->managed_local)
		return false;
	name->logical = get_rel_name((*table)->relid);
	if (name->logical == NULL)
		return false;
	name->shard = name_shard(name->logical, id);
	return true;
}

/* Which of the names, found by a scan of what belongs to the relation, is the shard's? */
static char *
scan_names(Oid catalog, Oid index, AttrNumber column, Oid relid, const char *shard,
		   int64 id)
{
	Relation rel = table_open(catalog, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;
	char *found = NULL;

	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, index, true, NULL, 1, &key);
	while (found == NULL && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		char *name =
			catalog == ConstraintRelationId
				? pstrdup(NameStr(((Form_pg_constraint) GETSTRUCT(tuple))->conname))
				: get_rel_name(((Form_pg_index) GETSTRUCT(tuple))->indexrelid);

		if (name != NULL && strcmp(name_shard(name, id), shard) == 0)
			found = name;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

/* The relation's constraint or index whose name on the shard that is. */
static char *
constraint_of(Oid relid, const char *shard, int64 id)
{
	char *name = scan_names(ConstraintRelationId, ConstraintRelidTypidNameIndexId,
							Anum_pg_constraint_conrelid, relid, shard, id);

	return name != NULL ? name
						: scan_names(IndexRelationId, IndexIndrelidIndexId,
									 Anum_pg_index_indrelid, relid, shard, id);
}

/* What comes before the id, unless that is a part of a long name. */
static char *
without_id(const char *shard, int64 id)
{
	char *name = pnstrdup(shard, strrchr(shard, '_') - shard);

	return strcmp(name_shard(name, id), shard) == 0 ? name : NULL;
}

/* Is that the schema of the relation? */
static bool
in_schema(Oid relid, const char *schema)
{
	char *name = get_namespace_name(get_rel_namespace(relid));

	return schema != NULL && name != NULL && strcmp(schema, name) == 0;
}

/* The table that the error's fields name, as a shard's; false: it is not one. */
static bool
table_of_error(const ErrorData *error, ShardName *name, const DistTable **table)
{
	int64 id = error->table_name != NULL ? shard_id_of_name(error->table_name) : 0;

	return id != 0 && table_of_shard(id, name, table) &&
		   strcmp(name->shard, error->table_name) == 0 &&
		   in_schema((*table)->relid, error->schema_name);
}

/*
 * The constraint that the error's fields name. The coordinator's own tables have
 * constraints that refer to shards and have their ids in the name, too.
 */
static bool
constraint_of_error(const ErrorData *error, const DistTable *table, ShardName *name)
{
	int64 id =
		error->constraint_name != NULL ? shard_id_of_name(error->constraint_name) : 0;
	Oid relid;

	if (id == 0 || error->table_name == NULL || error->schema_name == NULL ||
		shard_by_id(id, NULL) == NULL)
		return false;
	relid = table != NULL
				? table->relid
				: get_relname_relid(error->table_name,
									get_namespace_oid(error->schema_name, true));
	name->shard = error->constraint_name;
	name->logical = constraint_of(relid, name->shard, id);
	/* A command under way may not have made the table's yet. */
	if (name->logical == NULL && table != NULL)
		name->logical = without_id(name->shard, id);
	return name->logical != NULL;
}

/* The relation's constraint below that one which refers to the table, or InvalidOid. */
static Oid
constraint_below(Oid parent, Oid referenced)
{
	Relation rel = table_open(ConstraintRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;
	Oid found = InvalidOid;

	ScanKeyInit(&key, Anum_pg_constraint_conparentid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(parent));
	scan = systable_beginscan(rel, ConstraintParentIndexId, true, NULL, 1, &key);
	while (!OidIsValid(found) && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);

		if (form->confrelid == referenced)
			found = form->oid;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

/*
 * The table's constraint for a foreign key of its shard. Those to partitions of the
 * referenced table are below the one to that table, and PostgreSQL names them by itself.
 */
static Oid
foreign_key_of(const DistTable *table, Oid constraint)
{
	HeapTuple tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	Form_pg_constraint form;
	const DistTable *referenced;
	char *name;
	int64 id;
	Oid parent;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	form = (Form_pg_constraint) GETSTRUCT(tuple);
	name = pstrdup(NameStr(form->conname));
	parent = form->conparentid;
	id = shard_id_of_name(get_rel_name(form->confrelid));
	ReleaseSysCache(tuple);
	if (OidIsValid(parent))
	{
		parent = foreign_key_of(table, parent);
		return OidIsValid(parent) && id != 0 && shard_by_id(id, &referenced) != NULL
				   ? constraint_below(parent, referenced->relid)
				   : InvalidOid;
	}
	name = constraint_of(table->relid, name, shard_id_of_name(name));
	return name != NULL ? get_relation_constraint_oid(table->relid, name, true)
						: InvalidOid;
}

/* The same, of an error. */
static bool
foreign_key_of_error(const ErrorData *error, const DistTable *table, ShardName *name)
{
	Oid shard =
		get_relname_relid(error->table_name, get_namespace_oid(error->schema_name, true));
	Oid constraint = get_relation_constraint_oid(shard, error->constraint_name, true);

	if (OidIsValid(constraint))
		constraint = foreign_key_of(table, constraint);
	name->shard = error->constraint_name;
	name->logical = OidIsValid(constraint) ? get_constraint_name(constraint) : NULL;
	return name->logical != NULL;
}

static bool
goes_on_before(const char *text, const char *at)
{
	return at > text && (at[-1] == '_' || isalnum((unsigned char) at[-1]));
}

/* The text with the logical name where it has the shard's. */
static char *
replace_name(const char *text, const ShardName *name)
{
	int length = strlen(name->shard);

	for (const char *at = strstr(text, name->shard); at != NULL;
		 at = strstr(at + 1, name->shard))
	{
		const char *end = at + length;

		if (!goes_on_before(text, at) && *end != '_' && !isalnum((unsigned char) *end))
			return psprintf("%.*s%s%s", (int) (at - text), text, name->logical, end);
	}
	return pstrdup(text);
}

/* Does the name stand in the text before its end, from its own beginning on? */
static bool
name_ends(const char *name, const char *text, const char *end)
{
	const char *start = end - strlen(name);

	if (start < text || memcmp(start, name, strlen(name)) != 0)
		return false;
	return !goes_on_before(text, start);
}

/*
 * The text with the logical names from there on, or the text itself. *first is set to
 * the first shard's name if that has none yet.
 */
static char *
replace_names(char *text, const char *from, const ShardName *constraint, char **first)
{
	StringInfoData out;
	char *done = text;

	initStringInfo(&out);
	for (const char *at = strchr(from, '_'); at != NULL; at = strchr(at + 1, '_'))
	{
		const char *end;
		int64 id = id_after(at, &end);
		const DistTable *table;
		ShardName name;

		if (id == 0)
			continue;
		if (constraint != NULL && name_ends(constraint->shard, done, end))
			name = *constraint;
		else if (!table_of_shard(id, &name, &table) || !name_ends(name.shard, done, end))
			continue;
		else if (*first == NULL)
			*first = name.shard;
		appendBinaryStringInfo(&out, done, end - strlen(name.shard) - done);
		appendStringInfoString(&out, name.logical);
		done = text + (end - text);
	}
	if (done == text)
		return text;
	appendStringInfoString(&out, done);
	return out.data;
}

/* Does the name of a shard, or of an index or a constraint of one, stand before the end?
 */
static bool
is_of_shard(const char *line, const char *end, int64 id)
{
	const DistTable *table;
	const char *start = end;
	ShardName name;

	if (!table_of_shard(id, &name, &table))
		return false;
	if (name_ends(name.shard, line, end))
		return true;
	while (start > line &&
		   (*end == '"' ? start[-1] != '"' : strchr(" .", start[-1]) == NULL))
		start--;
	return constraint_of(table->relid, pnstrdup(start, end - start), id) != NULL;
}

static bool
is_about_shard(const char *line)
{
	for (const char *at = strchr(line, '_'); at != NULL; at = strchr(at + 1, '_'))
	{
		const char *end;
		int64 id = id_after(at, &end);

		if (id != 0 && is_of_shard(line, end, id))
			return true;
	}
	return false;
}

/* The lines of the text that are not about shards; the text itself if there is none. */
static char *
without_shards(char *text)
{
	StringInfoData out;
	char *rest = pstrdup(text);
	char *line;

	initStringInfo(&out);
	while ((line = strsep(&rest, "\n")) != NULL)
	{
		if (!is_about_shard(line))
			appendStringInfo(&out, "%s%s", out.len > 0 ? "\n" : "", line);
	}
	return out.len > 0 ? out.data : text;
}

/*
 * Do message and detail name relations in PostgreSQL's own words? Errors of constraints
 * have the table in a field; policies, locks of rows that are not waited for, changes of
 * a table that is in use and what others depend on do not.
 */
static bool
names_relations(const ErrorData *error)
{
	/* The second: a deferrable constraint that ON CONFLICT can't ask. */
	if (ERRCODE_TO_CATEGORY(error->sqlerrcode) ==
			ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION ||
		error->sqlerrcode == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE)
		return error->table_name != NULL;
	if (error->sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE)
		return error->funcname != NULL &&
			   strcmp(error->funcname, "ExecWithCheckOptions") == 0;
	if (error->sqlerrcode == ERRCODE_OBJECT_IN_USE)
		return error->funcname != NULL &&
			   strcmp(error->funcname, "CheckTableNotInUse") == 0;
	if (error->sqlerrcode == ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST)
		return error->funcname != NULL &&
			   strcmp(error->funcname, "reportDependentObjects") == 0;
	return error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE && error->filename != NULL &&
		   strncmp(error->filename, "heapam", strlen("heapam")) == 0;
}

/* Of so many objects PostgreSQL tells the client (dependency.c). */
#define TOLD_OBJECTS 100

/* The first lines, and how many more there are. */
static char *
first_lines(char *text, int nlines, const char *domain)
{
	char *end = text;

	if (nlines <= TOLD_OBJECTS)
		return pstrdup(text);
	for (int i = 0; i < TOLD_OBJECTS; i++)
		end = strchr(end, '\n') + 1;
	nlines -= TOLD_OBJECTS;
	return psprintf(
		"%.*s%s", (int) (end - text), text,
		psprintf(dngettext(domain, "and %d other object (see server log for list)",
						   "and %d other objects (see server log for list)", nlines),
				 nlines));
}

/* DROP ... CASCADE tells what goes with the object: not the shards that do. */
static void
tell_cascade(ErrorData *error)
{
	char *told;
	int nlines = 1;

	if (error->detail == NULL)
	{
		if (is_about_shard(error->message))
			error->output_to_client = false;
		return;
	}
	if (error->detail_log == NULL)
		return;
	told = without_shards(error->detail_log);
	if (is_about_shard(told))
	{
		error->output_to_client = false;
		return;
	}
	for (const char *at = told; (at = strchr(at, '\n')) != NULL; at++)
		nlines++;
	error->message =
		nlines == 1
			? told
			: psprintf(dngettext(error->domain, "drop cascades to %d other object",
								 "drop cascades to %d other objects", nlines),
					   nlines);
	error->detail = nlines == 1 ? NULL : first_lines(told, nlines, error->domain);
	error->detail_log = nlines == 1 ? NULL : told;
}

static bool
is_cascade(const ErrorData *error)
{
	return error->elevel == NOTICE && error->funcname != NULL &&
		   strcmp(error->funcname, "reportDependentObjects") == 0;
}

static void
note_shard(ErrorData *error, const char *shard)
{
	char *line = psprintf("shard \"%s\"", shard);

	error->context =
		error->context != NULL ? psprintf("%s\n%s", error->context, line) : line;
}

void
shard_error_tell(ErrorData *error, MemoryContext context)
{
	MemoryContext old;
	const DistTable *table = NULL;
	ShardName relation;
	ShardName constraint;
	bool has_constraint;
	char *shard = NULL;

	if (is_cascade(error) && IsTransactionState() && metadata_active())
	{
		old = MemoryContextSwitchTo(context);
		tell_cascade(error);
		MemoryContextSwitchTo(old);
		return;
	}
	if (error->elevel != ERROR || error->message == NULL ||
		!shard_error_possible(error->sqlerrcode) || !names_relations(error) ||
		!IsTransactionState() || !metadata_active())
		return;
	old = MemoryContextSwitchTo(context);
	if (error->detail != NULL &&
		error->sqlerrcode == ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST)
		error->detail = without_shards(error->detail);
	if (!table_of_error(error, &relation, &table))
		table = NULL;
	has_constraint = constraint_of_error(error, table, &constraint);
	if (!has_constraint && table != NULL && error->constraint_name != NULL &&
		foreign_key_of_error(error, table, &constraint))
	{
		error->message = replace_name(error->message, &constraint);
		error->constraint_name = constraint.logical;
	}
	error->message = replace_names(error->message, error->message,
								   has_constraint ? &constraint : NULL, &shard);
	if (error->detail != NULL && error->sqlerrcode == ERRCODE_FOREIGN_KEY_VIOLATION)
	{
		const char *values_end = strrchr(error->detail, ')');

		error->detail = replace_names(
			error->detail, values_end != NULL ? values_end : error->detail, NULL, &shard);
	}
	if (table != NULL)
	{
		shard = relation.shard;
		error->table_name = relation.logical;
	}
	if (has_constraint)
		error->constraint_name = constraint.logical;
	if (shard != NULL)
		note_shard(error, shard);
	MemoryContextSwitchTo(old);
}
