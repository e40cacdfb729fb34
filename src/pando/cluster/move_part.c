/*
 * move_part.c: what an online move makes on the nodes, and how it is taken away.
 *
 * On the source a trigger notes where rows change: the row's place (ctid) before and
 * after, and the transaction that changed it, in pando.move_change. On the target there
 * is the copy that is being filled. Each is a row of pando.move_part, written in the
 * transaction that makes it, so that move_undo() knows by OID what to take away, whatever
 * names say by then.
 *
 * These functions run in sessions of the table's owner, outside of the move's
 * transaction, but for move_end(), which belongs to it. What they leave when called by
 * hand harms nobody but the owner.
 */
#include "pando/compat/compat.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/xid8.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/cluster/move_part.h"
#include "pando/ddl/shard_ddl.h"
#include "pando/metadata/node.h"
#include "pando/metadata/shard_relation.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(move_create);
PG_FUNCTION_INFO_V1(move_capture);
PG_FUNCTION_INFO_V1(move_changes);
PG_FUNCTION_INFO_V1(move_receive);
PG_FUNCTION_INFO_V1(move_end);
PG_FUNCTION_INFO_V1(move_undo);
PG_FUNCTION_INFO_V1(move_note);

#define CAPTURE_TRIGGER "pando_move"

char *
move_rows_name(const char *schema, int64 shard_id)
{
	return psprintf("%s.pando_rows_" INT64_FORMAT, schema, shard_id);
}

char *
move_all_rows_name(const char *schema, int64 shard_id)
{
	return psprintf("%s.pando_all_rows_" INT64_FORMAT, schema, shard_id);
}

char *
move_places_name(const char *schema, int64 shard_id)
{
	return psprintf("%s.pando_places_" INT64_FORMAT, schema, shard_id);
}

char *
move_blocks_name(const char *schema, int64 shard_id)
{
	return psprintf("%s.pando_blocks_" INT64_FORMAT, schema, shard_id);
}

/* ------------------------------------------------------------------------------------
 * The source.
 */

/* A table that is in no metadata, while it is being distributed, and what is to be its
 * shard stand for themselves. */
static Oid
own_shard(Oid relid, int64 shard_id)
{
	const DistTable *table = dist_table(relid);

	shard_require_owner(relid);
	return table == NULL ? relid : shard_relation_require(table, shard_id);
}

/* What move_create() has made. */
static Oid
new_shard(Oid shell, int64 shard_id)
{
	Oid relid;

	if (dist_table(shell) != NULL)
		return own_shard(shell, shard_id);
	relid = get_relname_relid(name_shard(get_rel_name(shell), shard_id),
							  get_rel_namespace(shell));
	shard_require_owner(relid);
	return relid;
}

static void
part_add(int64 shard_id, Oid relation, bool receives)
{
	OwnerScope scope;

	owner_enter(&scope);
	sql_run("INSERT INTO pando.move_part VALUES (" INT64_FORMAT ", %u, %s)", shard_id,
			relation, receives ? "true" : "false");
	owner_leave(&scope);
}

bool
move_part_receives(Oid relation)
{
	OwnerScope scope;
	bool receives;

	owner_enter(&scope);
	receives = sql_value("SELECT true FROM pando.move_part WHERE relation = %u AND "
						 "receives LIMIT 1",
						 relation) != NULL;
	owner_leave(&scope);
	return receives;
}

/*
 * pando.move_capture(regclass, bigint): from its commit on, changes of this node's shard
 * are noted. Waits for those who are writing to it. The trigger fires whatever
 * session_replication_role is.
 */
Datum
move_capture(PG_FUNCTION_ARGS)
{
	int64 shard_id = PG_GETARG_INT64(1);
	Oid relation;
	char *name;
	OwnerScope scope;

	xact_require_node("pando.move_capture()");
	relation = own_shard(PG_GETARG_OID(0), shard_id);
	name = name_qualified(relation);
	part_add(shard_id, relation, false);
	owner_enter(&scope);
	sql_run("CREATE TRIGGER " CAPTURE_TRIGGER " AFTER INSERT OR UPDATE OR DELETE ON %s "
			"FOR EACH ROW EXECUTE FUNCTION pando.move_note()",
			name);
	sql_run("ALTER TABLE %s ENABLE ALWAYS TRIGGER " CAPTURE_TRIGGER, name);
	owner_leave(&scope);
	PG_RETURN_VOID();
}

