/*
 * actions_elsewhere.h: changes of a shard whose foreign keys' actions are done elsewhere.
 */
#ifndef PANDO_EXECUTOR_ACTIONS_ELSEWHERE_H
#define PANDO_EXECUTOR_ACTIONS_ELSEWHERE_H

/* Checks the keys of tables to themselves that wait in this backend. */
extern void check_keys_here(void);

/* Registers the plan node PLAN_ACTIONS_ELSEWHERE. */
extern void actions_elsewhere_init(void);

#endif
