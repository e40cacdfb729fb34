/*
 * split.c: one shard of a hash-distributed table, with those colocated with it, becomes
 * several.
 *
 * The range of hash values is cut into *pieces*. Each gets a node and, per table of the
 * group, a new shard, whose id the metadata learn at the switch; until then it is made
 * and filled like the copy of a move (group_copy.c), but with the rows of its range only.
 * At the switch all nodes forget the old shards and learn the new ones, in the caller's
 * transaction, and who had the old ones drops them.
 *
 * Pieces have as many placements as the shard has: on the node that was asked for, and on
 * those that have the shard, in the order of its placements. All are filled from one.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pando/base/debug_point.h"
#include "pando/base/name.h"
#include "pando/catalog/partition.h"
#include "pando/catalog/placement.h"
#include "pando/catalog/shard.h"
#include "pando/cluster/group_copy.h"
#include "pando/cluster/group_lock.h"
#include "pando/cluster/group_switch.h"
#include "pando/cluster/move_progress.h"
#include "pando/cluster/node_row.h"
#include "pando/cluster/settings.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(citus_split_shard_by_split_points);
PG_FUNCTION_INFO_V1(isolate_tenant_to_new_shard);

typedef struct Piece
{
	HashRange range;
	const DistNode *node;
} Piece;

/* ------------------------------------------------------------------------------------
 * Checks.
 */

/* Why shards of a table of that kind can't be split; NULL if they can. */
static const char *
kind_obstacle(const DistTable *table)
{
	switch (table->kind)
	{
		case TABLE_HASH:
			return NULL;
		case TABLE_RANGE:
			return "It is distributed by ranges of values.";
		case TABLE_APPEND:
			return "It is distributed by append.";
		case TABLE_SINGLE:
			return "It has one shard and no distribution column.";
		case TABLE_REFERENCE:
			return "It is a reference table.";
		case TABLE_MANAGED_LOCAL:
			break;
	}
	return "It is a local table of the coordinator.";
}

static void
check_kind(const DistTable *table)
{
	const char *obstacle = kind_obstacle(table);

	if (obstacle != NULL)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("shards of table %s can't be split",
							   name_qualified(table->relid)),
						errdetail("%s", obstacle),
						errhint("Only shards of hash-distributed tables can be split.")));
}

/* All shards of the group are on the same nodes, which have all that was written. */
static void
check_placements(List *tables, const Shard *shard)
{
	ListCell *cell;

	foreach (cell, tables)
	{
		const Shard *member = &dist_table_require(lfirst_oid(cell))->shards[shard->index];
		bool alike = member->nplacements == shard->nplacements && shard->nplacements > 0;

		for (int i = 0; alike && i < shard->nplacements; i++)
			alike = placement_on(member, shard->placements[i].group) != NULL;
		if (!alike ||
			list_length(catalog_placement_by_shard(member->id)) != member->nplacements)
			ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
							errmsg("shard " INT64_FORMAT " can't be split", shard->id),
							errdetail("Shard " INT64_FORMAT
									  " has a copy that is marked as lost, or none.",
									  member->id),
							errhint("Repair it with citus_copy_shard_placement().")));
	}
}

/* The shard as it is now. Rights first, so that others learn nothing. */
static const Shard *
check_shard(int64 shard_id, const DistTable **table)
{
	const Shard *shard = group_shard_require(shard_id, table);

	check_kind(*table);
	group_check_owner(shard_group_tables(*table));
	check_placements(shard_group_tables(*table), shard);
	return shard;
}

static void
check_can_be_cut(const Shard *shard)
{
	if (shard->min_hash == shard->max_hash)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("shard " INT64_FORMAT " can't be split", shard->id),
						errdetail("It has one hash value, %d.", shard->min_hash)));
}

/* ------------------------------------------------------------------------------------
 * The split.
 */