static void
note_place(Relation changes, CatalogIndexState indexes, Oid relation, HeapTuple row)
{
	Datum values[3] = {ObjectIdGetDatum(relation),
					   FullTransactionIdGetDatum(GetTopFullTransactionId()),
					   PointerGetDatum(&row->t_self)};
	bool nulls[3] = {false, false, false};
	HeapTuple note = heap_form_tuple(RelationGetDescr(changes), values, nulls);

	CatalogTupleInsertWithInfo(changes, note, indexes);
	heap_freetuple(note);
}

/* The trigger: where the row was and where it is. What is there when the note is read is
 * what counts, not the order of notes. */
Datum
move_note(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	Relation changes;
	CatalogIndexState indexes;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_AFTER(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
		ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
						errmsg("function must be called by AFTER ROW triggers")));
	changes =
		table_open(get_relname_relid("move_change", get_namespace_oid("pando", false)),
				   RowExclusiveLock);
	indexes = CatalogOpenIndexes(changes);
	note_place(changes, indexes, RelationGetRelid(trigger->tg_relation),
			   trigger->tg_trigtuple);
	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
		note_place(changes, indexes, RelationGetRelid(trigger->tg_relation),
				   trigger->tg_newtuple);
	CatalogCloseIndexes(indexes);
	table_close(changes, NoLock);
	return PointerGetDatum(NULL);
}

/*
 * pando.move_changes(regclass, bigint, pg_snapshot): places where the shard changed since
 * that snapshot, as the text of a tid[], NULL for none; they are forgotten. In a
 * REPEATABLE READ transaction they are those of what it sees.
 *
 * Transactions that the snapshot did not see began after it or were under way, and only
 * their notes are looked at: those read before, and what the table is full of, cost
 * nothing.
 */
Datum
move_changes(PG_FUNCTION_ARGS)
{
	Oid relation = own_shard(PG_GETARG_OID(0), PG_GETARG_INT64(1));
	char *since = quote_literal_cstr(
		DatumGetCString(DirectFunctionCall1(pg_snapshot_out, PG_GETARG_DATUM(2))));
	OwnerScope scope;
	char *places;

	owner_enter(&scope);
	/* What statistics say of a table that grew a moment ago is nothing to go by. */
	(void) set_config_option("enable_seqscan", "off", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	places = sql_value("WITH gone AS (DELETE FROM pando.move_change WHERE relation = %u "
					   "AND (writer >= pg_catalog.pg_snapshot_xmax(%s) "
					   "OR writer = ANY (ARRAY(SELECT pg_catalog.pg_snapshot_xip(%s)))) "
					   "RETURNING place) "
					   "SELECT pg_catalog.array_agg(DISTINCT place)::text FROM gone",
					   relation, since, since);
	owner_leave(&scope);
	if (places == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(places));
}

/* ------------------------------------------------------------------------------------
 * The target.
 */

/* pando.move_create(regclass[], bigint[]): the bare tables of a shard group that this
 * node is to get. */
Datum
move_create(PG_FUNCTION_ARGS)
{
	ArrayType *tables = PG_GETARG_ARRAYTYPE_P(0);
	ArrayType *shards = PG_GETARG_ARRAYTYPE_P(1);
	int count = ArrayGetNItems(ARR_NDIM(shards), ARR_DIMS(shards));

	xact_require_node("pando.move_create()");
	DirectFunctionCall3(shard_group_create, PointerGetDatum(tables),
						PointerGetDatum(shards), CStringGetTextDatum("table"));
	for (int i = 0; i < count; i++)
	{
		int64 shard_id = ((int64 *) ARR_DATA_PTR(shards))[i];

		part_add(shard_id, new_shard(((Oid *) ARR_DATA_PTR(tables))[i], shard_id), true);
	}
	PG_RETURN_VOID();
}

static char *
name_of_no_column(Oid relation)
{
	char *name = pstrdup("place");

	while (get_attnum(relation, name) != InvalidAttrNumber)
		name = psprintf("%s_", name);
	return name;
}

/*
 * A table that takes rows in for the relation: their places if `places`, a table, is to
 * say where they went, and the columns. Values come from a shard, so they have the
 * lengths that columns allow: who receives them need not look (a tenth of the time, for
 * character columns).
 */
static void
make_receiver(Oid relation, const char *rows, Oid places)
{
	Relation shard = table_open(relation, AccessShareLock);
	TupleDesc desc = RelationGetDescr(shard);
	StringInfoData columns;

	initStringInfo(&columns);
	if (OidIsValid(places))
		appendStringInfo(&columns, "%s tid",
						 quote_identifier(name_of_no_column(relation)));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && !att->attgenerated)
			appendStringInfo(&columns, "%s%s %s", columns.len == 0 ? "" : ", ",
							 quote_identifier(NameStr(att->attname)),
							 format_type_extended(att->atttypid, -1,
												  FORMAT_TYPE_TYPEMOD_GIVEN |
													  FORMAT_TYPE_FORCE_QUALIFY));
	}
	table_close(shard, NoLock);
	sql_run("CREATE TABLE %s (%s)", rows, columns.data);
	sql_run("CREATE TRIGGER pando_receive BEFORE INSERT ON %s FOR EACH ROW "
			"EXECUTE FUNCTION pando.move_row('%u', '%u')",
			rows, relation, places);
}

