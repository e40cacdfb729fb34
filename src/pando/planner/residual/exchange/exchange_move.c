/*
 * exchange_move.c: which rows are best sent where those they are joined with are.
 *
 * Two groups of items that a join connects can meet when one is sent to all nodes; when
 * one is sent to the shard groups that the hash of a join column chooses, if the other is
 * distributed by the column that it equals; or when both are, by such columns, to the
 * shard groups of one of the tables. The cost is the bytes sent (times the nodes, when
 * all get them) and a part of the join's result.
 *
 * Rows of local tables go to the shards as well, unless those that would have to come
 * here are far fewer, or the user wants it otherwise (citus.local_table_join_policy).
 *
 * Rows without a value in the column are left out where the join would do it, else they
 * all go to one shard group; the column is a weak key then (it may be NULL).
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/guc.h"

#include "pando/base/type.h"
#include "pando/metadata/table.h"
#include "pando/planner/residual/cut_group.h"
#include "pando/planner/where/object_names.h"
#include "pando/planner/where/cte_once.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/query/equality.h"
#include "pando/planner/fragment/estimate.h"
#include "pando/planner/where/exchange_item.h"
#include "pando/planner/residual/exchange/exchange_move.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/where/level.h"
#include "pando/planner/query/part.h"
#include "pando/planner/where/place.h"

/* A join's rows may have to be moved again, and are worked on: what a byte of them
 * counts.
 */
#define RESULT_WEIGHT 0.3

/* Rows that go to all nodes are joined in one piece on each, others in small ones. */
#define ALL_WEIGHT 1.25

/* More than that of the limit on results is not sent to every node if it can be helped.
 */
#define LIMIT_SHARE 0.25
#define OVER_LIMIT 1000.0

/* What is here stays, if it is that many times more than what would come here, and more
 * than that many bytes.
 */
#define HERE_WEIGHT 4.0
#define HERE_BYTES (256 * 1024)

/* Groups, above which not every pair is looked at closely. */
#define MOVES_MAX 40

typedef enum LocalPolicy
{
	LOCAL_AUTO,
	LOCAL_NEVER, /* their rows don't move */
	LOCAL_PREFERRED,
	DISTRIBUTED_PREFERRED /* their rows come here */
} LocalPolicy;

static const struct config_enum_entry local_policies[] = {
	{"auto", LOCAL_AUTO, false},
	{"never", LOCAL_NEVER, false},
	{"prefer-local", LOCAL_PREFERRED, false},
	{"prefer-distributed", DISTRIBUTED_PREFERRED, false},
	{NULL, 0, false}};

static int local_policy = LOCAL_AUTO;
static bool redistribute = true;
static bool redistribute_inserted = true;
static double fixed_cost = 8.0;

