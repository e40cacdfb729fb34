/*
 * access.h: tables that a statement may use with the rights of another role.
 *
 * PostgreSQL checks the rights on what a view reads for the view's owner, and applies his
 * row-level security (RelationRights.checkAsUser). A node knows tasks, not views. So a
 * task says by its relations' aliases which roles' rights they are used with, and the
 * statement is signed by the node that sent it; see access.c.
 */
#ifndef PANDO_TRANSACTION_ACCESS_H
#define PANDO_TRANSACTION_ACCESS_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "pando/remote/session.h"

/* An alias `pando_as_<n>_<alias>` means: used as the n-th of the statement's roles. */
#define ACCESS_ALIAS "pando_as_"

/* Is the relation used with rights that the current user's session would not have? */
extern bool access_is_lent(const RangeTblEntry *rte);

/*
 * The statements `sql` with a signature for the session, which must be idle and is asked
 * for its challenge the first time. roles: Oids, as the aliases count them, from 0.
 */
extern char *access_sign(Session *session, List *roles, const char *sql);

/* The same for an order of one node to another, see xact_tell_nodes(). */
extern char *access_sign_order(Session *session, const char *sql);

/* Has the user no right of that kind on the table as a whole, and at most on columns? */
extern bool access_is_by_columns(Oid relid, AclMode right);

/* Is what this backend runs such an order? Raises if its signature is not valid. */
extern bool access_is_ordered(void);

/* Is what this backend runs from here on such an order of its own? */
extern void access_order_here(bool order);

/*
 * The session's user may not become the current user by SET ROLE, or must not leave a way
 * back: a SECURITY DEFINER function of somebody else, a restricted operation.
 */
extern bool access_must_act(const Session *session);

/* The same for any session that is the client's session user's. */
extern bool access_role_is_out_of_reach(void);

/*
 * A command for the preamble, signed: the node's backend goes on as that role, as within
 * a SECURITY DEFINER function, until the transaction ends or it is told otherwise.
 * InvalidOid: as the session's own.
 */
extern char *access_act_command(Session *session, Oid role);

/* The signature by which a session of that role shows whose it is (identity.c). */
extern char *access_session_proof(uint64 gpid, const char *role);

/* Asks the node for its challenge, with what is in the preamble; false: is known. */
extern bool access_prepare(Session *session);

/* While a statement is analysed here: NULL for none. Returns what to set back. */
typedef struct AccessHere
{
	const char *sql;
	List *roles;
} AccessHere;
extern AccessHere access_here(AccessHere statement);

#endif
