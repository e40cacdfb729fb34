/*
 * flight.h: the statements under way over the session to one node.
 */
#ifndef PANDO_EXECUTOR_FLIGHT_H
#define PANDO_EXECUTOR_FLIGHT_H

#include "pando/compat/compat.h"
#include "portability/instr_time.h"

#include "pando/executor/spill.h"
#include "pando/executor/task.h"
#include "pando/metadata/node.h"
#include "pando/remote/session.h"

typedef struct FragmentRun FragmentRun;
typedef struct Fan Fan;

/* A flight to one node: the statements under way over its session. */
typedef struct Flight
{
	SessionHolder holder; /* first; holder.session is NULL when the flight is over */
	FragmentRun *run;
	const DistNode *node;
	Session *session;
	List *tasks;
	List *steps; /* Step *, one per statement sent */
	int step;
	bool write;
	bool connecting;  /* nothing has come from the node yet */
	PGresult *result; /* rows being handed out */
	int row;
	bool header;  /* the next COPY row starts with the header */
	Spill *spill; /* the run's, or its own where rows are merged */
	Fan *fan;	  /* NULL: these are all tasks of the node */
	instr_time sent;
} Flight;

extern Flight *flight_start(FragmentRun *run, const DistNode *node, List *tasks,
							bool write);
extern bool flight_next(Flight *flight, Datum *values, bool *nulls, Task **task);
extern bool flight_is_over(const Flight *flight);
extern void flight_send(Flight *flight, const char *ahead);
extern Flight *flight_create(FragmentRun *run, const DistNode *node, Session *session);
extern void flight_ended(Flight *flight);
extern void flight_stop(Flight *flight, bool may_cancel);
extern void flights_wait(FragmentRun *run);
extern void flights_connect(FragmentRun *run);
extern void flights_forget(void *run);
extern void reads_assign(FragmentRun *run, List *tasks);
extern void tasks_avoid_lost_nodes(FragmentRun *run, List *tasks);

#endif
