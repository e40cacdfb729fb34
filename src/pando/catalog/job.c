/*
 * job.c: rows of pg_dist_background_job, pg_dist_background_task and
 * pg_dist_background_task_depend.
 */
#include "pando/compat/compat.h"

#include "pando/catalog/catalog.h"
#include "pando/catalog/job.h"

static const CatalogColumn job_columns[] = {
	{"job_id", COLUMN_INT8, offsetof(JobRow, job_id)},
	{"state", COLUMN_ENUM, offsetof(JobRow, state)},
	{"job_type", COLUMN_NAME, offsetof(JobRow, job_type)},
	{"description", COLUMN_TEXT, offsetof(JobRow, description)},
	{"started_at", COLUMN_TIME, offsetof(JobRow, started_at)},
	{"finished_at", COLUMN_TIME, offsetof(JobRow, finished_at)},
};
static const Catalog job_catalog =
	CATALOG_OF("pg_dist_background_job", JobRow, job_columns);
static const char *const job_key_index = "pg_dist_background_job_pkey";

static const CatalogColumn task_columns[] = {
	{"job_id", COLUMN_INT8, offsetof(TaskRow, job_id)},
	{"task_id", COLUMN_INT8, offsetof(TaskRow, task_id)},
	{"owner", COLUMN_OID, offsetof(TaskRow, owner)},
	{"pid", COLUMN_INT4_OR_NULL, offsetof(TaskRow, pid)},
	{"status", COLUMN_ENUM, offsetof(TaskRow, status)},
	{"command", COLUMN_TEXT, offsetof(TaskRow, command)},
	{"retry_count", COLUMN_INT4, offsetof(TaskRow, retry_count)},
	{"not_before", COLUMN_TIME, offsetof(TaskRow, not_before)},
	{"message", COLUMN_TEXT, offsetof(TaskRow, message)},
	{"nodes_involved", COLUMN_INT4_ARRAY, offsetof(TaskRow, nodes_involved)},
};
static const Catalog task_catalog =
	CATALOG_OF("pg_dist_background_task", TaskRow, task_columns);
static const char *const task_key_index = "pg_dist_background_task_pkey";
static const char *const task_status_index = "pg_dist_background_task_status_index";
static const char *const task_job_index = "pg_dist_background_task_job_index";

static const CatalogColumn depend_columns[] = {
	{"job_id", COLUMN_INT8, offsetof(TaskDependRow, job_id)},
	{"task_id", COLUMN_INT8, offsetof(TaskDependRow, task_id)},
	{"depends_on", COLUMN_INT8, offsetof(TaskDependRow, depends_on)},
};
static const Catalog depend_catalog =
	CATALOG_OF("pg_dist_background_task_depend", TaskDependRow, depend_columns);
static const char *const depend_key_index = "pg_dist_background_task_depend_pkey";
static const char *const depend_on_index =
	"pg_dist_background_task_depend_depends_on_index";

void
catalog_job_add(JobRow *row)
{
	row->job_id = catalog_nextval("pg_dist_background_job_job_id_seq");
	catalog_insert(&job_catalog, row);
}

int64
catalog_task_next_id(void)
{
	return catalog_nextval("pg_dist_background_task_task_id_seq");
}

void
catalog_task_add_all(List *rows)
{
	catalog_insert_all(&task_catalog, rows);
}

void
catalog_task_depend_add_all(List *rows)
{
	catalog_insert_all(&depend_catalog, rows);
}

JobRow *
catalog_job_find(int64 job_id)
{
	CatalogKey key = KEY_INT8("job_id", job_id);

	return catalog_find(&job_catalog, job_key_index, 1, &key);
}

List *
catalog_job_open(void)
{
	const char *const states[] = {"scheduled", "running", "cancelling", "failing"};
	List *rows = NIL;

	for (int i = 0; i < lengthof(states); i++)
	{
		CatalogKey key = KEY_ENUM("state", states[i]);

		rows = list_concat(
			rows,
			catalog_scan(&job_catalog, "pg_dist_background_job_state_index", 1, &key));
	}
	return rows;
}

void
catalog_job_update(const JobRow *row)
{
	CatalogKey key = KEY_INT8("job_id", row->job_id);

	(void) catalog_update(&job_catalog, job_key_index, 1, &key, row);
}

TaskRow *
catalog_task_find(int64 task_id)
{
	CatalogKey key = KEY_INT8("task_id", task_id);

	return catalog_find(&task_catalog, task_key_index, 1, &key);
}

List *
catalog_task_by_status(const char *status)
{
	CatalogKey key = KEY_ENUM("status", status);

	return catalog_scan(&task_catalog, task_status_index, 1, &key);
}

List *
catalog_task_by_job(int64 job_id)
{
	CatalogKey key = KEY_INT8("job_id", job_id);

	return catalog_scan(&task_catalog, "pg_dist_background_task_job_id_task_id_key", 1,
						&key);
}

bool
catalog_job_has_task(int64 job_id, const char *status)
{
	CatalogKey keys[] = {KEY_INT8("job_id", job_id), KEY_ENUM("status", status)};

	return catalog_find(&task_catalog, task_job_index, lengthof(keys), keys) != NULL;
}

void
catalog_task_update(const TaskRow *row)
{
	CatalogKey key = KEY_INT8("task_id", row->task_id);

	(void) catalog_update(&task_catalog, task_key_index, 1, &key, row);
}

List *
catalog_task_depend_on(int64 job_id, int64 depends_on)
{
	CatalogKey keys[] = {KEY_INT8("job_id", job_id), KEY_INT8("depends_on", depends_on)};

	return catalog_scan(&depend_catalog, depend_on_index, lengthof(keys), keys);
}

List *
catalog_task_depend_of(int64 job_id, int64 task_id)
{
	CatalogKey keys[] = {KEY_INT8("job_id", job_id), KEY_INT8("task_id", task_id)};

	return catalog_scan(&depend_catalog, depend_key_index, lengthof(keys), keys);
}
