/*
 * exchange.c: FROM items whose rows go where the others are.
 *
 * A level that is to be evaluated on the shards needs FROM items that fit together. Where
 * two groups of items don't, one of them (or both) becomes a query of its own, whose rows
 * are sent to all nodes, or to the shard groups that the hash of a join column chooses;
 * pando.exchange_rows() is read in its place, which place.h knows as an item that is
 * anywhere, or sharded by that column. The level stays as it was written otherwise, so
 * that outer joins and what is above them keep their meaning.
 *
 * One move at a time, the one that costs least in bytes, until the level fits. The rows
 * of a move may be read by a later one's query: results are planned in the order in which
 * they were made.
 *
 * Rows without a value in the column are left out where the join would do it, else they
 * all go to one shard group; the column is a weak key then (it may be NULL).
 */
#include "pando/compat/compat.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "parser/parse_func.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/plan/fragment.h"
#include "pando/planner/broadcast.h"
#include "pando/planner/cut.h"
#include "pando/planner/cutting.h"
#include "pando/planner/equality.h"
#include "pando/planner/estimate.h"
#include "pando/planner/exchange.h"
#include "pando/planner/fragment_make.h"
#include "pando/planner/hook.h"
#include "pando/planner/join_tree.h"
#include "pando/planner/level.h"

/* A join's rows may have to be moved again, and are worked on: what a byte of them
 * counts.
 */
#define RESULT_WEIGHT 0.3

/* More than that of the limit on results is not sent to every node if it can be helped.
 */
#define LIMIT_SHARE 0.25
#define OVER_LIMIT 1000.0

/* Groups, above which not every pair is looked at closely. */
#define MOVES_MAX 40

static bool redistribute = true;
static double fixed_cost = 8.0;

/* A result of the scope that is exchanged, with what its readers need to know of it. */
typedef struct Exchange
{
	SubResult result; /* first: it stands for this in the scope */
	Query *query;
	Place *place; /* of its readers, where the key is Var 1.<column>; NULL: anywhere */
} Exchange;

/* One group of a join and where it goes. */
typedef struct Move
{
	CutGroup *group;
	Node *column; /* Var whose hash decides; NULL: to all nodes */
	bool keep_nulls;
	Place *place; /* what it meets there; NULL: to all nodes */
} Move;

typedef struct Choice
{
	Move moves[2];
	int nmoves;
	double cost; /* < 0: none found yet */
} Choice;

typedef struct Fit
{
	Cutting cutting;
	bool moved;
	int pairs; /* looked at closely */
} Fit;

static Node *fit_from(Fit *fit, List *from, List *above);

void
exchange_init(void)
{
	DefineCustomBoolVariable(
		"citus.enable_repartition_joins",
		"Allows rows to be sent to other nodes by the hash of a join column.", NULL,
		&redistribute, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomRealVariable(
		"pando.exchange_cost",
		"What starting an exchange costs, in kilobytes that could be sent instead.", NULL,
		&fixed_cost, 8.0, 0.0, 1e9, PGC_USERSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
}

/* ------------------------------------------------------------------------------------
 * Reads.
 */

static Exchange *
exchange_of_rte(RangeTblEntry *rte)
{
	SubResult *result;

	if (rte->rtekind != RTE_FUNCTION || list_length(rte->functions) != 1)
		return NULL;
	result = broadcast_result_of_call(
		((RangeTblFunction *) linitial(rte->functions))->funcexpr);
	return result != NULL && result->exchange ? (Exchange *) result : NULL;
}

Place *
exchange_place(RangeTblEntry *rte, Index varno)
{
	Exchange *exchange = exchange_of_rte(rte);
	Place *place;

	if (exchange == NULL)
		return NULL;
	if (exchange->place == NULL)
		place = place_anywhere(InvalidOid);
	else
	{
		place = palloc(sizeof(Place));
		*place = *exchange->place;
		place->strict = copyObject(place->strict);
		place->weak = copyObject(place->weak);
		ChangeVarNodes((Node *) place->strict, 1, varno, 0);
		ChangeVarNodes((Node *) place->weak, 1, varno, 0);
	}
	place->relids = bms_make_singleton(varno);
	return place;
}

static bool
expand_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		RangeTblEntry *rte = (RangeTblEntry *) node;
		Exchange *exchange = exchange_of_rte(rte);

		if (exchange != NULL)
		{
			rte->rtekind = RTE_SUBQUERY;
			rte->functions = NIL;
			rte->subquery = copyObject(exchange->query);
		}
		return false;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, expand_walker, context,
								 QTW_EXAMINE_RTES_BEFORE | QTW_IGNORE_JOINALIASES);
	return expression_tree_walker(node, expand_walker, context);
}

