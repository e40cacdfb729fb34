/*
 * fan.h: the tasks of one node shared out among several sessions.
 */
#ifndef PANDO_EXECUTOR_FAN_H
#define PANDO_EXECUTOR_FAN_H

#include "pando/compat/compat.h"

#include "pando/executor/flight.h"

extern bool fan_start(FragmentRun *run, const DistNode *node, List *tasks);
extern bool fan_next_tasks(Flight *flight);
extern void fan_take_snapshot(Flight *flight, const char *snapshot);
extern bool fan_flight_lost(Flight *flight);
extern long fans_timeout(FragmentRun *run);
extern void fans_waited(FragmentRun *run, double milliseconds);

#endif
