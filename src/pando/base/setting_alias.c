/*
 * setting_alias.c: a second spelling of settings.
 *
 * The alias is a setting of its own over the same C variable: code and SHOW see one value
 * whichever name was used last. Its initial value is the variable's present one, for
 * defining a setting assigns it. Strings can't be shared like this: each setting frees
 * the values it holds.
 */
#include "pando/compat/compat.h"

#include "utils/guc.h"
#include "utils/guc_tables.h"

#include "pando/base/setting_alias.h"

/* Not listed beside the original. */
#define ALIAS_FLAGS(generic) ((generic)->flags | GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE)

static void
setting_alias(struct config_generic *generic, const char *name)
{
	const char *text = generic->short_desc;
	int flags = ALIAS_FLAGS(generic);

	switch (generic->vartype)
	{
		case PGC_BOOL:
		{
			struct config_bool *conf = (struct config_bool *) generic;

			DefineCustomBoolVariable(name, text, NULL, conf->variable, *conf->variable,
									 generic->context, flags, conf->check_hook,
									 conf->assign_hook, conf->show_hook);
			break;
		}
		case PGC_INT:
		{
			struct config_int *conf = (struct config_int *) generic;

			DefineCustomIntVariable(name, text, NULL, conf->variable, *conf->variable,
									conf->min, conf->max, generic->context, flags,
									conf->check_hook, conf->assign_hook, conf->show_hook);
			break;
		}
		case PGC_REAL:
		{
			struct config_real *conf = (struct config_real *) generic;

			DefineCustomRealVariable(name, text, NULL, conf->variable, *conf->variable,
									 conf->min, conf->max, generic->context, flags,
									 conf->check_hook, conf->assign_hook,
									 conf->show_hook);
			break;
		}
		case PGC_ENUM:
		{
			struct config_enum *conf = (struct config_enum *) generic;

			DefineCustomEnumVariable(name, text, NULL, conf->variable, *conf->variable,
									 conf->options, generic->context, flags,
									 conf->check_hook, conf->assign_hook,
									 conf->show_hook);
			break;
		}
		case PGC_STRING:
			break;
	}
}

void
setting_alias_all(const char *prefix, const char *alias)
{
	int count;
	struct config_generic **all = compat_guc_variables(&count);
	int length = strlen(prefix);
	List *originals = NIL;

	/* Defining settings moves the array. */
	for (int i = 0; i < count; i++)
		if (strncmp(all[i]->name, prefix, length) == 0 && all[i]->name[length] == '.' &&
			(all[i]->flags & GUC_CUSTOM_PLACEHOLDER) == 0)
			originals = lappend(originals, all[i]);
	foreach_ptr (struct config_generic, generic, originals)
		setting_alias(generic, psprintf("%s%s", alias, generic->name + length));
	list_free(originals);
}
