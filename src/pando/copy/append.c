/*
 * append.c: COPY ... WITH (append_to_shard ID): the client says which shard gets the
 * rows.
 *
 * Only a table that is distributed by append lets him: nobody looks for its rows by their
 * values. Nodes that send its rows to each other use the same option.
 */
#include "pando/compat/compat.h"

#include "commands/defrem.h"
#include "nodes/parsenodes.h"
#include "utils/lsyscache.h"

#include "pando/copy/append.h"

static const DefElem *
find_option(List *options)
{
	const DefElem *found = NULL;

	foreach_ptr (DefElem, option, options)
	{
		if (strcmp(option->defname, APPEND_OPTION) != 0)
			continue;
		if (found != NULL)
			ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
							errmsg("conflicting or redundant options")));
		found = option;
	}
	return found;
}

int
append_shard_index(const DistTable *table, List *options)
{
	const DefElem *option = find_option(options);
	const char *name = get_rel_name(table->relid);
	const Shard *shard;
	int64 id;

	if (option == NULL && table->kind != TABLE_APPEND)
		return -1;
	if (option == NULL)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("COPY into table \"%s\", which is distributed by append, needs "
					"the option " APPEND_OPTION,
					name),
			 errhint("master_create_empty_shard() makes a shard and returns its id.")));
	if (table->kind != TABLE_APPEND)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("COPY option " APPEND_OPTION
						" is only for tables that are distributed by append"),
				 errdetail("A value says which shard of table \"%s\" has it.", name)));
	id = defGetInt64((DefElem *) option);
	shard = shard_of_table(table, id);
	if (shard == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("shard " INT64_FORMAT " of table \"%s\" does not exist",
							   id, name)));
	return shard->index;
}

List *
append_options_left(List *options)
{
	List *left = NIL;

	foreach_ptr (DefElem, option, options)
	{
		if (strcmp(option->defname, APPEND_OPTION) != 0)
			left = lappend(left, option);
	}
	return left;
}
