/*
 * kind.h: what becomes of each kind of object on the other nodes: one row per ObjectType.
 */
#ifndef PANDO_DDL_KIND_H
#define PANDO_DDL_KIND_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

typedef enum KindPlace
{
	KIND_EVERYWHERE, /* on all nodes, recorded in pg_dist_object */
	KIND_TABLE,		 /* on all nodes once it is distributed, with its metadata */
	KIND_PART,		 /* of another object, and where that is */
	KIND_LOCAL		 /* on the node where it is made */
} KindPlace;

typedef struct ObjectKind
{
	ObjectType type;
	const char *name; /* as PostgreSQL's enum has it, without OBJECT_ */
	KindPlace place;
	Oid class_id;		/* catalog; InvalidOid: none of its own */
	const char *reason; /* of what is local, why; of a part, part of what */
} ObjectKind;

/* NULL for a kind that the table lacks, which the test of it forbids. */
extern const ObjectKind *kind_of_type(ObjectType type);

/* What is made on all nodes and recorded, by its catalog (relations: views only). */
extern bool kind_class_is_everywhere(Oid class_id);
extern bool kind_class_is_part(Oid class_id);

/* Is it a relation that is recorded, a view of one sort or the other? */
extern bool kind_is_view(Oid relid);

#endif
