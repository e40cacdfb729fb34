/*
 * level_fields.c: which part of a level, or of a range table entry, each field belongs
 * to.
 *
 * tools/check-structure compares the tables with PostgreSQL's structures: a field that
 * isn't here fails it, as one that PostgreSQL hasn't fails to compile.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"

#include "pando/compat/fields.h"
#include "pando/planner/query/level_fields.h"

typedef struct Field
{
	Size offset;
	Size size;
	int part;
} Field;

#define QUERY(field, part)                                                               \
	{                                                                                    \
		offsetof(Query, field), sizeof(((Query *) 0)->field), part                       \
	}
#define ENTRY(field, part)                                                               \
	{                                                                                    \
		offsetof(RangeTblEntry, field), sizeof(((RangeTblEntry *) 0)->field), part       \
	}

/* clang-format off */
static const Field query_fields[] = {
	QUERY(type, LEVEL_ITSELF),
	QUERY(querySource, LEVEL_ITSELF),
	QUERY(queryId, LEVEL_ITSELF),
	QUERY(canSetTag, LEVEL_ITSELF),
	QUERY(utilityStmt, LEVEL_ITSELF),
	QUERY(isReturn, LEVEL_ITSELF),
	QUERY(hasRowSecurity, LEVEL_ITSELF), /* the plan is one role's */
	QUERY(stmt_location, LEVEL_ITSELF),
	QUERY(stmt_len, LEVEL_ITSELF),

	QUERY(rtable, LEVEL_FROM), QUERY_RIGHTS_FIELDS(QUERY, LEVEL_FROM)
	QUERY(jointree, LEVEL_FROM),
	QUERY(cteList, LEVEL_FROM),
	QUERY(hasRecursive, LEVEL_FROM),
	QUERY(hasModifyingCTE, LEVEL_FROM),
	QUERY(rowMarks, LEVEL_FROM),
	QUERY(hasForUpdate, LEVEL_FROM),

	QUERY(hasAggs, LEVEL_ROWS),
	QUERY(hasWindowFuncs, LEVEL_ROWS),
	QUERY(hasTargetSRFs, LEVEL_ROWS),
	QUERY(groupClause, LEVEL_ROWS),
	QUERY(groupDistinct, LEVEL_ROWS),
	QUERY(groupingSets, LEVEL_ROWS),
	QUERY(constraintDeps, LEVEL_ROWS), /* keys that determine columns not grouped by */
	QUERY(havingQual, LEVEL_ROWS),
	QUERY(windowClause, LEVEL_ROWS),
	QUERY(setOperations, LEVEL_ROWS),

	QUERY(targetList, LEVEL_OUTPUT),
	QUERY(hasSubLinks, LEVEL_OUTPUT), /* of all parts: for whoever strips it to set */

	QUERY(distinctClause, LEVEL_ORDER),
	QUERY(hasDistinctOn, LEVEL_ORDER),
	QUERY(sortClause, LEVEL_ORDER),
	QUERY(limitOffset, LEVEL_ORDER),
	QUERY(limitCount, LEVEL_ORDER),
	QUERY(limitOption, LEVEL_ORDER),

	QUERY(commandType, LEVEL_WRITE),
	QUERY(resultRelation, LEVEL_WRITE),
	QUERY(override, LEVEL_WRITE),
	QUERY(onConflict, LEVEL_WRITE),
	QUERY(mergeActionList, LEVEL_WRITE),
	QUERY_MERGE_FIELDS(QUERY, LEVEL_WRITE),
	QUERY(returningList, LEVEL_WRITE),
	QUERY(withCheckOptions, LEVEL_WRITE),
};

static const Field entry_fields[] = {
	ENTRY(type, ENTRY_ITSELF),

	ENTRY(alias, ENTRY_NAMES),
	ENTRY(eref, ENTRY_NAMES),
	ENTRY(inFromCl, ENTRY_NAMES),

	ENTRY(rtekind, ENTRY_SOURCE),
	ENTRY(relid, ENTRY_SOURCE),
	ENTRY(relkind, ENTRY_SOURCE),
	ENTRY(rellockmode, ENTRY_SOURCE),
	ENTRY(inh, ENTRY_SOURCE),
	ENTRY(subquery, ENTRY_SOURCE),
	ENTRY(security_barrier, ENTRY_SOURCE),
	ENTRY(jointype, ENTRY_SOURCE),
	ENTRY(joinmergedcols, ENTRY_SOURCE),
	ENTRY(joinaliasvars, ENTRY_SOURCE),
	ENTRY(joinrightcols, ENTRY_SOURCE),
	ENTRY(join_using_alias, ENTRY_SOURCE),
	ENTRY(functions, ENTRY_SOURCE),
	ENTRY(funcordinality, ENTRY_SOURCE),
	ENTRY(tablefunc, ENTRY_SOURCE),
	ENTRY(values_lists, ENTRY_SOURCE),
	ENTRY(ctename, ENTRY_SOURCE),
	ENTRY(ctelevelsup, ENTRY_SOURCE),
	ENTRY(self_reference, ENTRY_SOURCE),
	ENTRY(coltypes, ENTRY_SOURCE),
	ENTRY(coltypmods, ENTRY_SOURCE),
	ENTRY(colcollations, ENTRY_SOURCE),
	ENTRY(enrname, ENTRY_SOURCE),
	ENTRY(enrtuples, ENTRY_SOURCE),
	ENTRY(lateral, ENTRY_SOURCE), /* of what is inside: for whoever puts it there to set */

	ENTRY(tablesample, ENTRY_ROWS),
	ENTRY(securityQuals, ENTRY_ROWS),

	ENTRY_RIGHTS_FIELDS(ENTRY, ENTRY_SOURCE, ENTRY_RIGHTS),
};
/* clang-format on */

static void
clear(void *node, const Field *fields, int count, int parts)
{
	for (int i = 0; i < count; i++)
	{
		if (fields[i].part & parts)
			memset((char *) node + fields[i].offset, 0, fields[i].size);
	}
}

void
level_clear(Query *query, int parts)
{
	clear(query, query_fields, lengthof(query_fields), parts);
}

void
level_become_select(Query *query)
{
	level_clear(query, LEVEL_WRITE);
	query->commandType = CMD_SELECT;
}

void
entry_clear(RangeTblEntry *rte, int parts)
{
	clear(rte, entry_fields, lengthof(entry_fields), parts);
}

Query *
query_new(void)
{
	Query *query = makeNode(Query);

	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	query->jointree = makeFromExpr(NIL, NULL);
	return query;
}
