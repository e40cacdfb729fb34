/*
 * to.c: COPY TO from a distributed table, as COPY (SELECT its columns) TO.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "commands/copy.h"
#include "nodes/makefuncs.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pando/copy/to.h"

/* One output column; the name decides nothing here, FORCE_QUOTE and HEADER use it. */
static ResTarget *
column_target(const char *name)
{
	ColumnRef *column = makeNode(ColumnRef);
	ResTarget *target = makeNode(ResTarget);

	column->fields = list_make1(makeString(pstrdup(name)));
	column->location = -1;
	target->val = (Node *) column;
	target->location = -1;
	return target;
}

CopyStmt *
copy_to_query(CopyStmt *stmt, Oid relid)
{
	CopyStmt *result;
	SelectStmt *select = makeNode(SelectStmt);
	Relation rel = table_open(relid, AccessShareLock);
	RangeVar *from;
	ListCell *cell;

	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
	{
		table_close(rel, AccessShareLock);
		return stmt;
	}

	/* Raises PostgreSQL's errors for a column that is unknown, generated or named twice.
	 */
	foreach (cell, CopyGetAttnums(RelationGetDescr(rel), rel, stmt->attlist))
		select->targetList = lappend(
			select->targetList,
			column_target(NameStr(
				TupleDescAttr(RelationGetDescr(rel), lfirst_int(cell) - 1)->attname)));

	from = makeRangeVar(get_namespace_name(RelationGetNamespace(rel)),
						pstrdup(RelationGetRelationName(rel)), -1);
	from->inh = false; /* as COPY does: without inheritance children */
	select->fromClause = list_make1(from);
	table_close(rel, NoLock);

	result = copyObject(stmt);
	result->relation = NULL;
	result->attlist = NIL;
	result->query = (Node *) select;
	return result;
}
