/*
 * local_lead.c: statements on managed local tables that begin on another node than the
 * coordinator.
 *
 * The table is the coordinator's, so PostgreSQL runs the statement there, as the client's
 * own, in his transaction; all that the coordinator would tell the nodes with the shells
 * is told by this node (transaction/relay.c). Names in the statement mean what they mean
 * on the coordinator. Shells that are going to change are locked before the table, the
 * coordinator's lock that keeps others from doing so before them (local_shell.c).
 *
 * A DROP drops the shell here by itself: what is built on it, on this node, is
 * PostgreSQL's to tell of.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_inherits.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/ddl/detach.h"
#include "pando/ddl/lead.h"
#include "pando/ddl/local_lead.h"
#include "pando/ddl/outside.h"
#include "pando/ddl/utility.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(relay);

/* ------------------------------------------------------------------------------------
 * On the coordinator
 */

static void
run_text(const char *text)
{
	(void) sql_run_as_is(text);
}

static char *
group_list(List *groups)
{
	StringInfoData list;

	initStringInfo(&list);
	foreach_int(group, groups)
		appendStringInfo(&list, "%s%d", list.len > 0 ? "," : "", group);
	return list.data;
}

/* pando.relay(text, search_path): runs the text for the client of the node that asks, and
 * returns what that has to tell the other nodes. */
Datum
relay(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	char *sql = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int guc_level;
	List *commands;

	xact_require_node("pando.relay()");
	node_require_coordinator();
	InitMaterializedSRF(fcinfo, 0);
	guc_level = NewGUCNestLevel();
	(void) set_config_option("search_path", text_to_cstring(PG_GETARG_TEXT_PP(1)),
							 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	commands = xact_relay(run_text, sql);
	AtEOXact_GUC(true, guc_level);
	foreach_ptr (RelayedCommand, command, commands)
	{
		Datum values[] = {CStringGetTextDatum(group_list(command->groups)),
						  BoolGetDatum(command->order),
						  CStringGetTextDatum(command->sql)};
		bool nulls[lengthof(values)] = {0};

		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* ------------------------------------------------------------------------------------
 * On the client's node
 */

/* What one node sends another is taken as it is, here as well. */
typedef struct Telling
{
	List *commands;
	bool here;
} Telling;

static void
tell_all(void *arg)
{
	const Telling *telling = arg;

	foreach_ptr (RelayedCommand, command, telling->commands)
		xact_tell_relayed(command, telling->here);
}

static void
run_there(const char *text, bool here)
{
	Telling telling = {.here = here};

	telling.commands = xact_relayed(node_by_group(COORDINATOR_GROUP),
									psprintf("SELECT * FROM pando.relay(%s, %s)",
											 quote_literal_cstr(text),
											 quote_literal_cstr(namespace_search_path)));
	xact_wrote_locally();
	utility_apply_call(tell_all, &telling);
}

/* The shells of all nodes but the coordinator. */
static void
lock_shells(List *relids, LOCKMODE mode)
{
	List *nodes = NIL;
	StringInfoData sql;

	initStringInfo(&sql);
	foreach_oid(relid, relids)
	{
		if (!compat_owns_relation(relid, GetUserId()))
			continue;
		lead_relations(list_make1_oid(relid), ShareUpdateExclusiveLock);
		foreach_oid(each, find_all_inheritors(relid, NoLock, NULL))
		{
			if (dist_table(each) != NULL)
				appendStringInfo(
					&sql, "SELECT pando.table_lock(%s::pg_catalog.regclass, '%s');",
					quote_literal_cstr(name_qualified(each)),
					mode == ExclusiveLock ? "EXCLUSIVE" : "ACCESS EXCLUSIVE");
		}
	}
	foreach_ptr (DistNode, node, node_list(NODES_ALL))
	{
		if (node->group != COORDINATOR_GROUP)
			nodes = lappend(nodes, node);
	}
	if (sql.len > 0)
		xact_run_on_nodes(nodes, sql.data);
}

void
local_lead_call(List *relids, const char *sql)
{
	lock_shells(relids, AccessExclusiveLock);
	run_there(sql, true);
}

void
local_lead_text(const char *sql)
{
	run_there(sql, true);
}

static bool
drops_tables(const Node *stmt)
{
	return IsA(stmt, DropStmt) &&
		   (((const DropStmt *) stmt)->removeType == OBJECT_TABLE ||
			((const DropStmt *) stmt)->removeType == OBJECT_FOREIGN_TABLE);
}

/* Tables that the statement names and that are not among the job's. */
static List *
named_tables(const Node *stmt)
{
	List *relids = NIL;

	if (IsA(stmt, CreateStmt) && ((const CreateStmt *) stmt)->partbound != NULL)
		relids = list_make1_oid(RangeVarGetRelid(
			linitial(((const CreateStmt *) stmt)->inhRelations), NoLock, true));
	if (drops_tables(stmt))
	{
		foreach_ptr (List, names, ((const DropStmt *) stmt)->objects)
			relids = lappend_oid(
				relids, RangeVarGetRelid(makeRangeVarFromNameList(names), NoLock, true));
	}
	return relids;
}

static bool
is_concurrent(const DdlJob *job)
{
	const Node *stmt = job->stmt;

	return job->outside ||
		   (IsA(stmt, IndexStmt) && ((const IndexStmt *) stmt)->concurrent) ||
		   (IsA(stmt, DropStmt) && ((const DropStmt *) stmt)->concurrent) ||
		   (IsA(stmt, AlterTableStmt) && detach_is_in_steps(job->stmt));
}

/* As PostgreSQL calls it. */
static char *
concurrent_name(const Node *stmt)
{
	if (IsA(stmt, AlterTableStmt))
		return "ALTER TABLE ... DETACH CONCURRENTLY";
	return psprintf("%s%s", GetCommandTagName(CreateCommandTag(unconstify(Node *, stmt))),
					IsA(stmt, IndexStmt) || IsA(stmt, DropStmt) ? " CONCURRENTLY" : "");
}

static void
refuse(Oid relid, const char *detail, const char *hint)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("the statement on %s has to be run on the coordinator",
						   name_qualified(relid)),
					errdetail("%s", detail), errhint("%s", hint)));
}

