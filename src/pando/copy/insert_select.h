/*
 * insert_select.h: INSERT ... SELECT whose rows come to this node.
 */
#ifndef PANDO_COPY_INSERT_SELECT_H
#define PANDO_COPY_INSERT_SELECT_H

/* Registers the plan node PLAN_INSERT_SELECT (plan/fragment.h). */
extern void insert_select_init(void);

#endif
