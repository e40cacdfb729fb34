/*
 * transaction.c: rows of pg_dist_transaction.
 */
#include "pando/compat/compat.h"

#include "access/transam.h"
#include "utils/builtins.h"

#include "pando/catalog/catalog.h"
#include "pando/catalog/transaction.h"

static const CatalogColumn transaction_columns[] = {
	{"groupid", COLUMN_INT4, offsetof(TransactionRow, groupid)},
	{"gid", COLUMN_TEXT, offsetof(TransactionRow, gid)},
	{"outer_xid", COLUMN_XID8, offsetof(TransactionRow, outer_xid)},
};
static const Catalog transaction_catalog =
	CATALOG_OF("pg_dist_transaction", TransactionRow, transaction_columns);

List *
catalog_transaction_all(void)
{
	return catalog_scan(&transaction_catalog, NULL, 0, NULL);
}

List *
catalog_transaction_by_group(int32 groupid)
{
	CatalogKey key = KEY_INT4("groupid", groupid);

	return catalog_scan(&transaction_catalog, NULL, 1, &key);
}

bool
catalog_transaction_exists(int32 groupid, const char *gid)
{
	CatalogKey keys[] = {KEY_INT4("groupid", groupid), KEY_TEXT("gid", gid)};

	return catalog_scan(&transaction_catalog, NULL, lengthof(keys), keys) != NIL;
}

bool
catalog_transaction_is_recorded(const char *gid)
{
	CatalogKey key = KEY_TEXT("gid", gid);

	return catalog_scan(&transaction_catalog, NULL, 1, &key) != NIL;
}

List *
catalog_transaction_undecided(TransactionId xid)
{
	return catalog_scan_undecided(&transaction_catalog, xid);
}

bool
catalog_transaction_is_undecided(const char *gid)
{
	foreach_ptr (TransactionRow, row, catalog_transaction_undecided(InvalidTransactionId))
	{
		if (strcmp(row->gid, gid) == 0)
			return true;
	}
	return false;
}

void
catalog_transaction_insert(List *rows)
{
	catalog_insert_all(&transaction_catalog, rows);
}

static int
compare_rows(const ListCell *a, const ListCell *b)
{
	const TransactionRow *x = lfirst(a);
	const TransactionRow *y = lfirst(b);

	if (x->groupid != y->groupid)
		return x->groupid < y->groupid ? -1 : 1;
	return strcmp(x->gid, y->gid);
}

static bool
is_among(const void *row, const void *sorted)
{
	const List *rows = sorted;
	ListCell cell = {.ptr_value = unconstify(void *, row)};

	return bsearch(&cell, rows->elements, list_length(rows), sizeof(ListCell),
				   (int (*)(const void *, const void *)) compare_rows) != NULL;
}

void
catalog_transaction_delete_all(List *rows)
{
	if (rows == NIL)
		return;
	list_sort(rows, compare_rows);
	catalog_delete_each(&transaction_catalog, is_among, rows);
}
