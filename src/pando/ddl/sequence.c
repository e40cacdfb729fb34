/*
 * sequence.c: sequences whose values are unique over the cluster (see sequence.h).
 */
#include "pando/compat/compat.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_sequence.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "parser/parse_type.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/ddl/sequence.h"
#include "pando/ddl/utility.h"
#include "pando/metadata/node.h"
#include "pando/metadata/sequence_value.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(sequence_adjust);

/* Is there room for a range per node, in the sequence and in the columns that it fills?
 */
static bool
sequence_is_wide(const FormData_pg_sequence *form)
{
	return form->seqtypid == INT8OID && form->seqincrement > 0 && !form->seqcycle &&
		   form->seqmax == PG_INT64_MAX &&
		   sql_value("SELECT 1 FROM pg_depend d JOIN pg_attrdef ad ON ad.oid = d.objid "
					 "JOIN pg_attribute a ON a.attrelid = ad.adrelid AND a.attnum = "
					 "ad.adnum WHERE d.classid = 'pg_attrdef'::regclass AND d.refclassid "
					 "= 'pg_class'::regclass AND d.refobjid = %u AND a.atttypid IN "
					 "('int4'::regtype, 'int2'::regtype) LIMIT 1",
					 form->seqrelid) == NULL;
}

static void
sequence_fit_range(Oid seqid, const FormData_pg_sequence *form, int32 group)
{
	int64 start = SEQUENCE_RANGE_FIRST(group);

	if (form->seqstart > 0 && form->seqstart < SEQUENCE_RANGE_LAST(0))
		start += form->seqstart - 1;
	utility_apply_sql(psprintf("ALTER SEQUENCE %s MINVALUE " INT64_FORMAT
							   " MAXVALUE " INT64_FORMAT " START " INT64_FORMAT
							   " RESTART",
							   name_qualified(seqid), SEQUENCE_RANGE_FIRST(group),
							   SEQUENCE_RANGE_LAST(group), start));
}

/* The group whose range the sequence has, 0 if it is none's: a server that was a replica
 * of another node has that one's. */
static int32
sequence_range_group(const FormData_pg_sequence *form)
{
	int32 group = (int32) (form->seqmin >> SEQUENCE_RANGE_BITS);

	return form->seqtypid == INT8OID && form->seqmin == SEQUENCE_RANGE_FIRST(group) &&
				   form->seqmax == SEQUENCE_RANGE_LAST(group)
			   ? group
			   : 0;
}

static void
sequence_set_here(Oid seqid, int64 value)
{
	(void) DirectFunctionCall2(setval_oid, ObjectIdGetDatum(seqid), Int64GetDatum(value));
}

/* What takes a value by another way than the functions that ask the coordinator fails. */
static void
sequence_exhaust(Oid seqid, const FormData_pg_sequence *form)
{
	int64 end = form->seqincrement > 0 ? form->seqmax : form->seqmin;
	char *last = sql_value("SELECT pg_catalog.pg_sequence_last_value(%u)", seqid);

	if (last != NULL && strtoll(last, NULL, 10) == end)
		return;
	/* With RESTART it is undone if the transaction is. */
	utility_apply_sql(psprintf("ALTER SEQUENCE %s RESTART", name_qualified(seqid)));
	sequence_set_here(seqid, end);
}

void
sequence_fit(Oid seqid)
{
	int32 group = node_local_group();
	FormData_pg_sequence form = sequence_form(seqid);

	if (group == COORDINATOR_GROUP)
		return;

	if (sequence_is_wide(&form))
		sequence_fit_range(seqid, &form, group);
	else if (sequence_has_own_range(&form))
		; /* done before */
	else if (sequence_range_group(&form) > 0)
	{
		form.seqstart -= SEQUENCE_RANGE_FIRST(sequence_range_group(&form)) - 1;
		sequence_fit_range(seqid, &form, group);
	}
	else
		sequence_exhaust(seqid, &form);
}

void
sequence_before_type(Oid seqid, const TypeName *type)
{
	FormData_pg_sequence form = sequence_form(seqid);
	int32 group = sequence_range_group(&form);

	if (node_is_coordinator() || group == 0 ||
		LookupTypeNameOid(NULL, type, true) == INT8OID)
		return;
	utility_apply_sql(psprintf(
		"ALTER SEQUENCE %s NO MINVALUE NO MAXVALUE START " INT64_FORMAT " RESTART",
		name_qualified(seqid), form.seqstart - SEQUENCE_RANGE_FIRST(group) + 1));
}

/* How far the other nodes have come in their ranges. */
static int64
values_given_elsewhere(const char *name)
{
	int64 most = 0;

	foreach_ptr (const DistNode, node, node_list(NODES_OTHER))
	{
		char *last = xact_value_from_node(
			node, psprintf("SELECT pg_catalog.pg_sequence_last_value(%s)", name));
		int64 first =
			node->group == COORDINATOR_GROUP ? 1 : SEQUENCE_RANGE_FIRST(node->group);

		if (last != NULL)
			most = Max(most, strtoll(last, NULL, 10) - first + 1);
	}
	return most;
}

