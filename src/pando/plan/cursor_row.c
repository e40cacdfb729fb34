/*
 * cursor_row.c: how the rows of a cursor say where they come from.
 */
#include "pando/compat/compat.h"

#include "nodes/primnodes.h"

#include "pando/plan/cursor_row.h"

/* Not a name that a column of a user's can have as junk: junk has names of the core's. */
#define NAME "pando cursor"

char *
cursor_column_name(Oid relid, AttrNumber column, bool locked)
{
	return psprintf(NAME " %u %d %d", relid, column, locked);
}

bool
cursor_column_is_named(const char *name)
{
	return strncmp(name, NAME " ", strlen(NAME " ")) == 0;
}

CursorColumn
cursor_column_find(List *targetlist, Oid relid, AttrNumber column)
{
	CursorColumn found = {0};

	foreach_ptr (TargetEntry, entry, targetlist)
	{
		Oid of;
		int number;
		int locked;

		if (!entry->resjunk || entry->resname == NULL ||
			sscanf(entry->resname, NAME " %u %d %d", &of, &number, &locked) != 3)
			continue;
		found.locks |= locked != 0;
		if (of != relid || number != column)
			continue;
		found.position = entry->resno;
		found.count++;
	}
	return found;
}
