/*
 * stats.h: counts of statements and of tenants.
 *
 * Internal to the monitor module.
 */
#ifndef PANDO_MONITOR_STATS_H
#define PANDO_MONITOR_STATS_H

#include "pando/compat/compat.h"
#include "utils/guc.h"

#include "pando/monitor/plan_key.h"

/* citus.stat_statements_track, citus.stat_tenants_track */
typedef enum StatsTrack
{
	TRACK_NONE,
	TRACK_ALL
} StatsTrack;

extern const struct config_enum_entry stats_track_options[];

/* May the current user see what others did? */
extern bool stats_may_see_all(void);

/* statement_stats.c */
extern int statement_stats_track;
extern void statement_stats_init(void);
extern void statement_stats_count(const QueryDesc *query, const PlanKey *key);

/* tenant_stats.c */
extern int tenant_stats_track;
extern void tenant_stats_init(void);
extern void tenant_stats_begin(const QueryDesc *query, const PlanKey *key);
extern void tenant_stats_end(const QueryDesc *query);

/* stats.c */
extern void stats_init(void);

#endif
