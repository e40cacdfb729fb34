/*
 * create_table.c: new tables that would be tied to a distributed one.
 */
#include "pando/compat/compat.h"

#include "catalog/namespace.h"
#include "nodes/parsenodes.h"

#include "pando/catalog/schema.h"
#include "pando/ddl/lock_list.h"
#include "pando/ddl/statements.h"
#include "pando/metadata/node.h"

/*
 * A local table may refer to a distributed one on the way to be distributed itself:
 * its rows are checked as they come, but what happens to the other table's rows isn't
 * seen here before that.
 */
void
constraint_check_local(RangeVar *table, Constraint *constraint)
{
	if (constraint->contype == CONSTR_FOREIGN &&
		OidIsValid(job_distributed_table(constraint->pktable)))
		ereport(NOTICE,
				(errmsg("the foreign key of local table %s does not see changes of "
						"%s until that table is distributed, too",
						table->relname, constraint->pktable->relname)));
}

void
column_check_local(RangeVar *table, ColumnDef *column)
{
	foreach_ptr (Constraint, constraint, column->constraints)
		constraint_check_local(table, constraint);
}

void
create_table_prepare(DdlJob *job)
{
	CreateStmt *stmt = (CreateStmt *) job->stmt;

	foreach_ptr (RangeVar, parent, stmt->inhRelations)
	{
		if (!OidIsValid(job_distributed_table(parent)))
			continue;
		if (stmt->partbound == NULL)
			job_refuse(job, "INHERITS", NULL);
		/* It follows its parent once it is there (cluster/partitions.c). */
		lock_list_add(job, job_distributed_table(parent), AccessExclusiveLock);
	}
	/* It becomes one of its schema's at once (cluster/schema.c). */
	if (catalog_schema_colocation(RangeVarGetCreationNamespace(stmt->relation)) != 0)
		return;
	foreach_ptr (Node, element, stmt->tableElts)
	{
		if (IsA(element, Constraint))
			constraint_check_local(stmt->relation, (Constraint *) element);
		else if (IsA(element, ColumnDef))
			column_check_local(stmt->relation, (ColumnDef *) element);
	}
}

/* A foreign table is no shard's, nor is one a shard's partition. */
void
create_foreign_table_prepare(DdlJob *job)
{
	CreateForeignTableStmt *stmt = (CreateForeignTableStmt *) job->stmt;

	foreach_ptr (RangeVar, parent, stmt->base.inhRelations)
	{
		if (OidIsValid(job_distributed_table(parent)))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot make foreign table \"%s\" a partition of \"%s\"",
							stmt->base.relation->relname, parent->relname),
					 errdetail("Partitions of a distributed table are distributed, and a "
							   "foreign table can't be.")));
	}
}
