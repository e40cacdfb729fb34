/*
 * node.h: rows of pg_dist_node and of pg_dist_local_group.
 *
 * Every change makes all backends of this server reload their nodes.
 */
#ifndef PANDO_CATALOG_NODE_H
#define PANDO_CATALOG_NODE_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

typedef struct NodeRow
{
	int32 nodeid;
	int32 groupid;
	char *nodename;
	int32 nodeport;
	char *noderack;
	bool hasmetadata;
	bool isactive;
	char *noderole; /* primary, secondary, unavailable */
	char *nodecluster;
	bool metadatasynced;
	bool shouldhaveshards;
	bool nodeisclone;
	int32 nodeprimarynodeid;
} NodeRow;

extern int32 catalog_node_next_id(void);
extern int32 catalog_node_next_group(void);

/* All rows, in order of node id. */
extern List *catalog_node_all(void);
extern NodeRow *catalog_node_by_id(int32 nodeid);

/* This server's group; 0 if there is no row. */
extern int32 catalog_local_group(void);

/* The cluster's identity, NULL when there is none. */
extern char *catalog_server_id(void);

extern void catalog_node_invalidate(void);

#endif
