/*
 * publication.c: publications.
 *
 * A publication is on all nodes, and has on each the tables that all of them have, and
 * those that are that node's own. So what is said of a node's own table stays there, and
 * a table that is distributed joins its publications on the other nodes.
 */
#include "pando/compat/compat.h"

#include "catalog/namespace.h"
#include "catalog/pg_publication.h"
#include "fmgr.h"
#include "utils/builtins.h"

#include "pando/base/sql.h"
#include "pando/catalog/object.h"
#include "pando/ddl/dependency.h"
#include "pando/ddl/publication.h"
#include "pando/ddl/shard_ddl.h"
#include "pando/ddl/statements.h"
#include "pando/ddl/utility.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(publication_add);

static bool
is_published_everywhere(Oid relid)
{
	const DistTable *table = OidIsValid(relid) ? dist_table(relid) : NULL;

	return table != NULL && !table->managed_local;
}

bool
publication_row_is_everywhere(Oid row)
{
	char *relid = sql_value(
		"SELECT prrelid::oid FROM pg_catalog.pg_publication_rel WHERE oid = %u", row);

	return relid != NULL && is_published_everywhere(atooid(relid));
}

/* ALTER PUBLICATION: on other nodes without the tables that are the sender's own. */
void
publication_alter_prepare(DdlJob *job)
{
	AlterPublicationStmt *stmt = (AlterPublicationStmt *) job->stmt;
	List *kept = NIL;

	object_prepare(job);
	if (!job->applying)
		return;
	foreach_ptr (PublicationObjSpec, object, stmt->pubobjects)
	{
		if (object->pubobjtype != PUBLICATIONOBJ_TABLE ||
			is_published_everywhere(
				RangeVarGetRelid(object->pubtable->relation, NoLock, true)))
			kept = lappend(kept, object);
	}
	if (kept == NIL && stmt->pubobjects != NIL && stmt->action != AP_SetObjects)
		job->concerned = false;
	stmt->pubobjects = kept;
}

void
publications_follow_table(Oid relid)
{
	List *nodes = node_list(NODES_OTHER);

	foreach_ptr (char, id,
				 sql_column("SELECT prpubid FROM pg_catalog.pg_publication_rel "
							"WHERE prrelid = %u ORDER BY prpubid",
							relid))
	{
		ObjectAddress publication;
		char *command;

		ObjectAddressSet(publication, PublicationRelationId, atooid(id));
		if (catalog_object_find(&publication) == NULL)
		{
			(void) dependency_publish(&publication);
			continue;
		}
		command = sql_value("SELECT command FROM pando.publication_table_commands(%s) "
							"WHERE rel = %u",
							id, relid);
		if (nodes != NIL)
			xact_tell_nodes(nodes, psprintf("SELECT pando.publication_add(%s)",
											quote_literal_cstr(command)));
	}
}

/*
 * pando.publication_add(command): an ALTER PUBLICATION ... ADD TABLE of another node,
 * where the table was published before it was distributed. Who distributes it need not
 * own the publication.
 */
Datum
publication_add(PG_FUNCTION_ARGS)
{
	char *command = text_to_cstring(PG_GETARG_TEXT_PP(0));
	OwnerScope scope;

	xact_require_node("pando.publication_add()");
	foreach_ptr (Node, stmt, shard_parse(command))
	{
		if (!IsA(stmt, AlterPublicationStmt))
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
							errmsg("not a change of a publication")));
		owner_enter(&scope);
		utility_apply_statement(stmt, command, PROCESS_UTILITY_QUERY);
		owner_leave(&scope);
	}
	PG_RETURN_VOID();
}
