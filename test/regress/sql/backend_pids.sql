-- pg_cancel_backend() and pg_terminate_backend() take pids and global pids in whatever type a client sends them;
-- PostgreSQL's own calls mean PostgreSQL's own functions.
\set VERBOSITY terse
SELECT pg_cancel_backend(2147483647), pg_cancel_backend('2147483647'), pg_cancel_backend(2147483647::bigint);
SELECT pg_terminate_backend('2147483647'), pg_terminate_backend('2147483647', '5'), pg_terminate_backend(2147483647, 5);
SELECT pg_terminate_backend((-7)::smallint), pg_cancel_backend(NULL), pg_terminate_backend(NULL::int);
SELECT pg_terminate_backend(2147483647, timeout => 5), pg_cancel_backend(-1);
PREPARE terminate AS SELECT pg_terminate_backend($1);
EXECUTE terminate(2147483647);
EXECUTE terminate('2147483647');
PREPARE terminate_int (int) AS SELECT pg_terminate_backend($1);
EXECUTE terminate_int(2147483647);
PREPARE cancel AS SELECT pg_cancel_backend($1);
EXECUTE cancel(99::bigint * 10000000000);
EXECUTE cancel('990000000001');
EXECUTE cancel(1.5);
EXECUTE cancel('NaN');
EXECUTE cancel('1e300');
SELECT pg_cancel_backend('somebody');
SELECT pg_cancel_backend(citus_backend_gpid());
SELECT pg_terminate_backend('2147483647', -1);
DEALLOCATE ALL;
