/*
 * handlers.c: the table of statements that can concern distributed objects.
 *
 * A new statement is a new row. For statements that name a kind of object, rows with that
 * kind come before the row for any other.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_authid.h"
#include "catalog/pg_am.h"
#include "catalog/pg_cast.h"
#include "catalog/pg_conversion.h"
#include "catalog/pg_event_trigger.h"
#include "catalog/pg_foreign_data_wrapper.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_language.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_publication.h"
#include "catalog/pg_transform.h"
#include "catalog/pg_ts_parser.h"
#include "catalog/pg_ts_template.h"
#include "catalog/pg_user_mapping.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_ts_config.h"
#include "catalog/pg_ts_dict.h"
#include "catalog/pg_type.h"

#include "pando/ddl/detach.h"
#include "pando/ddl/handler.h"
#include "pando/ddl/partition.h"
#include "pando/ddl/statements.h"

#define OBJECT_CREATED(tag, kind, class_id)                                              \
	{                                                                                    \
		tag, kind, object_create_prepare, NULL, NULL, object_create_run, class_id        \
	}

static const DdlHandler handlers[] = {
	/* tables and their parts */
	{T_AlterTableStmt, ANY_OBJECT, alter_table_prepare, alter_table_finish,
	 alter_table_changed, detach_run, .managed_local = true, .shell = alter_table_shell},
	{T_CreateStmt, ANY_OBJECT, create_table_prepare},
	{T_CreateForeignTableStmt, ANY_OBJECT, create_foreign_table_prepare},
	{T_IndexStmt, ANY_OBJECT, index_create_prepare, NULL, partition_indexes_changed,
	 index_create_run, .managed_local = true},
	{T_ReindexStmt, ANY_OBJECT, reindex_prepare, NULL, NULL, reindex_run},
	{T_ClusterStmt, ANY_OBJECT, cluster_prepare, NULL, NULL, cluster_run},
	{T_TruncateStmt, ANY_OBJECT, truncate_prepare, truncate_finish,
	 .shell = truncate_shell},
	{T_LockStmt, ANY_OBJECT, lock_prepare},
	{T_ConstraintsSetStmt, ANY_OBJECT, constraints_set_prepare},
	{T_VacuumStmt, ANY_OBJECT, vacuum_prepare, NULL, NULL, vacuum_run},
	{T_CreatePolicyStmt, ANY_OBJECT, policy_create_prepare},
	{T_AlterPolicyStmt, ANY_OBJECT, policy_alter_prepare},
	{T_CreateTrigStmt, ANY_OBJECT, trigger_create_prepare, NULL, trigger_create_changed},
	{T_AlterObjectDependsStmt, ANY_OBJECT, depends_prepare},
	{T_RuleStmt, ANY_OBJECT, rule_create_prepare, NULL, rule_create_changed},
	{T_CreateStatsStmt, ANY_OBJECT, statistics_create_prepare},
	{T_AlterStatsStmt, ANY_OBJECT, statistics_alter_prepare},
	{T_CommentStmt, ANY_OBJECT, comment_prepare},
	{T_SecLabelStmt, ANY_OBJECT, security_label_prepare},
	{T_GrantStmt, ANY_OBJECT, grant_prepare, .managed_local = true},

	{T_DropStmt, OBJECT_INDEX, index_drop_prepare, NULL, NULL, index_drop_run,
	 .managed_local = true},
	{T_DropStmt, OBJECT_POLICY, attached_drop_prepare},
	{T_DropStmt, OBJECT_TRIGGER, attached_drop_prepare},
	{T_DropStmt, OBJECT_RULE, attached_drop_prepare},
	{T_DropStmt, OBJECT_STATISTIC_EXT, statistics_drop_prepare},
	{T_DropStmt, OBJECT_SEQUENCE, sequence_drop_prepare},
	{T_DropStmt, ANY_OBJECT, object_drop_prepare},

	{T_RenameStmt, OBJECT_TABLE, rename_prepare, .managed_local = true},
	{T_RenameStmt, OBJECT_FOREIGN_TABLE, rename_prepare, .managed_local = true},
	{T_RenameStmt, OBJECT_INDEX, rename_prepare, .managed_local = true},
	{T_RenameStmt, OBJECT_SEQUENCE, rename_prepare, .managed_local = true},
	{T_RenameStmt, OBJECT_COLUMN, rename_prepare, NULL, rename_changed,
	 .managed_local = true},
	{T_RenameStmt, OBJECT_TABCONSTRAINT, rename_prepare, rename_finish,
	 .managed_local = true},
	{T_RenameStmt, OBJECT_POLICY, rename_prepare},
	{T_RenameStmt, OBJECT_TRIGGER, rename_prepare},
	{T_RenameStmt, OBJECT_RULE, rename_prepare},
	{T_RenameStmt, OBJECT_VIEW, rename_prepare},
	{T_RenameStmt, OBJECT_MATVIEW, rename_prepare},
	{T_RenameStmt, OBJECT_STATISTIC_EXT, statistics_named_prepare},
	{T_RenameStmt, OBJECT_ATTRIBUTE, rename_attribute_prepare, NULL,
	 rename_attribute_changed},
	{T_RenameStmt, ANY_OBJECT, object_prepare},
	{T_AlterObjectSchemaStmt, OBJECT_TABLE, set_schema_prepare, .managed_local = true},
	{T_AlterObjectSchemaStmt, OBJECT_FOREIGN_TABLE, set_schema_prepare,
	 .managed_local = true},
	{T_AlterObjectSchemaStmt, OBJECT_SEQUENCE, set_schema_prepare},
	{T_AlterObjectSchemaStmt, OBJECT_VIEW, set_schema_prepare},
	{T_AlterObjectSchemaStmt, OBJECT_MATVIEW, set_schema_prepare},
	{T_AlterObjectSchemaStmt, OBJECT_STATISTIC_EXT, statistics_named_prepare},
	{T_AlterObjectSchemaStmt, ANY_OBJECT, object_prepare},
	{T_AlterOwnerStmt, OBJECT_STATISTIC_EXT, statistics_named_prepare},
	{T_AlterOwnerStmt, OBJECT_DATABASE, database_owner_prepare},
	{T_AlterOwnerStmt, ANY_OBJECT, object_prepare},
	{T_AlterSeqStmt, ANY_OBJECT, sequence_alter_prepare, sequence_alter_finish},
	{T_DiscardStmt, ANY_OBJECT, discard_prepare},

	/* other objects: made */
	OBJECT_CREATED(T_CreateSchemaStmt, ANY_OBJECT, NamespaceRelationId),
	OBJECT_CREATED(T_ViewStmt, ANY_OBJECT, RelationRelationId),
	OBJECT_CREATED(T_CreateTableAsStmt, OBJECT_MATVIEW, RelationRelationId),
	OBJECT_CREATED(T_CreateExtensionStmt, ANY_OBJECT, ExtensionRelationId),
	OBJECT_CREATED(T_CompositeTypeStmt, ANY_OBJECT, TypeRelationId),
	OBJECT_CREATED(T_CreateEnumStmt, ANY_OBJECT, TypeRelationId),
	OBJECT_CREATED(T_CreateRangeStmt, ANY_OBJECT, TypeRelationId),
	OBJECT_CREATED(T_CreateDomainStmt, ANY_OBJECT, TypeRelationId),
	OBJECT_CREATED(T_CreateFunctionStmt, ANY_OBJECT, ProcedureRelationId),
	OBJECT_CREATED(T_DefineStmt, OBJECT_AGGREGATE, ProcedureRelationId),
	OBJECT_CREATED(T_DefineStmt, OBJECT_COLLATION, CollationRelationId),
	OBJECT_CREATED(T_DefineStmt, OBJECT_TSDICTIONARY, TSDictionaryRelationId),
	OBJECT_CREATED(T_DefineStmt, OBJECT_TSCONFIGURATION, TSConfigRelationId),
	OBJECT_CREATED(T_DefineStmt, OBJECT_TSPARSER, TSParserRelationId),
	OBJECT_CREATED(T_DefineStmt, OBJECT_TSTEMPLATE, TSTemplateRelationId),
	OBJECT_CREATED(T_DefineStmt, OBJECT_OPERATOR, OperatorRelationId),
	OBJECT_CREATED(T_CreateOpClassStmt, ANY_OBJECT, OperatorClassRelationId),
	OBJECT_CREATED(T_CreateOpFamilyStmt, ANY_OBJECT, OperatorFamilyRelationId),
	OBJECT_CREATED(T_CreateCastStmt, ANY_OBJECT, CastRelationId),
	OBJECT_CREATED(T_CreateTransformStmt, ANY_OBJECT, TransformRelationId),
	OBJECT_CREATED(T_CreatePLangStmt, ANY_OBJECT, LanguageRelationId),
	OBJECT_CREATED(T_CreateConversionStmt, ANY_OBJECT, ConversionRelationId),
	OBJECT_CREATED(T_CreateAmStmt, ANY_OBJECT, AccessMethodRelationId),
	OBJECT_CREATED(T_CreateFdwStmt, ANY_OBJECT, ForeignDataWrapperRelationId),
	OBJECT_CREATED(T_CreateForeignServerStmt, ANY_OBJECT, ForeignServerRelationId),
	OBJECT_CREATED(T_CreateUserMappingStmt, ANY_OBJECT, UserMappingRelationId),
	OBJECT_CREATED(T_CreatePublicationStmt, ANY_OBJECT, PublicationRelationId),
	OBJECT_CREATED(T_CreateEventTrigStmt, ANY_OBJECT, EventTriggerRelationId),
	OBJECT_CREATED(T_CreateRoleStmt, ANY_OBJECT, AuthIdRelationId),
	OBJECT_CREATED(T_AlterRoleStmt, ANY_OBJECT, AuthIdRelationId),

	{T_CreatedbStmt, ANY_OBJECT, database_create_prepare, NULL, NULL,
	 database_create_run},

	/* and changed */
	{T_AlterDatabaseStmt, ANY_OBJECT, database_alter_prepare},
	{T_AlterDatabaseSetStmt, ANY_OBJECT, database_alter_prepare},
	{T_DropdbStmt, ANY_OBJECT, database_drop_prepare, NULL, NULL, database_drop_run},
	{T_RefreshMatViewStmt, ANY_OBJECT, matview_refresh_prepare, NULL, NULL,
	 matview_refresh_run},
	{T_AlterEnumStmt, ANY_OBJECT, object_prepare},
	{T_AlterTypeStmt, ANY_OBJECT, object_prepare},
	{T_AlterDomainStmt, ANY_OBJECT, object_prepare},
	{T_AlterFunctionStmt, ANY_OBJECT, object_prepare},
	{T_AlterOperatorStmt, ANY_OBJECT, object_prepare},
	{T_AlterOpFamilyStmt, ANY_OBJECT, object_prepare},
	{T_AlterFdwStmt, ANY_OBJECT, object_prepare},
	{T_AlterForeignServerStmt, ANY_OBJECT, object_prepare},
	{T_AlterUserMappingStmt, ANY_OBJECT, object_prepare},
	{T_DropUserMappingStmt, ANY_OBJECT, object_prepare},
	{T_AlterPublicationStmt, ANY_OBJECT, publication_alter_prepare},
	{T_AlterEventTrigStmt, ANY_OBJECT, object_prepare},
	{T_AlterDefaultPrivilegesStmt, ANY_OBJECT, default_privileges_prepare},
	{T_AlterRoleSetStmt, ANY_OBJECT, role_set_prepare},
	{T_AlterExtensionStmt, ANY_OBJECT, object_prepare},
	{T_AlterExtensionContentsStmt, ANY_OBJECT, object_prepare},
	{T_AlterCollationStmt, ANY_OBJECT, object_prepare},
	{T_AlterTSDictionaryStmt, ANY_OBJECT, object_prepare},
	{T_AlterTSConfigurationStmt, ANY_OBJECT, object_prepare},
	{T_DropRoleStmt, ANY_OBJECT, object_drop_prepare},
	{T_GrantRoleStmt, ANY_OBJECT, grant_role_prepare},
	{T_DropOwnedStmt, ANY_OBJECT, owned_prepare},
	{T_ReassignOwnedStmt, ANY_OBJECT, owned_prepare},
};

