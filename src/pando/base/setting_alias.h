/*
 * setting_alias.h: a second spelling of settings.
 */
#ifndef PANDO_BASE_SETTING_ALIAS_H
#define PANDO_BASE_SETTING_ALIAS_H

/*
 * Makes every setting <prefix>.x defined so far settable as <alias>.x, too, except those
 * whose value is a string. Called once when the library is loaded, after all settings are
 * defined.
 */
extern void setting_alias_all(const char *prefix, const char *alias);

#endif
