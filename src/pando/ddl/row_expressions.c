/*
 * row_expressions.c: what a table's definition computes of its rows, on the shards.
 *
 * There the row is one of the shard: tableoid is the shard's OID, which says nothing to
 * whoever wrote the table's OID or name into the expression.
 */
#include "pando/compat/compat.h"

#include "access/sysattr.h"
#include "optimizer/optimizer.h"
#include "rewrite/rowsecurity.h"
#include "utils/rel.h"

#include "pando/ddl/row_expressions.h"

static bool
uses_tableoid(Node *expression)
{
	/* In the subqueries of a policy, too. */
	foreach_ptr (Var, var, pull_vars_of_level(expression, 0))
	{
		if (IsA(var, Var) && var->varattno == TableOidAttributeNumber)
			return true;
	}
	return false;
}

static void
check(Relation rel, Node *expression, const char *kind, const char *name)
{
	if (!uses_tableoid(expression))
		return;
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("%s \"%s\" of table \"%s\" cannot refer to tableoid", kind,
						   name, RelationGetRelationName(rel)),
					errdetail("Its rows are in shards, which are tables of their own.")));
}

static void
check_constraints(Relation rel)
{
	const TupleConstr *constraints = RelationGetDescr(rel)->constr;

	if (constraints == NULL)
		return;
	for (int i = 0; i < constraints->num_check; i++)
		check(rel, stringToNode(constraints->check[i].ccbin), "check constraint",
			  constraints->check[i].ccname);
	for (int i = 0; i < constraints->num_defval && constraints->has_generated_stored; i++)
	{
		Form_pg_attribute column =
			TupleDescAttr(RelationGetDescr(rel), constraints->defval[i].adnum - 1);

		if (column->attgenerated != '\0')
			check(rel, stringToNode(constraints->defval[i].adbin), "generated column",
				  NameStr(column->attname));
	}
}

void
row_expressions_check(Relation rel)
{
	check_constraints(rel);
	if (rel->rd_rsdesc == NULL)
		return;
	foreach_ptr (RowSecurityPolicy, policy, rel->rd_rsdesc->policies)
	{
		check(rel, (Node *) policy->qual, "policy", policy->policy_name);
		check(rel, (Node *) policy->with_check_qual, "policy", policy->policy_name);
	}
}
