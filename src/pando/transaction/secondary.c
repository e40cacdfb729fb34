/*
 * secondary.c: reads that go to secondaries, under citus.use_secondary_nodes = always.
 *
 * A secondary is a streaming replica of a group's primary. Wherever a node of a group is
 * looked for (node_by_group()), one of the group's secondaries is found then, if there is
 * a fit one in the cluster citus.cluster_name, else the primary. This server's own shards
 * are read here, whatever it is. Nothing is written to a distributed table meanwhile.
 *
 * Fit is who answers, is a replica of this very group, lags no more than
 * pando.max_secondary_lag, and knows the same placements of the group as this node: a
 * shard that was moved there would be missing, or half filled, before. A
 * secondary is asked when it was not for a second (or half of the greatest lag, if that
 * is less), when metadata have changed, and after every error.
 *
 * A transaction stays with what it has found: another server would show it another state.
 * If metadata change under it and its secondary does not have that yet, it fails.
 *
 * Nodes that send each other rows of a query must agree who reads them: the choices go
 * ahead of statements as pando.read_nodes, and hold for the node's session whatever its
 * own settings are. Anybody may set that; it leads to no other server than those of
 * pg_dist_node's group.
 */
#include "pando/compat/compat.h"

#include <limits.h>

#include "access/xact.h"
#include "miscadmin.h"
#include "pando/compat/rights.h"
#include "pando/catalog/placement.h"
#include "pando/metadata/table.h"
#include "pando/transaction/member.h"
#include "storage/proc.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#define CHOICE_MS 1000
#define PROBE_MS 5000
#define NO_LAG_LIMIT (-1)

/* Whom a group's reads go to. */
typedef struct Choice
{
	int32 group; /* key */
	int32 node_id;
	bool secondary;
	TimestampTz until;				/* may be used without asking again */
	uint32 epoch;					/* of metadata */
	LocalTransactionId transaction; /* that used it last */
} Choice;

typedef enum UseSecondaries
{
	SECONDARIES_NEVER,
	SECONDARIES_ALWAYS
} UseSecondaries;

static const struct config_enum_entry use_options[] = {
	{"never", SECONDARIES_NEVER, false},
	{"always", SECONDARIES_ALWAYS, false},
	{NULL, 0, false}};

static int use_secondaries = SECONDARIES_NEVER;
static char *our_cluster = NULL;
static int max_lag = NO_LAG_LIMIT;
static char *read_nodes = NULL;
static HTAB *choices = NULL;

/* ------------------------------------------------------------------------------------
 * Is it a fit one?
 */

/* What a node says of itself; empty when it does not answer. */
static char *
probe(const DistNode *node)
{
	Session *session = run_claim_plain(node);
	PGresult *result;
	char *answer = "";

	if (session->state != SESSION_DEAD)
		session_send_simple(session, "SELECT pando.replica_state()");
	result = session_try_finish(session, PROBE_MS);
	if (result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK)
		answer = pstrdup(session_value(result, 0, 0));
	session_result_free(result);
	session_release(session);
	return answer;
}

/* NULL, or why its rows are not to be read. */
static const char *
unfitness(const DistNode *node)
{
	char *answer = probe(node);
	char server_id[NAMEDATALEN] = "";
	long long group;
	long long placements;
	long long lag;
	char replica;

	if (answer[0] == '\0')
		return "it cannot be reached";
	if (sscanf(answer, "%c %lld %lld %lld %63s", &replica, &group, &placements, &lag,
			   server_id) != 5)
		return "its answer is not understood";
	if (replica != 't')
		return "it is no replica";
	if (group != node->group || strcmp(server_id, node_server_id()) != 0)
		return "it is a replica of another node";
	if (placements != catalog_placement_fingerprint(node->group))
		return "it does not have the same metadata yet";
	if (max_lag != NO_LAG_LIMIT && (lag < 0 || lag > max_lag))
		return "it lags more than pando.max_secondary_lag";
	return NULL;
}

/* ------------------------------------------------------------------------------------
 * Choices.
 */

static Choice *
choice_of(int32 group)
{
	Choice *choice;
	bool found;

	if (choices == NULL)
	{
		HASHCTL control = {.keysize = sizeof(int32), .entrysize = sizeof(Choice)};

		choices = hash_create("pando secondaries", 16, &control, HASH_ELEM | HASH_BLOBS);
	}
	choice = hash_search(choices, &group, HASH_ENTER, &found);
	if (!found)
		*choice = (Choice){.group = group};
	return choice;
}

static void
choose_anew(Choice *choice, const DistNode *primary)
{
	List *secondaries = node_secondaries(primary->group, our_cluster);
	int count = list_length(secondaries);
	uint32 epoch = session_statements_epoch();
	int keep_ms = max_lag == NO_LAG_LIMIT ? CHOICE_MS : Min(CHOICE_MS, max_lag / 2);

	choice->node_id = primary->id;
	choice->secondary = false;
	/* Clients begin with different ones. */
	for (int i = 0; i < count && !choice->secondary; i++)
	{
		const DistNode *node = list_nth(secondaries, (i + MyProcPid) % count);
		const char *why = unfitness(node);

		if (why == NULL)
		{
			choice->node_id = node->id;
			choice->secondary = true;
		}
		else
			ereport(DEBUG1, (errmsg("secondary %s:%d of group %d is not read: %s",
									node->host, node->port, node->group, why)));
	}
	choice->until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), keep_ms);
	choice->epoch = epoch;
}

/* The node of the session that the transaction has to the group; 0: none. */
static int32
node_in_use(int32 group)
{
	foreach_ptr (Member, member, members)
	{
		if (member->owner && member->group == group &&
			(member->session->in_xact || member->alone))
			return member->session->address.node_id;
	}
	return 0;
}

