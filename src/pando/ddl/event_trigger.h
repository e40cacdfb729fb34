/*
 * event_trigger.h: event triggers, which fire where the client is.
 */
#ifndef PANDO_DDL_EVENT_TRIGGER_H
#define PANDO_DDL_EVENT_TRIGGER_H

/* Installs the hooks; called from ddl_init only. */
extern void event_trigger_init(void);

#endif
