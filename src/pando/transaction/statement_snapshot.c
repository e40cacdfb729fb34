/*
 * statement_snapshot.c: what a statement of a READ COMMITTED block reads on a node is as
 * of one moment, though it reads there several times.
 *
 * Outside of blocks the node's transaction is the statement's own, and REPEATABLE READ.
 * In a block each command that reaches the node would see it anew. A statement that sends
 * several (several fragments, results that are read first, more tasks than go as one
 * command) has a number, which goes ahead of them as pando.statement. The node's backend
 * keeps the snapshot of the first SELECT of a number and gives it to the others. It keeps
 * one, until another number comes or the transaction ends.
 *
 * The number belongs to the snapshot that the statement has here: statements that
 * functions run on a calling query's snapshot (STABLE ones) share its number, as they
 * share what PostgreSQL lets them see. A statement that locks or changes rows sees the
 * newest ones, as PostgreSQL's does once it has waited.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "lib/ilist.h"
#include "pando/transaction/member.h"
#include "utils/guc.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

/* ------------------------------------------------------------------------------------
 * The client's backend: numbers.
 */

/* An execution that has a number; in its own memory, with which it goes. */
typedef struct Numbered
{
	MemoryContextCallback on_reset; /* first */
	dlist_node link;
	EState *estate;
	int number; /* 0: none yet, the execution of before that had the state has ended */
} Numbered;

static dlist_head numbered = DLIST_STATIC_INIT(numbered);
static int last_number = 0;

static void
numbered_forget(void *arg)
{
	dlist_delete(&((Numbered *) arg)->link);
}

static Numbered *
numbered_by_state(const EState *estate)
{
	dlist_iter iter;

	dlist_foreach (iter, &numbered)
	{
		Numbered *entry = dlist_container(Numbered, link, iter.cur);

		if (entry->estate == estate)
			return entry;
	}
	return NULL;
}

int
statement_number(EState *estate)
{
	EState *outermost = nesting_outermost(estate);
	Numbered *entry = numbered_by_state(outermost);

	if (entry == NULL)
	{
		entry = MemoryContextAllocZero(outermost->es_query_cxt, sizeof(Numbered));
		entry->on_reset.func = numbered_forget;
		entry->on_reset.arg = entry;
		entry->estate = outermost;
		dlist_push_head(&numbered, &entry->link);
		MemoryContextRegisterResetCallback(outermost->es_query_cxt, &entry->on_reset);
	}
	if (entry->number == 0)
		entry->number = last_number = last_number == INT_MAX ? 1 : last_number + 1;
	return entry->number;
}

void
xact_execution_ends(const EState *estate)
{
	Numbered *entry = numbered_by_state(estate);

	if (entry != NULL)
		entry->number = 0;
}

/* ------------------------------------------------------------------------------------
 * The node's backend: the snapshot of a number.
 */

static int told_number = 0; /* pando.statement */
static Snapshot kept = NULL;
static int kept_number = 0;

void
statement_snapshot_end(bool committed)
{
	/* After an error it is the resource owner that lets go of it. */
	if (kept != NULL && committed)
		UnregisterSnapshotFromOwner(kept, TopTransactionResourceOwner);
	kept = NULL;
}

static bool
may_share(const QueryDesc *query)
{
	return query->operation == CMD_SELECT && !query->plannedstmt->hasModifyingCTE &&
		   query->plannedstmt->rowMarks == NIL && query->snapshot != NULL &&
		   query->snapshot->snapshot_type == SNAPSHOT_MVCC &&
		   !IsolationUsesXactSnapshot();
}

void
statement_snapshot_take(QueryDesc *query, bool renewed)
{
	Snapshot own = query->snapshot;

	if (told_number == 0 || !may_share(query))
		return;
	if (kept != NULL && kept_number == told_number && !renewed)
	{
		query->snapshot = RegisterSnapshot(kept);
		UnregisterSnapshot(own);
		return;
	}
	statement_snapshot_end(true);
	kept = RegisterSnapshotOnOwner(own, TopTransactionResourceOwner);
	kept_number = told_number;
}

void
statement_snapshot_init(void)
{
	DefineCustomIntVariable(
		"pando.statement",
		"Number of another node's statement, whose reads see one snapshot; set by Pando.",
		NULL, &told_number, 0, 0, INT_MAX, PGC_USERSET,
		GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL | GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE,
		NULL, NULL, NULL);
}
