/*
 * fields.h: the fields of Query and RangeTblEntry that not every PostgreSQL has, for a
 * table that names them all (planner/query/level_fields.c): each list takes the macro of
 * a row, and the part that they belong to.
 */
#ifndef PANDO_COMPAT_FIELDS_H
#define PANDO_COMPAT_FIELDS_H

#include "pando/compat/compat.h"

/* clang-format off */
#if PG_VERSION_NUM < 160000
#define QUERY_RIGHTS_FIELDS(ROW, part)
#define ENTRY_RIGHTS_FIELDS(ROW, source, rights) \
	ROW(joinleftcols, source), \
	ROW(requiredPerms, rights), \
	ROW(checkAsUser, rights), \
	ROW(selectedCols, rights), \
	ROW(insertedCols, rights), \
	ROW(updatedCols, rights), \
	ROW(extraUpdatedCols, rights)
#else
#define QUERY_RIGHTS_FIELDS(ROW, part) \
	ROW(rteperminfos, part),
/* The first holds them, see rights.h. */
#define ENTRY_RIGHTS_FIELDS(ROW, source, rights) \
	ROW(joinleftcols, rights), \
	ROW(perminfoindex, rights)
#endif

#if PG_VERSION_NUM < 170000
#define QUERY_MERGE_FIELDS(ROW, part) \
	ROW(mergeUseOuterJoin, part)
#else
#define QUERY_MERGE_FIELDS(ROW, part) \
	ROW(mergeTargetRelation, part), \
	ROW(mergeJoinCondition, part)
#endif
/* clang-format on */

#endif