/* How the coordinator gets the statement. */
typedef enum LeadWay
{
	LEAD_NOT,	  /* it goes the usual way */
	LEAD_RELAYED, /* in this transaction */
	LEAD_SERVED	  /* it is all of its transaction: as if the client had sent it there */
} LeadWay;

/* `local`: tables of this node alone that it names. The managed local tables that it is
 * about. */
static LeadWay
way_of(const DdlJob *job, List *local, List **managed)
{
	bool concurrent = is_concurrent(job);
	bool alone = job->call->context == PROCESS_UTILITY_TOPLEVEL && !xact_must_join();
	bool others = false;

	*managed = NIL;
	foreach_oid(relid, list_concat_copy(job->tables, named_tables(job->stmt)))
	{
		const DistTable *table = OidIsValid(relid) ? dist_table(relid) : NULL;

		if (table != NULL && table->managed_local)
			*managed = list_append_unique_oid(*managed, relid);
		else if (table != NULL)
			others = true;
		else if (OidIsValid(relid))
			local = lappend_oid(local, relid);
	}
	/* Privileges are the same on each node. */
	if (*managed == NIL || ((others || local != NIL) && IsA(job->stmt, GrantStmt)))
		return LEAD_NOT;
	if (local != NIL)
		refuse(linitial_oid(*managed),
			   psprintf("It names %s, which is a table of this node.",
						name_qualified(linitial_oid(local))),
			   "Name them in statements of their own.");
	if (concurrent)
		PreventInTransactionBlock(job->call->context == PROCESS_UTILITY_TOPLEVEL,
								  concurrent_name(job->stmt));
	if (!concurrent && !others)
		return LEAD_RELAYED;
	if (!alone)
		refuse(linitial_oid(*managed),
			   "It names distributed tables beside this local one of the coordinator.",
			   "Name them in statements of their own, or run it on the coordinator.");
	return LEAD_SERVED;
}

static LeadWay
lead_way(const DdlJob *job, List *local, List **managed)
{
	if (job->applying || node_is_coordinator() || IsA(job->stmt, VacuumStmt))
		return LEAD_NOT;
	return way_of(job, local, managed);
}

bool
local_lead_is_for(const DdlJob *job, List *local)
{
	List *managed;

	return lead_way(job, local, &managed) != LEAD_NOT;
}

/* What others wait for must not be here meanwhile: no snapshot, no locks. */
static void
serve_there(const DdlJob *job)
{
	MemoryContext old = MemoryContextSwitchTo(PortalContext);
	char *text = job_text(job);

	MemoryContextSwitchTo(old);
	outside_commit();
	xact_serve_statement(node_by_group(COORDINATOR_GROUP), text);
}

bool
local_lead_run(DdlJob *job, List *local)
{
	bool drops = drops_tables(job->stmt);
	List *relids;
	LeadWay way = lead_way(job, local, &relids);

	if (way == LEAD_NOT)
		return false;
	xact_settle_past();
	if (way == LEAD_SERVED)
	{
		serve_there(job);
		return true;
	}
	if (job->handler->managed_local || drops || IsA(job->stmt, CreateStmt))
		lock_shells(relids,
					IsA(job->stmt, IndexStmt) ? ExclusiveLock : AccessExclusiveLock);
	run_there(job_text(job), !drops);
	if (drops)
	{
		/* The shell of a foreign table is an ordinary one. */
		((DropStmt *) job->stmt)->removeType = OBJECT_TABLE;
		job_run_shell(job);
	}
	return true;
}