void
exchange_expand(Query *query)
{
	expand_walker((Node *) query, NULL);
}

static RangeTblEntry *
read_rte(Exchange *exchange)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	const Oid type = TEXTOID;
	Oid function = LookupFuncName(
		list_make2(makeString("pando"), makeString("exchange_rows")), 1, &type, false);
	Const *argument = makeConst(
		TEXTOID, -1, get_typcollation(TEXTOID), -1,
		CStringGetTextDatum(template_result_placeholder(exchange->result.number)), false,
		false);
	FuncExpr *call = makeFuncExpr(function, RECORDOID, list_make1(argument), InvalidOid,
								  InvalidOid, COERCE_EXPLICIT_CALL);
	RangeTblFunction *columns;

	call->funcretset = true;
	rte->rtekind = RTE_FUNCTION;
	rte->functions = broadcast_read_functions((Node *) call, exchange->query);
	columns = linitial(rte->functions);
	rte->eref = makeAlias("exchange", copyObject(columns->funccolnames));
	rte->alias = makeAlias("exchange", NIL);
	rte->inFromCl = true;
	return rte;
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
			if (checkExprHasSubLink(qual) || !cutting_belongs(qual, needed->group))
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
group_query(Fit *fit, const CutGroup *group, List *quals)
{
	Query *query = fit->cutting.query;
	Needed needed = {.query = query, .group = group};
	Query *part;
	List *own = list_copy(group->quals);

	foreach_ptr (Node, qual, quals)
	{
		if (!checkExprHasSubLink(qual) && cutting_belongs(qual, group))
			own = lappend(own, qual);
	}
	part = part_make(query, group->items, own);
	query_tree_walker(query, needed_walker, &needed, QTW_IGNORE_JOINALIASES);
	foreach_ptr (Node, var, needed.vars)
		part_column(part, var, "column");
	if (part->targetList == NIL)
		part_column(part, (Node *) makeBoolConst(true, false), "row");
	return part;
}

static double
group_bytes(Fit *fit, const CutGroup *group, List *quals)
{
	Estimate estimate = estimate_query(group_query(fit, group, quals));

	return estimate_bytes(estimate.rows, estimate.width);
}

/* On how many nodes the group's shards are. */
static int
group_nodes(const CutGroup *group)
{
	const DistTable *table;
	Bitmapset *groups = NULL;

	if (!distribution_has_shards(&group->distribution) ||
		(group->distribution.pruned && list_length(group->distribution.keys) == 1))
		return 1;
	table = dist_table(group->distribution.anchor);
	for (int i = 0; table != NULL && i < table->nshards; i++)
	{
		if (table->shards[i].nplacements > 0)
			groups = bms_add_member(groups, table->shards[i].placements[0].group);
	}
	return Max(1, bms_num_members(groups));
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
	double cost = bytes * group_nodes(readers) + fixed_cost * 1024;

	return limit > 0 && bytes > limit * LIMIT_SHARE ? cost * OVER_LIMIT : cost;
}

/* ------------------------------------------------------------------------------------
 * Moves of a pair of groups.
 */

typedef struct Pair
{
	Fit *fit;
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

static void
offer(Pair *pair, double cost, const Move *one, const Move *other)
{
	Choice *best = pair->best;

	cost += pair->result;
	if (best->cost >= 0 && best->cost <= cost)
		return;
	best->cost = cost;
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
	List *own = list_copy(group->quals);

	foreach_ptr (Node, qual, pair->quals)
	{
		if (!checkExprHasSubLink(qual) && cutting_belongs(qual, group))
			own = lappend(own, qual);
	}
	return place_of_rows(part_make(pair->fit->cutting.query, group->items, own));
}

/* Sending `moving` to where the key of `staying` equals one of its columns. */
static void
offer_to_key(Pair *pair, CutGroup *moving, double bytes, CutGroup *staying, bool left)
{
	Place *place = place_of_group(pair, staying);

	if (place->kind != PLACE_SHARDS || !place->splits || !OidIsValid(place->key_type))
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
				hash_family_of_type(exprType(member)) == place->key_family)
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
			hash_family_of_type(exprType(right)) != family)
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
 * Making a move.
 */