/* The node that the transaction has been reading; it has to keep it. */
static const DistNode *
keep(Choice *choice, const DistNode *node)
{
	uint32 epoch = session_statements_epoch();
	const char *why;

	if (node->primary || choice->epoch == epoch)
		return node;
	why = unfitness(node);
	if (why != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("secondary %s:%d cannot be read any more in this transaction",
						node->host, node->port),
				 errdetail("Metadata have changed meanwhile, and %s.", why),
				 errhint("Run the transaction again.")));
	choice->epoch = epoch;
	return node;
}

static const DistNode *
choose(const DistNode *primary)
{
	Choice *choice = choice_of(primary->group);
	const DistNode *node = node_by_id(node_in_use(primary->group));

	if (node != NULL && node->group == primary->group)
		return keep(choice, node);
	if (choice->epoch != session_statements_epoch() ||
		(choice->transaction != compat_local_xid() &&
		 choice->until < GetCurrentTimestamp()))
		choose_anew(choice, primary);
	choice->transaction = compat_local_xid();
	node = node_by_id(choice->node_id);
	return node != NULL && node->group == primary->group ? node : primary;
}

/* What the node that this session serves has chosen. */
static const DistNode *
chosen_for_us(const DistNode *primary)
{
	char *mark = psprintf(",%d:", primary->group);
	const char *found = strstr(read_nodes, mark);
	const DistNode *node = found != NULL ? node_by_id(atoi(found + strlen(mark))) : NULL;

	pfree(mark);
	return node != NULL && node->group == primary->group ? node : primary;
}

/* Do reads of this backend go to secondaries by its own choice? */
static bool
reads_secondaries(void)
{
	return use_secondaries == SECONDARIES_ALWAYS && MyBackendType == B_BACKEND &&
		   !identity_is_node_session();
}

static const DistNode *
stand_in(const DistNode *primary)
{
	if (reads_secondaries())
		return choose(primary);
	if (read_nodes[0] != '\0')
		return chosen_for_us(primary);
	return primary;
}

char *
secondary_settings(void)
{
	StringInfoData text;
	HASH_SEQ_STATUS all;
	Choice *choice;

	if (!reads_secondaries())
		return read_nodes[0] == '\0' ? ""
									 : psprintf("SET pando.read_nodes TO %s;",
												quote_literal_cstr(read_nodes));
	if (choices == NULL)
		return "";
	initStringInfo(&text);
	hash_seq_init(&all, choices);
	while ((choice = hash_seq_search(&all)) != NULL)
	{
		if (choice->secondary)
			appendStringInfo(&text, ",%d:%d", choice->group, choice->node_id);
	}
	return text.len == 0 ? "" : psprintf("SET pando.read_nodes TO '%s';", text.data);
}

/* ------------------------------------------------------------------------------------
 * Writes.
 */

void
secondary_refuse_write(const char *what)
{
	if (reads_secondaries())
		ereport(ERROR, (errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
						errmsg("cannot execute %s while reads go to secondaries", what),
						errdetail("citus.use_secondary_nodes is \"always\"."),
						errhint("Set it to \"never\" to write to distributed tables.")));
}

void
secondary_check_query(const QueryDesc *query)
{
	const PlannedStmt *plan = query->plannedstmt;

	if (!reads_secondaries() ||
		(plan->commandType == CMD_SELECT && !plan->hasModifyingCTE))
		return;
	foreach_ptr (RangeTblEntry, entry, plan->rtable)
	{
		if (entry->rtekind == RTE_RELATION && dist_table(entry->relid) != NULL &&
			(plan_rights(plan, entry)->requiredPerms & ~ACL_SELECT) != 0)
			secondary_refuse_write(GetCommandTagName(CreateCommandTag((Node *) plan)));
	}
}

void
secondary_refuse_cluster_snapshot(void)
{
	if (reads_secondaries())
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("secondaries have no common snapshot"),
						errdetail("Each of them lags in its own way."),
						errhint("Set citus.use_secondary_nodes to \"never\".")));
}

/* ------------------------------------------------------------------------------------ */

/* After an error all are asked again. */
static void
secondary_xact_ended(XactMoment moment, bool committed)
{
	HASH_SEQ_STATUS all;
	Choice *choice;

	if (moment != XACT_MOMENT_END || committed || choices == NULL)
		return;
	hash_seq_init(&all, choices);
	while ((choice = hash_seq_search(&all)) != NULL)
		choice->until = 0;
}

void
secondary_init(void)
{
	DefineCustomEnumVariable(
		"citus.use_secondary_nodes", "Which servers of the other nodes' groups are read.",
		"never: primaries; always: secondaries, where there are fit ones, and nothing is "
		"written to distributed tables.",
		&use_secondaries, SECONDARIES_NEVER, use_options, PGC_USERSET, 0, NULL, NULL,
		NULL);
	DefineCustomStringVariable(
		"citus.cluster_name", "Name of the cluster whose secondaries this server reads.",
		NULL, &our_cluster, "default", PGC_SU_BACKEND, 0, NULL, NULL, NULL);
	DefineCustomIntVariable(
		"pando.max_secondary_lag", "How far a secondary that is read may be behind.",
		"Where none is near enough the primary is read; -1: no limit.", &max_lag,
		NO_LAG_LIMIT, NO_LAG_LIMIT, INT_MAX, PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomStringVariable(
		"pando.read_nodes",
		"Which nodes of groups a statement of another node reads; set by Pando.", NULL,
		&read_nodes, "", PGC_USERSET, GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE, NULL, NULL,
		NULL);
	node_set_stand_in(stand_in);
	xact_register(secondary_xact_ended);
}
