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
ROLLBACK;
SELECT count(*) FROM prepared_tx;
DROP TABLE prepared_tx;

SET client_min_messages = warning;
DROP SCHEMA twice CASCADE;
