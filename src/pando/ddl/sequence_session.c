/*
 * sequence_session.c: nextval(), currval(), lastval() and setval() on workers.
 *
 * Statements there call pando.sequence_next() and its like in their place
 * (metadata/sequence_value.h). Of a sequence that gives its values on the coordinator
 * these ask it, and remember what it gave this session, as PostgreSQL does of the values
 * of its own sequences. Else, and on the coordinator, they are PostgreSQL's functions.
 */
#include "pando/compat/compat.h"

#include "commands/sequence.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pando/base/name.h"
#include "pando/ddl/sequence.h"
#include "pando/ddl/statements.h"
#include "pando/metadata/node.h"
#include "pando/metadata/sequence_value.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(sequence_next);
PG_FUNCTION_INFO_V1(sequence_own);
PG_FUNCTION_INFO_V1(sequence_current);
PG_FUNCTION_INFO_V1(sequence_last);
PG_FUNCTION_INFO_V1(sequence_set);

typedef struct GivenValue
{
	Oid seqid; /* hash key */
	int64 value;
} GivenValue;

/* The last values of this session that the coordinator gave, by sequence. */
static HTAB *given_values = NULL;

/* The sequence that gave the session's last value, if it was the coordinator's. */
static Oid last_given = InvalidOid;

static void
value_given(Oid seqid, int64 value)
{
	GivenValue *given;

	if (given_values == NULL)
	{
		HASHCTL info = {.keysize = sizeof(Oid),
						.entrysize = sizeof(GivenValue),
						.hcxt = TopMemoryContext};

		given_values = hash_create("values of the coordinator's sequences", 16, &info,
								   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	given = hash_search(given_values, &seqid, HASH_ENTER, NULL);
	given->value = value;
}

static const GivenValue *
find_given(Oid seqid)
{
	return given_values == NULL ? NULL
								: hash_search(given_values, &seqid, HASH_FIND, NULL);
}

/* DISCARD: as PostgreSQL forgets what its sequences gave. */
void
discard_prepare(DdlJob *job)
{
	DiscardMode target = ((DiscardStmt *) job->stmt)->target;

	if ((target != DISCARD_ALL && target != DISCARD_SEQUENCES) || given_values == NULL)
		return;
	hash_destroy(given_values);
	given_values = NULL;
	last_given = InvalidOid;
}

/* Does this worker ask the coordinator for the values of its own sequence? */
static bool
asks_coordinator(Oid seqid)
{
	FormData_pg_sequence form;

	if (node_is_coordinator())
		return false;
	form = sequence_form(seqid);
	return !sequence_has_own_range(&form) &&
		   OidIsValid(sequence_distributed_table(seqid));
}

/* What a call asks; it does so for each row of a statement. */
typedef struct Question
{
	Oid seqid;
	bool of_column; /* no right on the sequence is asked */
	char *sql;		/* what the coordinator is asked; NULL: the sequence gives it here */
} Question;

/* Who may insert rows has the next value of an identity column by that. */
static bool
has_value_by_insert(Oid seqid)
{
	Oid relid = sequence_identity_table(seqid);

	return OidIsValid(relid) &&
		   (pg_class_aclcheck(relid, GetUserId(), ACL_INSERT) == ACLCHECK_OK ||
			pg_attribute_aclcheck_all(relid, GetUserId(), ACL_INSERT, ACLMASK_ANY) ==
				ACLCHECK_OK);
}

static const Question *
question(FmgrInfo *call, Oid seqid)
{
	Question *question = call->fn_extra;
	MemoryContext old;
	char *name;
	bool asks;

	if (question != NULL && question->seqid == seqid)
		return question;
	name = quote_literal_cstr(name_qualified(seqid));
	asks = asks_coordinator(seqid);
	old = MemoryContextSwitchTo(call->fn_mcxt);
	question = palloc0(sizeof(Question));
	question->seqid = seqid;
	question->of_column = (asks || node_is_coordinator()) && has_value_by_insert(seqid);
	if (asks)
		question->sql = psprintf(
			"SELECT %s(%s)",
			question->of_column ? "pando.sequence_next" : "pg_catalog.nextval", name);
	MemoryContextSwitchTo(old);
	call->fn_extra = question;
	return question;
}

static int64
value_from_coordinator(const char *sql)
{
	char *value = xact_value_from_node(node_by_group(COORDINATOR_GROUP), sql);

	return DatumGetInt64(DirectFunctionCall1(int8in, CStringGetDatum(value)));
}

/*
 * pando.sequence_next(sequence): nextval() of a sequence, the coordinator's if it gives
 * no values here. For that of an identity column the right to insert rows is enough.
 */
Datum
sequence_next(PG_FUNCTION_ARGS)
{
	Oid seqid = PG_GETARG_OID(0);
	const Question *asked = question(fcinfo->flinfo, seqid);
	int64 value;

	if (asked->sql == NULL)
	{
		last_given = InvalidOid;
		PG_RETURN_INT64(nextval_internal(seqid, !asked->of_column));
	}
	value = value_from_coordinator(asked->sql);
	value_given(seqid, value);
	last_given = seqid;
	PG_RETURN_INT64(value);
}

/* pando.sequence_own(value): a value that a sequence of this node has just given. */
Datum
sequence_own(PG_FUNCTION_ARGS)
{
	last_given = InvalidOid;
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

static void
check_read_right(Oid seqid)
{
	if (pg_class_aclcheck(seqid, GetUserId(), ACL_SELECT | ACL_USAGE) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_SEQUENCE, get_rel_name(seqid));
}

/* pando.sequence_current(sequence): currval(). */
Datum
sequence_current(PG_FUNCTION_ARGS)
{
	Oid seqid = PG_GETARG_OID(0);
	const GivenValue *given = find_given(seqid);

	(void) name_qualified(seqid); /* raises if there is none */
	if (given == NULL || !asks_coordinator(seqid))
		return currval_oid(fcinfo);
	check_read_right(seqid);
	PG_RETURN_INT64(given->value);
}

/* pando.sequence_last(): lastval(). */
Datum
sequence_last(PG_FUNCTION_ARGS)
{
	if (!OidIsValid(last_given))
		return lastval(fcinfo);
	if (get_rel_name(last_given) == NULL)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("lastval is not yet defined in this session")));
	check_read_right(last_given);
	PG_RETURN_INT64(find_given(last_given)->value);
}

/* pando.sequence_set(sequence, value, is_called): setval(). */
Datum
sequence_set(PG_FUNCTION_ARGS)
{
	Oid seqid = PG_GETARG_OID(0);
	int64 value = PG_GETARG_INT64(1);
	bool called = PG_GETARG_BOOL(2);
	char *name = quote_literal_cstr(name_qualified(seqid));

	if (!asks_coordinator(seqid))
		return setval3_oid(fcinfo);
	value = value_from_coordinator(psprintf("SELECT pg_catalog.setval(%s, " INT64_FORMAT
											", %s)",
											name, value, called ? "true" : "false"));
	if (called)
		value_given(seqid, value);
	PG_RETURN_INT64(value);
}
