/*
 * order.h: the order in which a run's rows are handed up.
 */
#ifndef PANDO_EXECUTOR_ORDER_H
#define PANDO_EXECUTOR_ORDER_H

#include "pando/compat/compat.h"

#include "pando/executor/flight.h"

extern void order_choose(FragmentRun *run);
extern Spill *order_spill(FragmentRun *run, Flight *flight);
extern void order_start(FragmentRun *run);
extern bool order_next(FragmentRun *run, Datum *values, bool *nulls);
extern void order_end(FragmentRun *run);

#endif
