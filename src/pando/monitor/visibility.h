/*
 * visibility.h: shards don't show in a client's look at pg_class.
 */
#ifndef PANDO_MONITOR_VISIBILITY_H
#define PANDO_MONITOR_VISIBILITY_H

/* Defines the settings and puts the planner hook in place; called from monitor_init only.
 */
extern void visibility_init(void);

#endif
