/*
 * firing.h: which changes of a table fire triggers where the client is.
 *
 * Sets of changes are 1 << CMD_INSERT, CMD_UPDATE and CMD_DELETE.
 */
#ifndef PANDO_METADATA_FIRING_H
#define PANDO_METADATA_FIRING_H

#include "pando/compat/compat.h"

#include "nodes/bitmapset.h"
#include "utils/reltrigger.h"

/*
 * Do the table's shards have the trigger? It is marked by a dependency on the extension
 * (DEPENDS ON EXTENSION). Any other trigger is the shell's alone, and fires there.
 */
extern bool trigger_is_of_shards(Oid trigger);

/* The changes that fire triggers of the table, or of its partitions, where the client is.
 */
extern int changes_that_fire_here(Oid table);

/* Is it the action of a foreign key: does it change the rows that refer to one that is
 * changed or deleted? */
extern bool trigger_is_action(const Trigger *trigger);

/*
 * The changes whose actions are done where the client is: a trigger fires there for what
 * they change, at once or by further actions, or a row moves to another shard; set: the
 * columns of which an UPDATE has to assign one for that, 0 stands for any.
 */
extern int changes_that_act_here(Oid relid, Bitmapset **columns);

/* Does a key without action, of the trigger's table to itself, fire it? */
extern bool trigger_checks_itself(const Trigger *trigger, Oid relid);

/* Has the table such a key? Not told of one that is partitioned, or a partition. */
extern bool refers_to_itself(Oid relid);

/* Has the foreign key such an action? */
extern bool key_acts_here(Oid constraint);

/* The numbers of the columns that the foreign key refers to. */
extern Bitmapset *key_referenced_columns(Oid constraint);

/* Does the foreign key change rows that refer to one whose key is updated? */
extern bool key_has_update_action(Oid constraint);

#endif
