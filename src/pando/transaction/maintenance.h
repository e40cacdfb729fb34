/*
 * maintenance.h: work that a database's maintenance worker does from time to time.
 *
 * Modules register jobs from their init; the worker (background) runs those that are due,
 * one after the other, each in a transaction of its own with a snapshot. An error is
 * logged and the job tried again after its interval. A backend that can't wait for a
 * job's turn wishes for it.
 */
#ifndef PANDO_TRANSACTION_MAINTENANCE_H
#define PANDO_TRANSACTION_MAINTENANCE_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

/* Jobs that can be wished for; bits. */
typedef enum MaintenanceWish
{
	WISH_RECOVERY = 1, /* settle what this node began */
	WISH_DOUBTS = 2,   /* settle what others began and left prepared here */
	WISH_CLEANUP = 4,  /* take away what interrupted moves left */
	WISH_TASKS = 8	   /* see to background tasks */
} MaintenanceWish;

typedef struct MaintenanceJob
{
	const char *name;
	int (*interval)(void); /* ms until it is due again; -1: switched off */
	void (*run)(void);
	bool own_transactions; /* run() starts and ends its transactions itself */
	int wish;			   /* MaintenanceWish that makes it run at once; 0: none */
} MaintenanceJob;

/* The job must live as long as the server; called from _PG_init only. */
extern void maintenance_register(const MaintenanceJob *job);

/* List of const MaintenanceJob *, in order of registration. */
extern List *maintenance_jobs(void);

/* Called by a database's worker when it starts. */
extern void maintenance_attach(void);

/* Wakes this database's worker for the job. Raises nothing and waits for nothing. */
extern void maintenance_want(MaintenanceWish wish);

/* The same when the transaction has committed, if it does. */
extern void maintenance_want_at_commit(MaintenanceWish wish);

/* Has it been wished for? The wish is then forgotten: called by the worker. */
extern bool maintenance_take(MaintenanceWish wish);

/* Is there any wish that was not taken yet? */
extern bool maintenance_wished(void);

#endif
