/*
 * kind.c: the table of kinds of objects.
 *
 * PostgreSQL's ObjectType has a value for each kind that a statement can name. Each has
 * a row here, which says where such an object is; statements, dependencies and drops ask
 * it. pando.object_kinds() shows it, and what it lacks.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_am.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_cast.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_conversion.h"
#include "catalog/pg_database.h"
#include "catalog/pg_default_acl.h"
#include "catalog/pg_event_trigger.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_foreign_data_wrapper.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_language.h"
#include "catalog/pg_largeobject_metadata.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_parameter_acl.h"
#include "catalog/pg_policy.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_publication.h"
#include "catalog/pg_publication_namespace.h"
#include "catalog/pg_publication_rel.h"
#include "catalog/pg_rewrite.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_subscription.h"
#include "catalog/pg_tablespace.h"
#include "catalog/pg_transform.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_ts_config.h"
#include "catalog/pg_ts_dict.h"
#include "catalog/pg_ts_parser.h"
#include "catalog/pg_ts_template.h"
#include "catalog/pg_type.h"
#include "catalog/pg_user_mapping.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pando/ddl/kind.h"

PG_FUNCTION_INFO_V1(object_kinds);

#define EVERYWHERE(kind, class_id)                                                       \
	{                                                                                    \
		OBJECT_##kind, #kind, KIND_EVERYWHERE, class_id, NULL                            \
	}
#define TABLE(kind)                                                                      \
	{                                                                                    \
		OBJECT_##kind, #kind, KIND_TABLE, RelationRelationId, NULL                       \
	}
#define PART(kind, class_id, of)                                                         \
	{                                                                                    \
		OBJECT_##kind, #kind, KIND_PART, class_id, of                                    \
	}
#define LOCAL(kind, class_id, reason)                                                    \
	{                                                                                    \
		OBJECT_##kind, #kind, KIND_LOCAL, class_id, reason                               \
	}

static const ObjectKind kinds[] = {
	EVERYWHERE(ACCESS_METHOD, AccessMethodRelationId),
	EVERYWHERE(AGGREGATE, ProcedureRelationId),
	PART(AMOP, AccessMethodOperatorRelationId, "an operator family"),
	PART(AMPROC, AccessMethodProcedureRelationId, "an operator family"),
	PART(ATTRIBUTE, InvalidOid, "a composite type"),
	EVERYWHERE(CAST, CastRelationId),
	PART(COLUMN, InvalidOid, "a relation"),
	EVERYWHERE(COLLATION, CollationRelationId),
	EVERYWHERE(CONVERSION, ConversionRelationId),
	EVERYWHERE(DATABASE, DatabaseRelationId),
	PART(DEFAULT, AttrDefaultRelationId, "a relation"),
	PART(DEFACL, DefaultAclRelationId, "a role, in a schema or all"),
	EVERYWHERE(DOMAIN, TypeRelationId),
	PART(DOMCONSTRAINT, ConstraintRelationId, "a domain"),
	EVERYWHERE(EVENT_TRIGGER, EventTriggerRelationId),
	EVERYWHERE(EXTENSION, ExtensionRelationId),
	EVERYWHERE(FDW, ForeignDataWrapperRelationId),
	EVERYWHERE(FOREIGN_SERVER, ForeignServerRelationId),
	TABLE(FOREIGN_TABLE),
	EVERYWHERE(FUNCTION, ProcedureRelationId),
	PART(INDEX, RelationRelationId, "a table"),
	EVERYWHERE(LANGUAGE, LanguageRelationId),
	LOCAL(LARGEOBJECT, LargeObjectMetadataRelationId, "it is data of one node"),
	EVERYWHERE(MATVIEW, RelationRelationId),
	EVERYWHERE(OPCLASS, OperatorClassRelationId),
	EVERYWHERE(OPERATOR, OperatorRelationId),
	EVERYWHERE(OPFAMILY, OperatorFamilyRelationId),
	PART(PARAMETER_ACL, ParameterAclRelationId, "a role"),
	PART(POLICY, PolicyRelationId, "a table"),
	EVERYWHERE(PROCEDURE, ProcedureRelationId),
	EVERYWHERE(PUBLICATION, PublicationRelationId),
	PART(PUBLICATION_NAMESPACE, PublicationNamespaceRelationId, "a publication"),
	PART(PUBLICATION_REL, PublicationRelRelationId, "a publication"),
	EVERYWHERE(ROLE, AuthIdRelationId),
	EVERYWHERE(ROUTINE, ProcedureRelationId),
	PART(RULE, RewriteRelationId, "a relation"),
	EVERYWHERE(SCHEMA, NamespaceRelationId),
	TABLE(SEQUENCE),
	LOCAL(SUBSCRIPTION, SubscriptionRelationId, "one node receives"),
	PART(STATISTIC_EXT, StatisticExtRelationId, "a table"),
	PART(TABCONSTRAINT, ConstraintRelationId, "a table"),
	TABLE(TABLE),
	LOCAL(TABLESPACE, TableSpaceRelationId, "directories are each server's own"),
	EVERYWHERE(TRANSFORM, TransformRelationId),
	PART(TRIGGER, TriggerRelationId, "a relation"),
	EVERYWHERE(TSCONFIGURATION, TSConfigRelationId),
	EVERYWHERE(TSDICTIONARY, TSDictionaryRelationId),
	EVERYWHERE(TSPARSER, TSParserRelationId),
	EVERYWHERE(TSTEMPLATE, TSTemplateRelationId),
	EVERYWHERE(TYPE, TypeRelationId),
	EVERYWHERE(USER_MAPPING, UserMappingRelationId),
	EVERYWHERE(VIEW, RelationRelationId),
};

const ObjectKind *
kind_of_type(ObjectType type)
{
	for (int i = 0; i < lengthof(kinds); i++)
	{
		if (kinds[i].type == type)
			return &kinds[i];
	}
	return NULL;
}

static bool
class_has(Oid class_id, KindPlace place)
{
	for (int i = 0; i < lengthof(kinds); i++)
	{
		if (kinds[i].class_id == class_id && kinds[i].place == place)
			return true;
	}
	return false;
}

bool
kind_class_is_everywhere(Oid class_id)
{
	return class_has(class_id, KIND_EVERYWHERE);
}

bool
kind_class_is_part(Oid class_id)
{
	return class_has(class_id, KIND_PART);
}

bool
kind_is_view(Oid relid)
{
	char relkind = OidIsValid(relid) ? get_rel_relkind(relid) : '\0';

	return relkind == RELKIND_VIEW || relkind == RELKIND_MATVIEW;
}

/* pando.object_kinds(): a row for each value of ObjectType, NULL where there is none. */
Datum
object_kinds(PG_FUNCTION_ARGS)
{
	static const char *const places[] = {"every node", "with the table", "part", "local"};
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int type = 0; type <= OBJECT_VIEW; type++)
	{
		const ObjectKind *kind = kind_of_type(type);
		Datum values[4] = {Int32GetDatum(type)};
		bool nulls[4] = {false, kind == NULL, kind == NULL,
						 kind == NULL || kind->reason == NULL};

		if (kind != NULL)
		{
			values[1] = CStringGetTextDatum(kind->name);
			values[2] = CStringGetTextDatum(places[kind->place]);
			if (kind->reason != NULL)
				values[3] = CStringGetTextDatum(kind->reason);
		}
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