/* The node of one of the shard's placements. */
static const DistNode *
node_of(const Shard *shard, int placement)
{
	const DistNode *node = node_by_group(shard->placements[placement].group);

	if (node == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a node of shard " INT64_FORMAT " is not active", shard->id)));
	return node;
}

/* Adds a target for each placement of the piece; its shards get their ids. */
static void
add_targets(GroupCopy *copy, const Shard *shard, const Piece *piece)
{
	List *nodes = list_make1((void *) piece->node);
	List *ids = NIL;

	for (int i = 0; list_length(nodes) < shard->nplacements; i++)
		nodes = list_append_unique_ptr(nodes, (void *) node_of(shard, i));
	for (int i = 0; i < list_length(copy->members); i++)
	{
		int64 *id = palloc(sizeof(int64));

		*id = catalog_shard_next_id();
		ids = lappend(ids, id);
	}
	foreach_ptr (const DistNode, node, nodes)
	{
		CopyTarget *target = palloc0(sizeof(CopyTarget));

		target->node = node;
		target->range = &piece->range;
		target->shards = ids;
		copy->targets = lappend(copy->targets, target);
	}
}

/* The members of the shard's group and the pieces' shards. */
static void
look_up(GroupCopy *copy, const Shard *shard, List *pieces)
{
	ListCell *cell;

	copy->members = NIL;
	copy->source = node_of(shard, 0);
	copy->others = NIL;
	for (int i = 1; i < shard->nplacements; i++)
		copy->others = lappend(copy->others, (void *) node_of(shard, i));
	foreach (cell, copy->tables)
	{
		const DistTable *table = dist_table_require(lfirst_oid(cell));

		copy->members = lappend(copy->members,
								group_member_of(table, shard->index,
												placement_on(&table->shards[shard->index],
															 copy->source->group)));
	}
	copy->targets = NIL;
	foreach_ptr (Piece, piece, pieces)
		add_targets(copy, shard, piece);
}

/* Calls of shards_register() for a member's new shards. */
static void
append_new_shards(StringInfo sql, const GroupCopy *copy, int member_index)
{
	StringInfoData ids, mins, maxs;
	const char *separator = "";
	const HashRange *last = NULL;

	initStringInfo(&ids);
	initStringInfo(&mins);
	initStringInfo(&maxs);
	foreach_ptr (CopyTarget, target, copy->targets)
	{
		/* One more placement of the same piece. */
		if (target->range == last)
			continue;
		last = target->range;
		appendStringInfo(&ids, "%s" INT64_FORMAT, separator,
						 *(int64 *) list_nth(target->shards, member_index));
		appendStringInfo(&mins, "%s%d", separator, target->range->min);
		appendStringInfo(&maxs, "%s%d", separator, target->range->max);
		separator = ",";
	}
	appendStringInfo(
		sql, ", pando.shards_register(%s::pg_catalog.regclass, '{%s}', '{%s}', '{%s}')",
		quote_literal_cstr(((GroupMember *) list_nth(copy->members, member_index))->name),
		ids.data, mins.data, maxs.data);
}

static void
append_new_placements(StringInfo sql, const GroupCopy *copy)
{
	StringInfoData ids, shards, groups;
	const char *separator = "";

	initStringInfo(&ids);
	initStringInfo(&shards);
	initStringInfo(&groups);
	foreach_ptr (CopyTarget, target, copy->targets)
	{
		foreach_ptr (int64, id, target->shards)
		{
			appendStringInfo(&ids, "%s" INT64_FORMAT, separator,
							 catalog_placement_next_id());
			appendStringInfo(&shards, "%s" INT64_FORMAT, separator, *id);
			appendStringInfo(&groups, "%s%d", separator, target->node->group);
			separator = ",";
		}
	}
	appendStringInfo(sql, ", pando.placements_register('{%s}', '{%s}', '{%s}')", ids.data,
					 shards.data, groups.data);
}

/* The new shards instead of the old ones, in the metadata of all nodes. */
static void
switch_shards(const GroupCopy *copy)
{
	StringInfoData sql;
	const char *separator = "SELECT pando.shards_unregister('{";

	initStringInfo(&sql);
	foreach_ptr (GroupMember, member, copy->members)
	{
		appendStringInfo(&sql, "%s" INT64_FORMAT, separator, member->shard_id);
		separator = ",";
	}
	appendStringInfoString(&sql, "}')");
	for (int i = 0; i < list_length(copy->members); i++)
		append_new_shards(&sql, copy, i);
	append_new_placements(&sql, copy);
	xact_tell_nodes(node_list(NODES_ALL), sql.data);
}

/*
 * Cuts the shard and those colocated with it into pieces, which together are its range.
 * Returns the members and the pieces' shards, in the order of `pieces`.
 */
static GroupCopy *
split(int64 shard_id, List *pieces, TransferMode mode)
{
	const DistTable *table;
	const Shard *shard = check_shard(shard_id, &table);
	GroupCopy *copy = palloc0(sizeof(GroupCopy));
	OnlineMove *move;
	bool online;

	if (table->nshards + list_length(pieces) - 1 > MAX_SHARD_COUNT)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("table %s would have more than %d shards",
							   name_qualified(table->relid), MAX_SHARD_COUNT)));
	group_switch_all();
	copy->tables = shard_group_tables(table);
	copy->shard_id = shard_id;
	look_up(copy, shard, NIL);
	group_check_node(copy->source, "source");
	foreach_ptr (Piece, piece, pieces)
		group_check_node(piece->node, "target");
	online = group_copy_online(copy, mode, NULL);
	move_progress_add(shard_id, copy->source, ((Piece *) linitial(pieces))->node,
					  SPLIT_PLACEMENT);

	node_rows_lead(RowShareLock);
	while (!group_copy_lock(copy, online))
	{
		look_up(copy, check_shard(shard_id, &table), NIL);
		online = group_copy_online(copy, mode, NULL);
	}
	/* Another split or move may have come first. */
	look_up(copy, check_shard(shard_id, &table), pieces);
	group_copy_await(copy);
	move = group_copy_fill(copy, online);

	DEBUG_POINT("move-before-switch");
	switch_shards(copy);
	group_copy_commits_first(copy);
	group_drop_source(copy);
	group_copy_settle(move);
	move_progress_set(shard_id, MOVE_COMPLETED);
	return copy;
}

