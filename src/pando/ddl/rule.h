/*
 * rule.h: rules of distributed tables on all nodes.
 */
#ifndef PANDO_DDL_RULE_H
#define PANDO_DDL_RULE_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

/*
 * A table that has shells on the other nodes: its rules go there, too, with what they
 * need. Raises an error if that can't be there.
 */
extern void rules_follow_table(Oid relid);

/*
 * The shells of these tables are about to go from the other nodes: raises an error if a
 * rule of another table names one of them, or what stands on it.
 */
extern void rules_let_go(List *relids);

#endif
