/*
 * debug_point.h: named places where a test makes a backend wait, fail or die.
 *
 * DEBUG_POINT("commit-after-prepare") costs one load and a branch while nothing is armed
 * and is absent unless compiled with -DPANDO_DEBUG_POINTS (server builds with assertions
 * have it). Armed per server by SQL, seen by all of its backends (shared memory):
 *   SELECT pando.debug_point_arm('commit-after-prepare', 'wait' | 'error' | 'exit');
 *   SELECT pando.debug_point_clear();      -- all; waiting backends go on
 * A waiting backend shows the wait event PgSleep, as nothing else of Pando's does.
 *
 * DEBUG_STEPS(n), absent as well, counts work that must not grow faster than what a
 * statement touches; pando.debug_steps() says how much this backend did since it was
 * last asked.
 */
#ifndef PANDO_BASE_DEBUG_POINT_H
#define PANDO_BASE_DEBUG_POINT_H

#include "pando/compat/compat.h"

#if defined(USE_ASSERT_CHECKING) && !defined(PANDO_DEBUG_POINTS)
#define PANDO_DEBUG_POINTS
#endif

/* Asks for the shared memory; called from base_init only. */
extern void debug_point_init(void);

#ifdef PANDO_DEBUG_POINTS
extern void debug_point_reached(const char *name);
extern void debug_point_passed(const char *name);
#define DEBUG_POINT(name) debug_point_reached(name)
/* Where nothing may raise: "error" is a warning there. */
#define DEBUG_POINT_NO_ERROR(name) debug_point_passed(name)
extern uint64 debug_steps_done;
#define DEBUG_STEPS(n) (debug_steps_done += (n))
#else
#define DEBUG_POINT(name) ((void) 0)
#define DEBUG_POINT_NO_ERROR(name) ((void) 0)
#define DEBUG_STEPS(n) ((void) 0)
#endif

#endif