/* Of a name that needs no quotes. */
static Oid
oid_of_name(const char *qualified)
{
	return DatumGetObjectId(DirectFunctionCall1(regclassin, CStringGetDatum(qualified)));
}

/*
 * pando.move_receive(regclass, bigint, placed): makes this session able to receive rows
 * of the shard, which it puts there: COPY to move_all_rows_name(). If they are placed,
 * each comes with its place on the source, and where it went is in move_blocks_name();
 * those that changed come to move_rows_name(), and where they went is in
 * move_places_name(), which is newer. The tables are temporary, but in a transaction
 * block; move_end() drops them then. Only tables of places are the user's own.
 */
Datum
move_receive(PG_FUNCTION_ARGS)
{
	int64 shard_id = PG_GETARG_INT64(1);
	bool placed = PG_GETARG_BOOL(2);
	const char *schema =
		IsTransactionBlock() ? MOVE_SCHEMA_SHARED : MOVE_SCHEMA_TEMPORARY;
	char *places = move_places_name(schema, shard_id);
	char *blocks = move_blocks_name(schema, shard_id);
	Oid relation;
	OwnerScope scope;

	xact_require_node("pando.move_receive()");
	relation = own_shard(PG_GETARG_OID(0), shard_id);
	if (placed)
	{
		sql_run("CREATE TABLE %s (place tid PRIMARY KEY, here tid)", places);
		sql_run("CREATE TABLE %s (block int8 NOT NULL, rows bytea NOT NULL)", blocks);
		sql_run("CREATE INDEX ON %s (block)", blocks);
	}
	owner_enter(&scope);
	make_receiver(relation, move_all_rows_name(schema, shard_id),
				  placed ? oid_of_name(blocks) : InvalidOid);
	if (placed)
		make_receiver(relation, move_rows_name(schema, shard_id), oid_of_name(places));
	owner_leave(&scope);
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------------------------
 * The end.
 */

static Oid
oid_of_text(const char *text)
{
	return DatumGetObjectId(DirectFunctionCall1(oidin, CStringGetDatum(text)));
}

/* Relations of pando.move_part for the shards (the text of an array); List of char *. */
static List *
part_relations(const char *shards, bool receives)
{
	return sql_column(
		"SELECT relation FROM pando.move_part WHERE shardid = ANY (%s::bigint[]) "
		"AND receives = %s ORDER BY relation",
		quote_literal_cstr(shards), receives ? "true" : "false");
}

static void
captures_drop(const char *shards)
{
	foreach_ptr (char, text, part_relations(shards, false))
	{
		Oid relation = oid_of_text(text);

		if (get_rel_name(relation) != NULL)
			sql_run("DROP TRIGGER IF EXISTS " CAPTURE_TRIGGER " ON %s",
					name_qualified(relation));
		sql_run("DELETE FROM pando.move_change WHERE relation = %u", relation);
	}
}

/* What a shard was received with, where that is no temporary tables. */
static void
receivers_drop(const char *shards)
{
	char *tables = sql_value(
		"SELECT pg_catalog.string_agg(t.name, ', ') FROM "
		"pg_catalog.unnest(%s::bigint[]) AS s (id), "
		"pg_catalog.unnest('{rows,all_rows,places,blocks}'::text[]) AS k (kind), "
		"pg_catalog.format('" MOVE_SCHEMA_SHARED ".pando_%%s_%%s', kind, id) AS t (name) "
		"WHERE pg_catalog.to_regclass(t.name) IS NOT NULL",
		quote_literal_cstr(shards));

	if (tables != NULL)
		sql_run("DROP TABLE %s", tables);
}

static char *
array_argument(FunctionCallInfo fcinfo)
{
	Oid output;
	bool varlena;

	getTypeOutputInfo(INT8ARRAYOID, &output, &varlena);
	return OidOutputFunctionCall(output, PG_GETARG_DATUM(0));
}

/*
 * pando.move_end(bigint[]): the shards have arrived, or are gone from here: what is left
 * of their parts is no part of a move any more, and changes are no longer noted.
 */
Datum
move_end(PG_FUNCTION_ARGS)
{
	char *shards = array_argument(fcinfo);
	Oid user = GetUserId();
	OwnerScope scope;

	owner_enter(&scope);
	foreach_ptr (char, text,
				 list_concat(part_relations(shards, false), part_relations(shards, true)))
	{
		Oid relation = oid_of_text(text);

		if (get_rel_name(relation) != NULL && !compat_owns_relation(relation, user))
			aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(relation));
	}
	captures_drop(shards);
	receivers_drop(shards);
	sql_run("DELETE FROM pando.move_part WHERE shardid = ANY (%s::bigint[])",
			quote_literal_cstr(shards));
	owner_leave(&scope);
	PG_RETURN_VOID();
}