/* ------------------------------------------------------------------------------------
 * Split points.
 */

/* Elements of an array argument; raises for NULL ones and for more dimensions. */
static int
elements(ArrayType *array, Oid type, const char *what, Datum **values)
{
	int16 length;
	bool byval;
	char align;
	int count;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
						errmsg("%s must be a one-dimensional array", what)));
	if (array_contains_nulls(array))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("%s must not contain null", what)));
	get_typlenbyvalalign(type, &length, &byval, &align);
	deconstruct_array(array, type, length, byval, align, values, NULL, &count);
	return count;
}

static int32
split_point(const char *text, const Shard *shard)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0 || value < PG_INT32_MIN ||
		value > PG_INT32_MAX)
		ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
						errmsg("split point \"%s\" is not a hash value", text),
						errdetail("Hash values are integers from %d to %d.", PG_INT32_MIN,
								  PG_INT32_MAX)));
	if (value < shard->min_hash || value >= shard->max_hash)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("split point %lld is outside of shard " INT64_FORMAT, value,
						shard->id),
				 errdetail("The shard has the hash values from %d to %d.",
						   shard->min_hash, shard->max_hash),
				 errhint("A split point is the highest hash value of a new shard; the "
						 "last one, %d, is not given.",
						 shard->max_hash)));
	return (int32) value;
}

/* The pieces, as split points and node ids say. */
static List *
pieces_of_points(const Shard *shard, ArrayType *points, ArrayType *nodes)
{
	Datum *texts, *ids;
	int npoints = elements(points, TEXTOID, "split_points", &texts);
	int nnodes = elements(nodes, INT4OID, "node_ids", &ids);
	int32 min = shard->min_hash;
	List *pieces = NIL;

	if (npoints == 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("there must be at least one split point")));
	if (nnodes != npoints + 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there are %d node ids for %d new shards", nnodes, npoints + 1),
				 errhint("Give one node id more than split points.")));
	check_can_be_cut(shard);
	for (int i = 0; i < nnodes; i++)
	{
		Piece *piece = palloc0(sizeof(Piece));
		char *point = i < npoints ? TextDatumGetCString(texts[i]) : NULL;

		piece->range.min = min;
		piece->range.max = point == NULL ? shard->max_hash : split_point(point, shard);
		if (i > 0 && piece->range.max < min)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("split points must ascend"),
					 errdetail("%d does not come after %d.", piece->range.max, min - 1)));
		piece->node = group_node_require(DatumGetInt32(ids[i]));
		pieces = lappend(pieces, piece);
		min = point == NULL ? min : piece->range.max + 1;
	}
	return pieces;
}

