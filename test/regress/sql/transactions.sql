-- Transaction blocks, savepoints, exceptions, settings, isolation levels, cursors, COPY and
-- DDL in a block, temporary tables, locks, time limits, roles and PREPARE TRANSACTION are for
-- distributed tables what they are for plain ones.
\setenv PGDATABASE :DBNAME
\! sh "$PG_ABS_SRCDIR/twice.sh" transactions

SET client_min_messages = warning;
DROP SCHEMA twice CASCADE;

-- Records of nodes that are gone, or of another cluster that this server was in, are forgotten.
RESET client_min_messages;
INSERT INTO pg_dist_transaction
	SELECT 9999, format('pando_%s_0_1_2_1', left(metadata->>'server_id', 8)) FROM pg_dist_node_metadata
	UNION ALL SELECT 1, 'pando_00000000_0_1_2_1';
SELECT recover_prepared_transactions();
SELECT count(*) FROM pg_dist_transaction WHERE groupid = 9999 OR gid LIKE 'pando\_00000000%';