static RangeTblEntry *
exchange_of_cut(Cut *cut)
{
	Move *move = cut->data;
	Exchange *exchange = palloc0(sizeof(Exchange));

	exchange->query = cut->part;
	exchange->result.exchange = true;
	if (move->column != NULL)
	{
		List *key;

		exchange->result.column = part_column(cut->part, move->column, "key");
		exchange->result.keep_nulls = move->keep_nulls;
		exchange->place = palloc(sizeof(Place));
		*exchange->place = *move->place;
		exchange->place->bound = exchange->place->values = NIL;
		exchange->place->pruned = exchange->place->one_group = false;
		exchange->place->splits = true;
		key =
			list_make1(makeVar(1, exchange->result.column, exprType(move->column),
							   exprTypmod(move->column), exprCollation(move->column), 0));
		exchange->place->strict = move->keep_nulls ? NIL : key;
		exchange->place->weak = move->keep_nulls ? key : NIL;
	}
	if (cut->part->targetList == NIL)
		part_column(cut->part, (Node *) makeBoolConst(true, false), "row");
	broadcast_add_result(&exchange->result);
	return read_rte(exchange);
}

static Node *
cut_move(Fit *fit, const Move *move, List *quals)
{
	Node *ref = cutting_cut(&fit->cutting, move->group, quals);
	Cut *cut = llast(fit->cutting.cuts);

	cut->replace = exchange_of_cut;
	cut->data = memcpy(palloc(sizeof(Move)), move, sizeof(Move));
	return ref;
}

/* Items of an inner join as one node, as the deparser knows them; NULL: can't be. */
static Node *
items_as_node(List *items, List *quals)
{
	Node *result = linitial(items);
	ListCell *cell;

	if (list_length(items) == 1)
		return quals == NIL ? result : NULL;
	for_each_from(cell, items, 1)
	{
		JoinExpr *join = makeNode(JoinExpr);

		join->jointype = JOIN_INNER;
		join->larg = result;
		join->rarg = lfirst(cell);
		join->quals = lnext(items, cell) == NULL && quals != NIL
						  ? quals_as_node(quals)
						  : makeBoolConst(true, false);
		result = (Node *) join;
	}
	return result;
}

/* The items after moves, those that were cut replaced. */
static List *
items_after(Fit *fit, List *items, const Choice *choice, List *quals)
{
	List *result = list_copy(items);

	for (int i = 0; i < choice->nmoves; i++)
	{
		const Move *move = &choice->moves[i];
		Node *ref = cut_move(fit, move, quals);

		foreach_ptr (Node, item, move->group->items)
		{
			if (item == linitial(move->group->items))
			{
				ListCell *cell;

				foreach (cell, result)
				{
					if (lfirst(cell) == item)
						lfirst(cell) = ref;
				}
			}
			else
				result = list_delete_ptr(result, item);
		}
	}
	fit->moved = true;
	return result;
}

/* ------------------------------------------------------------------------------------
 * Looking for a move.
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
		exchange_of_rte(rt_fetch(((RangeTblRef *) item)->rtindex, query->rtable)))
		return false;
	if (distribution_has_shards(&group->distribution))
		return true;
	if (list_length(group->items) != 1 || !IsA(item, RangeTblRef))
		return false;
	/* Whatever it is, its rows are computed once, here. */
	rte = rt_fetch(((RangeTblRef *) item)->rtindex, query->rtable);
	return rte->rtekind == RTE_SUBQUERY || rte->rtekind == RTE_RELATION ||
		   rte->rtekind == RTE_FUNCTION || rte->rtekind == RTE_VALUES;
}

static void
look_at_pair(Fit *fit, CutGroup *a, CutGroup *b, double bytes_a, double bytes_b,
			 List *quals, JoinType type, Choice *best)
{
	Pair pair = {.fit = fit,
				 .a = a,
				 .b = b,
				 .bytes_a = bytes_a,
				 .bytes_b = bytes_b,
				 .quals = quals,
				 .type = type,
				 .best = best};

	if (!distribution_has_shards(&a->distribution) &&
		!distribution_has_shards(&b->distribution))
		return;
	pair.equalities = equalities_create();
	equalities_add(pair.equalities, quals);
	if (type == JOIN_INNER)
	{
		CutGroup both = {0};

		both.items = list_concat_copy(a->items, b->items);
		both.relids = bms_union(a->relids, b->relids);
		/* Without a condition it is the last resort. */
		if (!are_related(&pair))
			pair.result = 1e30;
		else if (fit->pairs++ < MOVES_MAX)
			pair.result = RESULT_WEIGHT * group_bytes(fit, &both, quals);
	}
	offer_moves(&pair);
}

