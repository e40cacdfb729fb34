/*
 * maintenance.h: work that a database's maintenance worker does from time to time.
 *
 * Modules register jobs from their init; the worker (background) runs those that are due,
 * one after the other, each in a transaction of its own with a snapshot. An error is
 * logged and the job tried again after its interval.
 */
#ifndef PANDO_TRANSACTION_MAINTENANCE_H
#define PANDO_TRANSACTION_MAINTENANCE_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

typedef struct MaintenanceJob
{
	const char *name;
	int (*interval)(void); /* ms until it is due again; -1: switched off */
	void (*run)(void);
	bool own_transactions; /* run() starts and ends its transactions itself */
} MaintenanceJob;

/* The job must live as long as the server; called from _PG_init only. */
extern void maintenance_register(const MaintenanceJob *job);

/* List of const MaintenanceJob *, in order of registration. */
extern List *maintenance_jobs(void);

#endif
