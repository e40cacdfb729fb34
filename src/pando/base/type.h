/*
 * type.h: whether a type's values mean the same on another server.
 */
#ifndef PANDO_BASE_TYPE_H
#define PANDO_BASE_TYPE_H

#include "pando/compat/compat.h"

/* regclass and its kin: the value is the OID of an object, written as its name. */
extern bool type_is_object_name(Oid type);

/* One of the server's common scalar types, whose values read back the same on any node.
 */
extern bool type_is_basic(Oid type);

/*
 * Can values of the type travel in binary between nodes? Their bytes must not hold OIDs
 * of objects that users made, since these differ from node to node.
 */
extern bool type_travels_binary(Oid type);

/*
 * Is the hash of a value the same on every node? Not where it is made from OIDs, which
 * differ: labels of an enum, objects in the reg* types, and whatever contains them.
 */
extern bool type_hash_is_portable(Oid type);

#endif
