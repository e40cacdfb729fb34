/*
 * deparse.h: a Query as SQL text that means the same when read on another node.
 */
#ifndef PANDO_PLAN_DEPARSE_H
#define PANDO_PLAN_DEPARSE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

typedef struct DeparsedQuery
{
	char *text;
	List *relations; /* Oids of the distributed tables mentioned, each once */
	List *mentions;	 /* int list: how often the text mentions each of them */
	List *roles;	 /* Oids: whose rights it uses, as aliases count them (access.h) */
	List *reads;	 /* Oids of those of which it reads columns that nobody named */
	bool repeats;	 /* parts of the text may be there twice, mentions with them */
} DeparsedQuery;

/*
 * Deparses the query, which is scribbled on. Every mention of a distributed table reads
 * `schema.name alias`, or `schema.name AS alias` right after INTO, where alias is an
 * identifier. Raises feature_not_supported for what the core's deparser can't print
 * faithfully.
 */
extern DeparsedQuery deparse_query(Query *query);

/* The index of the constraint that ON CONFLICT names. Raises wrong_object_type, as
 * PostgreSQL does, where it has none. */
extern Oid conflict_index(const OnConflictExpr *conflict);

#endif