/* citus_split_shard_by_split_points(shard id, split points, node ids, transfer mode) */
Datum
citus_split_shard_by_split_points(PG_FUNCTION_ARGS)
{
	int64 shard_id = PG_GETARG_INT64(0);
	const DistTable *table;
	const Shard *shard;

	shard = check_shard(shard_id, &table);
	(void) split(
		shard_id,
		pieces_of_points(shard, PG_GETARG_ARRAYTYPE_P(1), PG_GETARG_ARRAYTYPE_P(2)),
		transfer_mode(PG_GETARG_OID(3)));
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------------------------
 * One tenant.
 */

static bool
cascade_option(text *option)
{
	char *value = text_to_cstring(option);

	if (pg_strcasecmp(value, "cascade") == 0)
		return true;
	if (value[0] != '\0')
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("invalid cascade_option \"%s\"", value),
						errhint("It is empty or CASCADE.")));
	return false;
}

static Piece *
piece(int64 min, int64 max, const DistNode *node)
{
	Piece *made = palloc0(sizeof(Piece));

	made->range.min = (int32) min;
	made->range.max = (int32) max;
	made->node = node;
	return made;
}

/* Three pieces, or two where the hash is the shard's first or last, on the shard's nodes;
 * *own: which has the hash alone. */
static List *
pieces_around(const Shard *shard, int32 hash, int *own)
{
	const DistNode *node = node_of(shard, 0);
	List *pieces = NIL;

	if (hash > shard->min_hash)
		pieces = lappend(pieces, piece(shard->min_hash, (int64) hash - 1, node));
	*own = list_length(pieces);
	pieces = lappend(pieces, piece(hash, hash, node));
	if (hash < shard->max_hash)
		pieces = lappend(pieces, piece((int64) hash + 1, shard->max_hash, node));
	return pieces;
}

/*
 * isolate_tenant_to_new_shard(table, value of the distribution column, cascade option,
 * transfer mode): rows with the value's hash get a shard of their own; its id.
 */
Datum
isolate_tenant_to_new_shard(PG_FUNCTION_ARGS)
{
	const DistTable *table;
	const Shard *shard;
	GroupCopy *copy;
	const CopyTarget *isolated;
	List *pieces;
	Datum value;
	int own;

	for (int i = 0; i < PG_NARGS(); i++)
	{
		if (PG_ARGISNULL(i))
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
							errmsg("argument %d must not be null", i + 1)));
	}
	table = dist_table_require(PG_GETARG_OID(0));
	check_kind(table);
	value = dist_table_key_argument(table, fcinfo, 1);
	shard =
		check_shard(table->shards[shard_index_of_value(table, value, false)].id, &table);
	if (!cascade_option(PG_GETARG_TEXT_PP(2)) &&
		list_length(shard_group_tables(table)) > 1)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("table %s is colocated with other tables",
							   name_qualified(table->relid)),
						errdetail("Their shards have to be split as well."),
						errhint("Use cascade_option => 'CASCADE'.")));
	check_can_be_cut(shard);
	pieces = pieces_around(shard, dist_table_hash(table, value, false), &own);
	copy = split(shard->id, pieces, transfer_mode(PG_GETARG_OID(3)));
	isolated =
		list_nth(copy->targets, own * (list_length(copy->targets) / list_length(pieces)));
	for (int i = 0; i < list_length(copy->members); i++)
	{
		if (((GroupMember *) list_nth(copy->members, i))->relid == PG_GETARG_OID(0))
			PG_RETURN_INT64(*(int64 *) list_nth(isolated->shards, i));
	}
	elog(ERROR, "the table has no shard in its own group");
}