int
handler_object_type(Node *stmt)
{
	switch (nodeTag(stmt))
	{
		case T_DropStmt:
			return ((DropStmt *) stmt)->removeType;
		case T_RenameStmt:
			return ((RenameStmt *) stmt)->renameType;
		case T_AlterObjectSchemaStmt:
			return ((AlterObjectSchemaStmt *) stmt)->objectType;
		case T_AlterOwnerStmt:
			return ((AlterOwnerStmt *) stmt)->objectType;
		case T_AlterTableStmt:
			return ((AlterTableStmt *) stmt)->objtype;
		case T_CommentStmt:
			return ((CommentStmt *) stmt)->objtype;
		case T_SecLabelStmt:
			return ((SecLabelStmt *) stmt)->objtype;
		case T_GrantStmt:
			return ((GrantStmt *) stmt)->objtype;
		case T_AlterObjectDependsStmt:
			return ((AlterObjectDependsStmt *) stmt)->objectType;
		case T_CreateTableAsStmt:
			return ((CreateTableAsStmt *) stmt)->objtype;
		case T_DefineStmt:
			return ((DefineStmt *) stmt)->kind;
		default:
			return ANY_OBJECT;
	}
}

const DdlHandler *
handler_find(Node *stmt)
{
	int type = handler_object_type(stmt);

	for (int i = 0; i < lengthof(handlers); i++)
	{
		if (handlers[i].tag == nodeTag(stmt) &&
			(handlers[i].object_type == ANY_OBJECT || handlers[i].object_type == type))
			return &handlers[i];
	}
	return NULL;
}