/*
 * When a table is distributed again the other nodes begin at the start of this node's
 * sequence, each in its range: past all that they have given.
 */
static void
sequence_start_past_others(Oid seqid, const FormData_pg_sequence *form)
{
	int64 start =
		form->seqmin + values_given_elsewhere(quote_literal_cstr(name_qualified(seqid)));

	start = Min(start, form->seqmax);
	if (start > form->seqstart)
		utility_apply_sql(psprintf("ALTER SEQUENCE %s START " INT64_FORMAT,
								   name_qualified(seqid), start));
}

/* One that gave no values here becomes what the coordinator's is, and goes on from where
 * that stands. */
static void
sequence_come_home(Oid seqid)
{
	const char *name = name_qualified(seqid);
	const char *literal = quote_literal_cstr(name);
	const DistNode *coordinator = node_by_group(COORDINATOR_GROUP);
	char *last = xact_value_from_node(
		coordinator, psprintf("SELECT pg_catalog.pg_sequence_last_value(%s)", literal));

	utility_apply_sql(psprintf(
		"ALTER SEQUENCE %s %s", name,
		xact_value_from_node(
			coordinator,
			psprintf("SELECT pg_catalog.format('%%s RESTART WITH %%s', "
					 "pando.sequence_options(%s::pg_catalog.regclass), last_value) "
					 "FROM %s",
					 literal, name))));
	if (last != NULL)
		sequence_set_here(seqid, strtoll(last, NULL, 10));
}

void
sequence_undistribute(Oid relid)
{
	foreach_ptr (
		char, id,
		sql_column("SELECT seq FROM pando.table_sequences(%u) WHERE kind <> 'd'", relid))
	{
		Oid seqid = atooid(id);
		FormData_pg_sequence form = sequence_form(seqid);

		if (sequence_range_group(&form) > 0 ||
			(node_is_coordinator() && sequence_is_wide(&form)))
			sequence_start_past_others(seqid, &form);
		else if (!node_is_coordinator())
			sequence_come_home(seqid);
	}
}

void
sequence_fit_table(Oid relid)
{
	foreach_ptr (char, seqid,
				 sql_column("SELECT seq FROM pando.table_sequences(%u)", relid))
		sequence_fit(atooid(seqid));
}

void
sequence_send_used(Oid relid, bool owned)
{
	foreach_ptr (char, sql,
				 sql_column("SELECT concat_ws('; ', pando.sequence_commands(s.seq), "
							"format('ALTER SEQUENCE %%s OWNER TO %%I', s.seq::regclass, "
							"pg_get_userbyid(c.relowner)), CASE s.kind WHEN 'a' THEN "
							"format('ALTER SEQUENCE %%s OWNED BY %%s.%%I', "
							"s.seq::regclass, %u::regclass, a.attname) END, "
							"(SELECT pando.sequence_position_command(s.seq))) "
							"FROM pando.table_sequences(%u) s JOIN pg_class c "
							"ON c.oid = s.seq JOIN pg_attribute a ON a.attrelid = %u "
							"AND a.attnum = s.attnum WHERE s.kind = 'd' OR "
							"(s.kind = 'a' AND %s)",
							relid, relid, relid, owned ? "true" : "false"))
		xact_run_on_nodes(node_list(NODES_OTHER), sql);
}

/* The next table in whose defaults the scan finds the sequence; InvalidOid at the end. */
static Oid
next_user(SysScanDesc scan)
{
	HeapTuple tuple;

	while ((tuple = systable_getnext(scan)) != NULL)
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);
		ObjectAddress column;

		if (form->classid != AttrDefaultRelationId)
			continue;
		column = GetAttrDefaultColumnAddress(form->objid);
		if (OidIsValid(column.objectId))
			return column.objectId;
	}
	return InvalidOid;
}

static Oid
distributed_user(Oid seqid)
{
	Relation depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	Oid relid;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(seqid));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2, keys);
	do
		relid = next_user(scan);
	while (OidIsValid(relid) && dist_table(relid) == NULL);
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
	return relid;
}

Oid
sequence_distributed_table(Oid seqid)
{
	Oid owner = sequence_identity_table(seqid);
	int32 attnum;

	if (OidIsValid(owner) || sequenceIsOwned(seqid, DEPENDENCY_AUTO, &owner, &attnum))
	{
		if (dist_table(owner) != NULL)
			return owner;
	}
	return distributed_user(seqid);
}

/* SQL: makes a sequence of this node fit its role. */
Datum
sequence_adjust(PG_FUNCTION_ARGS)
{
	Oid seqid = PG_GETARG_OID(0);

	if (!compat_owns_relation(seqid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_SEQUENCE, get_rel_name(seqid));
	sequence_fit(seqid);
	PG_RETURN_VOID();
}
