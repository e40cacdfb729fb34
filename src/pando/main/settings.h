/*
 * settings.h: settings that are accepted and decide nothing.
 */
#ifndef PANDO_MAIN_SETTINGS_H
#define PANDO_MAIN_SETTINGS_H

/* Defines those that no module has defined; called once, after all modules' inits. */
extern void settings_accept(void);

#endif
