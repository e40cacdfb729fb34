/*
 * init.c: what the transaction module registers when the library is loaded.
 */
#include "pando/compat/compat.h"

#include "pando/transaction/init.h"
#include "pando/transaction/member.h"

void
transaction_init(void)
{
	identity_init();
	session_register_guard(call_guard);
	call_serve_init();
	client_limit_init();
	attention_init();
	nesting_init();
	statement_snapshot_init();
	access_init();
	secondary_init();
	finish_register();
	savepoint_init();
	maintenance_init();
	deadlock_init();
	doubt_init();
	gate_init();
	cluster_snapshot_init();
	clock_init();
}
