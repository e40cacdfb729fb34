/*
 * lock_list.h: what a statement locks, on which the nodes have to agree before it begins.
 */
#ifndef PANDO_DDL_LOCK_LIST_H
#define PANDO_DDL_LOCK_LIST_H

#include "pando/compat/compat.h"
#include "storage/lockdefs.h"

#include "pando/ddl/handler.h"

/* A lock that all who change the same thing take on the coordinator first. */
typedef struct DdlLock
{
	Oid relid;		  /* of a relation; InvalidOid: an object, known by its name alone */
	const char *name; /* qualified; of an object, with its kind ahead */
	LOCKMODE mode;
} DdlLock;

/* For handlers: a relation that the statement locks, though it isn't about it. */
extern void lock_list_add(DdlJob *job, Oid relid, LOCKMODE mode);

/*
 * The locks of a prepared statement (List of DdlLock *): objects first, by name; then
 * relations, those that the user may lock.
 */
extern List *lock_list_make(const DdlJob *job);

/* The lock of what makes objects (shared), and of what changes default privileges. */
extern DdlLock *lock_list_default_privileges(LOCKMODE mode);

/*
 * On the nodes that a statement is sent to: of its names, those that matter there. Who
 * has let go of one on the coordinator may still be about to commit here.
 */
extern void lock_list_apply(const DdlJob *job);

/* Takes an object's lock on this server, until the transaction ends. */
extern void lock_list_take_object(const char *name, LOCKMODE mode);

/* Has the transaction taken it here, in that mode? */
extern bool lock_list_has_object(const char *name, LOCKMODE mode);

#endif
