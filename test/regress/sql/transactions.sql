-- Transaction blocks, savepoints, exceptions, settings, isolation levels, cursors, COPY and
-- DDL in a block, temporary tables, locks, time limits and roles are for distributed tables
-- what they are for plain ones. A block that wrote to nodes cannot be prepared by a user.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" transactions

-- PREPARE TRANSACTION is the extension's own business.
CREATE TABLE prepared_tx (k int);
SELECT create_distributed_table('prepared_tx', 'k');
BEGIN;
INSERT INTO prepared_tx VALUES (1), (2), (3);
PREPARE TRANSACTION 'mine';
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
BEGIN;
SELECT count(*) FROM prepared_tx;
PREPARE TRANSACTION 'mine';
SELECT count(*) FROM pg_prepared_xacts;
SELECT count(*) FROM prepared_tx;
DROP TABLE prepared_tx;

SET client_min_messages = warning;
DROP SCHEMA twice CASCADE;

-- Records of nodes that are gone, or of another cluster that this server was in, are forgotten.
RESET client_min_messages;
INSERT INTO pg_dist_transaction
	SELECT 9999, format('pando_%s_0_1_2_1', left(metadata->>'server_id', 8)) FROM pg_dist_node_metadata
	UNION ALL SELECT 1, 'pando_00000000_0_1_2_1';
SELECT recover_prepared_transactions();
SELECT count(*) FROM pg_dist_transaction WHERE groupid = 9999 OR gid LIKE 'pando\_00000000%';
