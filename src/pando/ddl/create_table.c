/*
 * create_table.c: new tables that would be tied to a distributed one.
 */
#include "pando/compat/compat.h"

#include "nodes/parsenodes.h"

#include "pando/ddl/statements.h"

void
create_table_prepare(DdlJob *job)
{
	CreateStmt *stmt = (CreateStmt *) job->stmt;

	foreach_ptr (RangeVar, parent, stmt->inhRelations)
	{
		if (OidIsValid(job_distributed_table(parent)))
			job_refuse(job, stmt->partbound != NULL ? "PARTITION OF" : "INHERITS",
					   "Create the table first and distribute it afterwards.");
	}
}
