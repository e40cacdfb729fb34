/*
 * transaction.h: rows of pg_dist_transaction: decisions to commit a prepared transaction.
 *
 * A row is written by the initiating transaction itself, so it is there exactly when that
 * one has committed. Each commit over several nodes writes some, so the table has no
 * index: rows are looked for by recovery alone, which reads all of them anyway.
 */
#ifndef PANDO_CATALOG_TRANSACTION_H
#define PANDO_CATALOG_TRANSACTION_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

typedef struct TransactionRow
{
	int32 groupid; /* where it is prepared */
	char *gid;
	uint64 outer_xid; /* full xid of the initiating transaction; 0: not known */
} TransactionRow;

extern List *catalog_transaction_all(void); /* TransactionRow * */
extern List *catalog_transaction_by_group(int32 groupid);
extern bool catalog_transaction_exists(int32 groupid, const char *gid);

/* On whatever node; reads the whole table. */
extern bool catalog_transaction_is_recorded(const char *gid);

/* What has been written by a transaction of this node that is not over: it may be
 * prepared by the client. Of that one alone if xid is valid. */
extern List *catalog_transaction_undecided(TransactionId xid); /* TransactionRow * */
extern bool catalog_transaction_is_undecided(const char *gid);
extern void catalog_transaction_insert(List *rows);		/* TransactionRow * */
extern void catalog_transaction_delete_all(List *rows); /* is sorted */

#endif
