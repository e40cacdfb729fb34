/*
 * sequence.c: sequences whose values are unique over the cluster (see sequence.h).
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "catalog/pg_sequence.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "parser/parse_type.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/ddl/sequence.h"
#include "pando/ddl/utility.h"
#include "pando/metadata/identity_value.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(sequence_adjust);
PG_FUNCTION_INFO_V1(sequence_next);

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

/* Two ways of a default to take a sequence's next value: as it is found, and written. */
#define NEXT_HERE "'\\m(pg_catalog\\.)?nextval\\(', 'nextval('"
#define NEXT_OF_COORDINATOR "'pando\\.sequence_next\\(', 'pando.sequence_next('"

/* Defaults that take the value in the first way take it in the second from now on. */
static void
sequence_replace_defaults(Oid seqid, const char *way, const char *other)
{
	List *commands = sql_column(
		"SELECT format('ALTER TABLE %%s ALTER COLUMN %%I SET DEFAULT %%s', "
		"a.attrelid::regclass, a.attname, "
		"regexp_replace(pg_get_expr(ad.adbin, ad.adrelid), way.found, other.written, "
		"'g')) FROM (VALUES (%s)) way(found, written), (VALUES (%s)) other(found, "
		"written), pg_depend d JOIN pg_attrdef ad ON ad.oid = d.objid "
		"JOIN pg_attribute a ON a.attrelid = ad.adrelid AND a.attnum = ad.adnum "
		"WHERE d.classid = 'pg_attrdef'::regclass AND d.refclassid = "
		"'pg_class'::regclass AND d.refobjid = %u AND "
		"pg_get_expr(ad.adbin, ad.adrelid) ~ way.found",
		way, other, seqid);

	foreach_ptr (char, command, commands)
		utility_apply_sql(command);
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

void
sequence_fit(Oid seqid)
{
	int32 group = node_local_group();
	FormData_pg_sequence form = sequence_form(seqid);

	if (group == COORDINATOR_GROUP)
		return;

	if (sequence_is_wide(&form))
		sequence_fit_range(seqid, &form, group);
	else if (form.seqtypid == INT8OID && form.seqmin == SEQUENCE_RANGE_FIRST(group))
		; /* done before */
	else if (sequence_range_group(&form) > 0)
	{
		form.seqstart -= SEQUENCE_RANGE_FIRST(sequence_range_group(&form)) - 1;
		sequence_fit_range(seqid, &form, group);
	}
	else if (OidIsValid(sequence_identity_table(seqid)))
	{
		if (form.seqcycle)
			utility_apply_sql(
				psprintf("ALTER SEQUENCE %s NO CYCLE", name_qualified(seqid)));
		sql_value("SELECT setval(%u::oid::regclass, " INT64_FORMAT ")", seqid,
				  form.seqincrement > 0 ? form.seqmax : form.seqmin);
	}
	else
		sequence_replace_defaults(seqid, NEXT_HERE, NEXT_OF_COORDINATOR);
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

/* One that gave no values here goes on from where the coordinator's stands. */
static void
sequence_come_home(Oid seqid)
{
	char *name = quote_literal_cstr(name_qualified(seqid));
	char *last = xact_value_from_node(
		node_by_group(COORDINATOR_GROUP),
		psprintf("SELECT pg_catalog.pg_sequence_last_value(%s)", name));

	if (last == NULL)
		utility_apply_sql(psprintf("ALTER SEQUENCE %s RESTART", name_qualified(seqid)));
	else
		(void) sql_value("SELECT pg_catalog.setval(%s, %s)", name, last);
	sequence_replace_defaults(seqid, NEXT_OF_COORDINATOR, NEXT_HERE);
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

Oid
sequence_distributed_table(Oid seqid)
{
	List *tables = sql_column(
		"SELECT refobjid FROM pg_depend WHERE classid = 'pg_class'::regclass AND "
		"objid = %u AND refclassid = 'pg_class'::regclass AND deptype IN ('a', 'i') "
		"UNION SELECT ad.adrelid FROM pg_depend d JOIN pg_attrdef ad ON ad.oid = d.objid "
		"WHERE d.classid = 'pg_attrdef'::regclass AND "
		"d.refclassid = 'pg_class'::regclass AND d.refobjid = %u",
		seqid, seqid);

	foreach_ptr (char, table, tables)
	{
		if (dist_table(atooid(table)) != NULL)
			return atooid(table);
	}
	return InvalidOid;
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

/* Who may insert rows has the next value of an identity column by that. */
static void
check_identity_right(Oid relid)
{
	if (pg_class_aclcheck(relid, GetUserId(), ACL_INSERT) != ACLCHECK_OK &&
		pg_attribute_aclcheck_all(relid, GetUserId(), ACL_INSERT, ACLMASK_ANY) !=
			ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(relid)),
					   get_rel_name(relid));
}

/*
 * pando.sequence_next(sequence): nextval() of the coordinator's sequence, from any node.
 * That of an identity column asks for the right to insert rows.
 */
Datum
sequence_next(PG_FUNCTION_ARGS)
{
	Oid seqid = PG_GETARG_OID(0);
	bool identity;
	Oid relid;
	char *value;

	if (get_rel_name(seqid) == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("relation with OID %u does not exist", seqid)));
	relid = sequence_identity_table(seqid);
	identity = OidIsValid(relid);
	if (identity)
		check_identity_right(relid);
	if (node_is_coordinator())
		PG_RETURN_INT64(nextval_internal(seqid, !identity));

	value = xact_value_from_node(
		node_by_group(COORDINATOR_GROUP),
		psprintf("SELECT %s(%s)", identity ? "pando.sequence_next" : "pg_catalog.nextval",
				 quote_literal_cstr(name_qualified(seqid))));
	PG_RETURN_INT64(DatumGetInt64(DirectFunctionCall1(int8in, CStringGetDatum(value))));
}