static Choice
choose_inner(Fit *fit, List *groups, List *quals)
{
	Choice best = {.cost = -1};
	double *bytes = palloc0(sizeof(double) * list_length(groups));
	int i = 0;

	foreach_ptr (CutGroup, group, groups)
		bytes[i++] =
			can_move(group, fit->cutting.query) ? group_bytes(fit, group, quals) : 1e30;
	for (i = 0; i < list_length(groups); i++)
	{
		CutGroup *a = list_nth(groups, i);

		for (int j = i + 1; j < list_length(groups); j++)
		{
			CutGroup *b = list_nth(groups, j);

			if (can_move(a, fit->cutting.query) && can_move(b, fit->cutting.query))
				look_at_pair(fit, a, b, bytes[i], bytes[j], quals, JOIN_INNER, &best);
		}
	}
	pfree(bytes);
	return best;
}

static bool
fits(const CutGroup *group)
{
	return distribution_has_shards(&group->distribution) ||
		   group->distribution.kind == DIST_ANYWHERE;
}

static Node *
side_as_node(Node *side)
{
	return side != NULL && IsA(side, FromExpr)
			   ? items_as_node(((FromExpr *) side)->fromlist,
							   quals_flat(((FromExpr *) side)->quals))
			   : side;
}

/* A move inside of an outer join, or of one of its sides; NULL: none. */
static Node *
fit_outer_join(Fit *fit, JoinExpr *join, List *above)
{
	JoinType type = join_type_reduced(join, above);
	List *quals = quals_flat(join->quals);
	List *above_left = type == JOIN_LEFT ? above : type == JOIN_RIGHT ? quals : NIL;
	List *above_right = type == JOIN_LEFT ? quals : type == JOIN_RIGHT ? above : NIL;
	JoinExpr *result = makeNode(JoinExpr);

	*result = *join;
	result->jointype = type;
	result->larg = fit_from(fit, list_make1(join->larg), above_left);
	if (result->larg == NULL)
		return NULL;
	if (!fit->moved)
	{
		result->larg = join->larg;
		result->rarg = fit_from(fit, list_make1(join->rarg), above_right);
		if (result->rarg == NULL)
			return NULL;
	}
	if (!fit->moved)
	{
		CutGroup *left = cutting_group(&fit->cutting, join->larg, above_left);
		CutGroup *right = cutting_group(&fit->cutting, join->rarg, above_right);
		Choice best = {.cost = -1};

		if (!can_move(left, fit->cutting.query) || !can_move(right, fit->cutting.query))
			return NULL;
		look_at_pair(fit, left, right, group_bytes(fit, left, above_left),
					 group_bytes(fit, right, above_right), quals, type, &best);
		if (best.cost < 0)
			return NULL;
		result->larg = join->larg;
		result->rarg = join->rarg;
		for (int i = 0; i < best.nmoves; i++)
		{
			bool is_left = best.moves[i].group == left;
			Node *ref = cut_move(fit, &best.moves[i], is_left ? above_left : above_right);

			if (is_left)
				result->larg = ref;
			else
				result->rarg = ref;
		}
		fit->moved = true;
	}
	result->larg = side_as_node(result->larg);
	result->rarg = side_as_node(result->rarg);
	if (result->larg == NULL || result->rarg == NULL)
		return NULL;
	result->quals = quals_as_node(cutting_not_consumed(&fit->cutting, quals));
	/* An outer join without a condition is one on true. */
	if (result->quals == NULL)
		result->quals = makeBoolConst(true, false);
	return (Node *) result;
}

/*
 * The inner join of `from`, after one move if one is needed; `above`: qualifications that
 * hold for the rows and may be taken from where they stand. NULL: none could be found.
 */
static Node *
fit_from(Fit *fit, List *from, List *above)
{
	List *quals = list_copy(above);
	List *items = NIL;
	List *groups = NIL;
	Choice choice;
	ListCell *cell;

	foreach_ptr (Node, node, from)
		join_tree_flatten(node, &items, &quals);
	foreach (cell, items)
	{
		Node *item = lfirst(cell);
		CutGroup *group = cutting_group(&fit->cutting, item, quals);

		if (IsA(item, JoinExpr) && !fits(group))
		{
			Node *fitted = fit_outer_join(fit, (JoinExpr *) item, quals);

			if (fitted == NULL)
				return NULL;
			lfirst(cell) = fitted;
			quals = cutting_not_consumed(&fit->cutting,
										 list_copy_tail(quals, list_length(above)));
			return (Node *) makeFromExpr(items, quals_as_node(quals));
		}
		groups = lappend(groups, group);
	}
	groups = cutting_merge(&fit->cutting, groups, quals);
	if (list_length(groups) <= 1 && (groups == NIL || fits(linitial(groups))))
		return (Node *) makeFromExpr(items, NULL);
	choice = choose_inner(fit, groups, quals);
	if (choice.cost < 0)
		return NULL;
	items = items_after(fit, items, &choice, quals);
	quals =
		cutting_not_consumed(&fit->cutting, list_copy_tail(quals, list_length(above)));
	return (Node *) makeFromExpr(items, quals_as_node(quals));
}

