/*
 * dependency.c: what a table needs, on every node.
 */
#include "pando/compat/compat.h"

#include "pando/ddl/dependency.h"

void
dependency_ensure(const ObjectAddress *object)
{
}

List *
dependency_all_commands(void)
{
	return NIL;
}