void
move_parts_end(List *shards, List *nodes)
{
	StringInfoData ids;

	initStringInfo(&ids);
	foreach_ptr (int64, id, shards)
		appendStringInfo(&ids, "%s" INT64_FORMAT, ids.len == 0 ? "" : ",", *id);
	xact_run_on_nodes(nodes, psprintf("SELECT pando.move_end('{%s}')", ids.data));
}

/* Is it the table of a shard that has a placement here? */
static bool
is_in_use(Oid relation)
{
	int64 shard_id;
	Oid shell;
	const DistTable *table;
	const Shard *shard;

	if (!relation_is_shard(relation, &shard_id, &shell))
		return false;
	shard = shard_by_id(shard_id, &table);
	for (int i = 0; shard != NULL && i < shard->nplacements; i++)
	{
		if (shard->placements[i].group == node_local_group())
			return true;
	}
	return false;
}

/* pando.move_undo(bigint[]): drops the copies that were to be, and stops capturing. */
Datum
move_undo(PG_FUNCTION_ARGS)
{
	char *shards = array_argument(fcinfo);
	OwnerScope scope;

	owner_enter(&scope);
	/* What a crash left prepared is settled by who would wait here. */
	(void) set_config_option("lock_timeout", "2s", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	captures_drop(shards);
	foreach_ptr (char, text, part_relations(shards, true))
	{
		ObjectAddress address;

		ObjectAddressSet(address, RelationRelationId, oid_of_text(text));
		LockRelationOid(address.objectId, AccessExclusiveLock);
		if (get_rel_name(address.objectId) != NULL && !is_in_use(address.objectId))
		{
			performDeletion(&address, DROP_CASCADE, PERFORM_DELETION_QUIETLY);
			CommandCounterIncrement();
		}
	}
	sql_run("DELETE FROM pando.move_part WHERE shardid = ANY (%s::bigint[])",
			quote_literal_cstr(shards));
	owner_leave(&scope);
	PG_RETURN_VOID();
}