void
exchange_move_init(void)
{
	DefineCustomBoolVariable(
		"citus.enable_repartition_joins",
		"Allows rows to be sent to other nodes by the hash of a join column.", NULL,
		&redistribute, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable(
		"citus.enable_repartitioned_insert_select",
		"Allows rows of INSERT ... SELECT to go from node to node.",
		"Without it those that leave their shard group come by way of the client's node.",
		&redistribute_inserted, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable(
		"citus.local_table_join_policy",
		"Says which rows move where local and distributed tables are joined.",
		"With \"auto\" their size decides, with \"prefer-local\" those of local "
		"tables go to the shards, else the others come to this node.",
		&local_policy, LOCAL_AUTO, local_policies, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomRealVariable(
		"pando.exchange_cost",
		"What starting an exchange costs, in kilobytes that could be sent instead.", NULL,
		&fixed_cost, 8.0, 0.0, 1e9, PGC_USERSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
}

/* ------------------------------------------------------------------------------------
 * Estimates.
 */

typedef struct Needed
{
	Query *query;
	const CutGroup *group;
	int depth;
	List *vars;
} Needed;

static bool
needed_walker(Node *node, void *context)
{
	Needed *needed = context;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		Var *var = (Var *) node;

		if (var->varlevelsup == needed->depth &&
			bms_is_member(var->varno, needed->group->relids))
		{
			var = copyObject(var);
			var->varlevelsup = 0;
			needed->vars = list_append_unique(needed->vars, var);
		}
		return false;
	}
	/* What the group filters itself goes with it. */
	if (needed->depth == 0 && (IsA(node, FromExpr) || IsA(node, JoinExpr)))
	{
		Node *quals =
			IsA(node, FromExpr) ? ((FromExpr *) node)->quals : ((JoinExpr *) node)->quals;

		foreach_ptr (Node, qual, quals_flat(quals))
		{
			if (checkExprHasSubLink(qual) || !group_may_have(qual, needed->group))
				needed_walker(qual, context);
		}
		if (IsA(node, JoinExpr))
			return needed_walker(((JoinExpr *) node)->larg, context) ||
				   needed_walker(((JoinExpr *) node)->rarg, context);
		return needed_walker((Node *) ((FromExpr *) node)->fromlist, context);
	}
	if (IsA(node, Query))
	{
		bool result;

		needed->depth++;
		result = query_tree_walker((Query *) node, needed_walker, context,
								   QTW_IGNORE_JOINALIASES);
		needed->depth--;
		return result;
	}
	return expression_tree_walker(node, needed_walker, context);
}

/* The group as a query, with the columns that the rest of the level needs. */
static Query *
group_query(Query *query, const CutGroup *group, List *quals)
{
	Needed needed = {.query = query, .group = group};
	Query *part = part_make(query, group->items, group_quals(group, quals));

	query_tree_walker(query, needed_walker, &needed, QTW_IGNORE_JOINALIASES);
	foreach_ptr (Node, var, needed.vars)
		part_column(part, var, "column");
	if (part->targetList == NIL)
		part_column(part, (Node *) makeBoolConst(true, false), "row");
	return part;
}

double
group_bytes(Query *query, const CutGroup *group, List *quals)
{
	Estimate estimate = estimate_query(group_query(query, group, quals));

	return estimate_bytes(estimate.rows, estimate.width);
}

bool
exchange_of_insert_pays(Query *select)
{
	Estimate estimate;

	if (!redistribute_inserted)
		return false;
	estimate = estimate_query(select);
	return estimate_bytes(estimate.rows, estimate.width) > fixed_cost * 1024;
}

/* Names of what other nodes may not have. */
static bool
sends_names(Query *query, const CutGroup *group, List *quals)
{
	return !distribution_has_shards(&group->distribution) &&
		   has_name_columns(group_query(query, group, quals)->targetList);
}

static double
result_limit(void)
{
	const char *setting =
		GetConfigOption("citus.max_intermediate_result_size", true, false);
	double kilobytes = setting != NULL ? strtod(setting, NULL) : -1;

	/* Shown with a unit or without, in kilobytes. */
	if (setting != NULL && strstr(setting, "MB"))
		kilobytes *= 1024;
	else if (setting != NULL && strstr(setting, "GB"))
		kilobytes *= 1024 * 1024;
	return kilobytes < 0 ? 0 : kilobytes * 1024;
}

static double
broadcast_cost(double bytes, const CutGroup *readers)
{
	double limit = result_limit();
	double cost =
		bytes * estimate_nodes(&readers->distribution) * ALL_WEIGHT + fixed_cost * 1024;

	return limit > 0 && bytes > limit * LIMIT_SHARE ? cost * OVER_LIMIT : cost;
}

/* ------------------------------------------------------------------------------------
 * Moves of a pair of groups.
 */

typedef struct Pair
{
	Query *query; /* the level */
	CutGroup *a;
	CutGroup *b;
	double bytes_a;
	double bytes_b;
	double result; /* of the join, weighed */
	List *quals;
	Equalities *equalities;
	JoinType type; /* of a with b */
	Choice *best;
} Pair;

/* Rows that the statement changes are changed where they are. */
static bool
is_changed(const Query *query, const Move *move)
{
	return move != NULL && bms_is_member(query->resultRelation, move->group->relids);
}

static void
offer(Pair *pair, double cost, const Move *one, const Move *other)
{
	Choice *best = pair->best;

	if ((best->cost >= 0 && best->cost <= cost + pair->result) ||
		is_changed(pair->query, one) || is_changed(pair->query, other))
		return;
	best->sent = cost;
	best->cost = cost + pair->result;
	best->moves[0] = *one;
	best->nmoves = 1;
	if (other != NULL)
	{
		best->moves[1] = *other;
		best->nmoves = 2;
	}
}

static bool
is_inside(Node *expr, const CutGroup *group)
{
	return IsA(expr, Var) && ((Var *) expr)->varlevelsup == 0 &&
		   ((Var *) expr)->varattno > 0 &&
		   bms_is_member(((Var *) expr)->varno, group->relids);
}

/* Are the rows of the side with the columns of the other in them? */
static bool
keeps_rows(JoinType type, bool left)
{
	return type == JOIN_FULL || type == (left ? JOIN_LEFT : JOIN_RIGHT);
}

static Place *
place_of_group(Pair *pair, CutGroup *group)
{
	return place_of_rows(
		part_make(pair->query, group->items, group_quals(group, pair->quals)));
}

/* Sending `moving` to where the key of `staying` equals one of its columns. */
static void
offer_to_key(Pair *pair, CutGroup *moving, double bytes, CutGroup *staying, bool left)
{
	Place *place = place_of_group(pair, staying);

	if (place->kind != PLACE_SHARDS || !place->splits || !OidIsValid(place->key_type) ||
		dist_table_require(place->anchor)->kind != TABLE_HASH)
		return;
	foreach_ptr (Node, key, list_concat_copy(place->strict, place->weak))
	{
		foreach_ptr (Node, member,
					 equalities_members(pair->equalities, key, place->key_family))
		{
			Move move = {.group = moving,
						 .column = member,
						 .keep_nulls = keeps_rows(pair->type, left),
						 .place = place};

			if (is_inside(member, moving) &&
				hash_family_of_type(exprType(member)) == place->key_family &&
				type_hash_is_portable(exprType(member)))
			{
				offer(pair, bytes + fixed_cost * 1024, &move, NULL);
				return;
			}
		}
	}
}

/* A layout for rows of a hash family that is the anchor's table only in where it is. */
static Place *
fresh_place(const CutGroup *like, Node *column)
{
	Place *place = palloc0(sizeof(Place));
	const DistTable *table = dist_table_require(like->distribution.anchor);

	place->kind = PLACE_SHARDS;
	place->splits = true;
	place->anchor = like->distribution.anchor;
	place->key_type = exprType(column);
	place->key_family = hash_family_of_type(place->key_type);
	place->key_collation = exprCollation(column);
	if (hash_family_of_type(table->key_type) == place->key_family)
	{
		place->colocation = table->colocation;
		place->key_type = table->key_type;
		return place;
	}
	/* Such rows meet others of the family and the table only. */
	place->own_hash = true;
	place->colocation =
		-(int32) (((uint32) place->key_family * 31 + table->colocation) & PG_INT32_MAX);
	return place;
}

static const CutGroup *
group_with_layout(const CutGroup *a, const CutGroup *b)
{
	const CutGroup *groups[2] = {a, b};

	for (int i = 0; i < 2; i++)
	{
		const DistTable *table;

		if (!distribution_has_shards(&groups[i]->distribution))
			continue;
		table = dist_table(groups[i]->distribution.anchor);
		if (table != NULL && table->kind == TABLE_HASH)
			return groups[i];
	}
	return NULL;
}

static void
offer_both(Pair *pair)
{
	const CutGroup *like = group_with_layout(pair->a, pair->b);
	ListCell *cell;

	if (like == NULL)
		return;
	foreach (cell, pair->quals)
	{
		OpExpr *qual = lfirst(cell);
		Node *left;
		Node *right;
		Oid family;
		Move moves[2] = {{.group = pair->a, .keep_nulls = keeps_rows(pair->type, true)},
						 {.group = pair->b, .keep_nulls = keeps_rows(pair->type, false)}};

		if (!IsA(qual, OpExpr) || list_length(qual->args) != 2)
			continue;
		left = equality_strip(linitial(qual->args));
		right = equality_strip(lsecond(qual->args));
		family = equality_family(qual->opno, linitial(qual->args), qual->inputcollid);
		if (is_inside(left, pair->b))
		{
			Node *swap = left;

			left = right;
			right = swap;
		}
		if (!OidIsValid(family) || !is_inside(left, pair->a) ||
			!is_inside(right, pair->b) || hash_family_of_type(exprType(left)) != family ||
			hash_family_of_type(exprType(right)) != family ||
			!type_hash_is_portable(exprType(left)) ||
			!type_hash_is_portable(exprType(right)))
			continue;
		moves[0].column = left;
		moves[1].column = right;
		moves[0].place = moves[1].place = fresh_place(like, left);
		offer(pair, pair->bytes_a + pair->bytes_b + 2 * fixed_cost * 1024, &moves[0],
			  &moves[1]);
		return;
	}
}

/* Is there an equality with columns of both groups, or another condition? */
static bool
are_related(const Pair *pair)
{
	Relids both = bms_union(pair->a->relids, pair->b->relids);

	foreach_ptr (Node, qual, pair->quals)
	{
		Relids relids = pull_varnos(NULL, qual);

		if (bms_overlap(relids, pair->a->relids) &&
			bms_overlap(relids, pair->b->relids) && bms_is_subset(relids, both))
			return true;
	}
	return false;
}

static void
offer_moves(Pair *pair)
{
	bool a_shards = distribution_has_shards(&pair->a->distribution);
	bool b_shards = distribution_has_shards(&pair->b->distribution);
	Move a_to_all = {.group = pair->a};
	Move b_to_all = {.group = pair->b};

	if (b_shards && !keeps_rows(pair->type, true))
		offer(pair, broadcast_cost(pair->bytes_a, pair->b), &a_to_all, NULL);
	if (a_shards && !keeps_rows(pair->type, false))
		offer(pair, broadcast_cost(pair->bytes_b, pair->a), &b_to_all, NULL);
	if (!redistribute)
		return;
	if (b_shards)
		offer_to_key(pair, pair->a, pair->bytes_a, pair->b, true);
	if (a_shards)
		offer_to_key(pair, pair->b, pair->bytes_b, pair->a, false);
	offer_both(pair);
}

/* ------------------------------------------------------------------------------------
 * Choosing.
 */

static bool
can_move(const CutGroup *group, Query *query)
{
	Node *item = linitial(group->items);
	RangeTblEntry *rte;

	/* What is everywhere is no obstacle, and what was moved once stays. */
	if (!bms_is_subset(group->lateral, group->relids) ||
		group->distribution.kind == DIST_ANYWHERE)
		return false;
	if (list_length(group->items) == 1 && IsA(item, RangeTblRef) &&
		exchange_is_read(rt_fetch(((RangeTblRef *) item)->rtindex, query->rtable)))
		return false;
	if (distribution_has_shards(&group->distribution))
		return true;
	if (list_length(group->items) != 1 || !IsA(item, RangeTblRef) ||
		level_has_kept_ctes(part_make(query, group->items, NIL)))
		return false;
	/* Whatever it is, its rows are computed once, here. */
	rte = rt_fetch(((RangeTblRef *) item)->rtindex, query->rtable);
	if (rte->rtekind == RTE_RELATION)
		return local_policy == LOCAL_AUTO || local_policy == LOCAL_PREFERRED;
	return rte->rtekind == RTE_SUBQUERY || rte->rtekind == RTE_FUNCTION ||
		   rte->rtekind == RTE_VALUES;
}

static bool
has_shards(const Pair *pair)
{
	return distribution_has_shards(&pair->a->distribution) ||
		   distribution_has_shards(&pair->b->distribution);
}

static void
look_at_pair(Pair *pair)
{
	pair->equalities = equalities_create();
	equalities_add(pair->equalities, pair->quals);
	offer_moves(pair);
}

/* What the rows of an inner join count; close: they may be estimated. */
static double
weight_of_join(const Pair *pair, bool close)
{
	CutGroup both = {.items = list_concat_copy(pair->a->items, pair->b->items),
					 .relids = bms_union(pair->a->relids, pair->b->relids)};

	/* Without a condition it is the last resort. */
	if (!are_related(pair))
		return 1e30;
	return close ? RESULT_WEIGHT * group_bytes(pair->query, &both, pair->quals) : 0;
}

/* Do rows that are here go away though those that they meet are far fewer? */
static bool
sends_too_much(const Choice *choice, const List *groups, const double *bytes)
{
	double here = 0;
	bool sends = false;
	int i = 0;

	if (local_policy == LOCAL_PREFERRED)
		return false;
	for (int move = 0; move < choice->nmoves; move++)
		sends |= !distribution_has_shards(&choice->moves[move].group->distribution);
	foreach_ptr (CutGroup, group, groups)
	{
		double of_group = bytes[i++];

		if (!distribution_has_shards(&group->distribution))
			continue;
		/* It was moved before. */
		if (of_group < 0)
			return false;
		here += of_group;
	}
	return sends && choice->sent > HERE_BYTES + HERE_WEIGHT * here;
}

Choice
move_of_inner_join(Query *query, List *groups, List *quals)
{
	Choice best = {.cost = -1};
	double *bytes = palloc0(sizeof(double) * list_length(groups));
	int looked_at = 0;
	int i = 0;

	foreach_ptr (CutGroup, group, groups)
		bytes[i++] = can_move(group, query) && !sends_names(query, group, quals)
						 ? group_bytes(query, group, quals)
						 : -1;
	for (i = 0; i < list_length(groups); i++)
	{
		for (int j = i + 1; j < list_length(groups); j++)
		{
			Pair pair = {.query = query,
						 .a = list_nth(groups, i),
						 .b = list_nth(groups, j),
						 .bytes_a = bytes[i],
						 .bytes_b = bytes[j],
						 .quals = quals,
						 .type = JOIN_INNER,
						 .best = &best};

			if (bytes[i] < 0 || bytes[j] < 0 || !has_shards(&pair))
				continue;
			pair.result = weight_of_join(&pair, looked_at < MOVES_MAX);
			if (pair.result < 1e30)
				looked_at++;
			look_at_pair(&pair);
		}
	}
	if (!join_tree_has_outer((Node *) query->jointree) &&
		sends_too_much(&best, groups, bytes))
		best.cost = -1;
	pfree(bytes);
	return best;
}

Choice
move_of_outer_join(Query *query, CutGroup *left, CutGroup *right, List *above_left,
				   List *above_right, List *quals, JoinType type)
{
	Choice best = {.cost = -1};
	Pair pair = {.query = query,
				 .a = left,
				 .b = right,
				 .quals = quals,
				 .type = type,
				 .best = &best};

	if (!can_move(left, query) || !can_move(right, query) || !has_shards(&pair) ||
		sends_names(query, left, above_left) || sends_names(query, right, above_right))
		return best;
	pair.bytes_a = group_bytes(query, left, above_left);
	pair.bytes_b = group_bytes(query, right, above_right);
	look_at_pair(&pair);
	return best;
}