/* ------------------------------------------------------------------------------------
 * The level.
 */

static bool
from_fits(Query *query)
{
	Query *part = part_make(query, query->jointree->fromlist, NIL);
	Distribution distribution;

	foreach_ptr (Node, qual, quals_flat(query->jointree->quals))
	{
		if (!checkExprHasSubLink(qual))
			part->jointree->quals = make_and_qual(part->jointree->quals, qual);
	}
	distribution = distribution_of_query(part);
	return distribution_has_shards(&distribution);
}

static void
plan_exchange(Exchange *exchange)
{
	Distribution distribution = distribution_of_query(exchange->query);

	if (distribution_has_shards(&distribution))
	{
		Fragment *fragment = fragment_from_query(exchange->query, &distribution);

		fragment->subplans = broadcast_results_of(exchange->query);
		fragment_take_estimate(fragment, estimate_query(exchange->query));
		exchange->result.plan = fragment_planned_stmt(exchange->query, fragment);
		exchange->result.from_nodes = true;
	}
	else
		exchange->result.plan = plan_any_query(copyObject(exchange->query), 0, NULL);
}

static int
by_number(const ListCell *a, const ListCell *b)
{
	return ((SubResult *) lfirst(a))->number - ((SubResult *) lfirst(b))->number;
}

/* Results that are read by those of the list as well. */
static List *
all_results(List *results)
{
	for (int i = 0; i < list_length(results); i++)
	{
		SubResult *result = list_nth(results, i);

		if (result->exchange)
			results = list_union_ptr(results,
									 broadcast_results_of(((Exchange *) result)->query));
	}
	list_sort(results, by_number);
	return results;
}

/* Rows are locked where they are, and by who reads them for the client. */
static bool
locks_rows(Query *query)
{
	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		if (rte->rtekind == RTE_SUBQUERY &&
			(rte->subquery->rowMarks != NIL || rte->subquery->hasForUpdate))
			return true;
	}
	return query->rowMarks != NIL;
}

/* Subqueries in FROM may fit when theirs do. */
static bool
exchange_subqueries(Query *query)
{
	Relids used = get_relids_in_jointree((Node *) query->jointree, false);
	bool changed = false;
	Index varno = 0;

	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		int mark = broadcast_mark();
		Distribution distribution;
		Query *copy;

		varno++;
		if (rte->rtekind != RTE_SUBQUERY || !bms_is_member(varno, used) ||
			query_refers_outside(rte->subquery, true))
			continue;
		distribution = distribution_of_query(rte->subquery);
		if (distribution.kind != DIST_COORDINATOR)
			continue;
		copy = copyObject(rte->subquery);
		if (level_exchange(copy))
		{
			distribution = distribution_of_query(copy);
			if (distribution_has_shards(&distribution))
			{
				rte->subquery = copy;
				changed = true;
				continue;
			}
		}
		broadcast_forget(mark);
	}
	return changed;
}

bool
level_exchange(Query *query)
{
	Query *work;
	int mark = broadcast_mark();
	int moves = 0;
	int limit;
	bool inside;

	/* What moves is a plan of its own, that knows no row of an outer level. */
	if (query->setOperations != NULL || query->jointree->fromlist == NIL ||
		locks_rows(query) || level_uses_records(query) ||
		query_refers_outside(query, true) || from_fits(query))
		return false;
	work = copyObject(query);
	inside = exchange_subqueries(work);
	limit = list_length(query->rtable);
	while (!from_fits(work))
	{
		Fit fit = {0};
		Node *tree;

		cutting_start(&fit.cutting, work);
		tree = fit_from(&fit, list_make1(work->jointree), NIL);
		if (tree == NULL || !fit.moved || moves > limit)
		{
			broadcast_forget(mark);
			return false;
		}
		cutting_finish(&fit.cutting, tree);
		join_tree_renew(work);
		moves++;
	}
	foreach_ptr (SubResult, result, all_results(broadcast_results_of(work)))
	{
		if (result->exchange && result->plan == NULL)
			plan_exchange((Exchange *) result);
	}
	*query = *work;
	level_drop_unused_ctes(query);
	return moves > 0 || inside;
}
