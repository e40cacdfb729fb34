/*
 * executor.h: what the executor's functions and structures are called, and want.
 */
#ifndef PANDO_COMPAT_EXECUTOR_H
#define PANDO_COMPAT_EXECUTOR_H

#include "pando/compat/compat.h"
#include "access/tupconvert.h"
#include "commands/tablecmds.h"
#include "commands/trigger.h"
#include "executor/executor.h"

#if PG_VERSION_NUM < 160000
#define compat_insert_index_entries(relinfo, row, estate)                                \
	ExecInsertIndexTuples(relinfo, row, estate, false, false, NULL, NIL)
#define compat_from_root(relinfo, estate) ((relinfo)->ri_RootToPartitionMap)
#define compat_truncate(relations, relids, logged, behavior, restart)                    \
	ExecuteTruncateGuts(relations, relids, logged, behavior, restart)
#define compat_before_delete(estate, epq, relinfo, old)                                  \
	ExecBRDeleteTriggers(estate, epq, relinfo, NULL, old, NULL)
#define compat_before_update(estate, epq, relinfo, old, row)                             \
	ExecBRUpdateTriggers(estate, epq, relinfo, NULL, old, row, NULL)
#else
#define compat_insert_index_entries(relinfo, row, estate)                                \
	ExecInsertIndexTuples(relinfo, row, estate, false, false, NULL, NIL, false)
#define compat_from_root(relinfo, estate)                                                \
	((relinfo)->ri_RootResultRelInfo != NULL ? ExecGetRootToChildMap(relinfo, estate)    \
											 : NULL)
#define compat_truncate(relations, relids, logged, behavior, restart)                    \
	ExecuteTruncateGuts(relations, relids, logged, behavior, restart, false)
#if PG_VERSION_NUM < 170000
#define compat_before_delete(estate, epq, relinfo, old)                                  \
	ExecBRDeleteTriggersNew(estate, epq, relinfo, NULL, old, NULL, NULL, NULL)
#else
#define compat_before_delete(estate, epq, relinfo, old)                                  \
	ExecBRDeleteTriggers(estate, epq, relinfo, NULL, old, NULL, NULL, NULL)
#endif
#define compat_before_update(estate, epq, relinfo, old, row)                             \
	ExecBRUpdateTriggers(estate, epq, relinfo, NULL, old, row, NULL, NULL)
#endif

#if PG_VERSION_NUM < 170000
#define compat_check_insert_target(relinfo) CheckValidResultRel(relinfo, CMD_INSERT)
#else
#define compat_check_insert_target(relinfo) CheckValidResultRel(relinfo, CMD_INSERT, NIL)
#endif

#endif
