-- A publication is on all nodes, and has on each the tables that all nodes have and that node's own. A table that is distributed
-- joins its publications everywhere, whoever owns them; one that is local again leaves them to its node.
CREATE SCHEMA published;
SET search_path TO published;
\pset format unaligned
\pset tuples_only on
SET citus.next_shard_id TO 2010000;
SET citus.shard_count TO 2;
CREATE ROLE published_owner;
GRANT ALL ON SCHEMA published TO published_owner;
CREATE FUNCTION nodes() RETURNS TABLE (who text, publications text) LANGUAGE sql AS $$
	SELECT CASE WHEN groupid = 0 THEN 'coordinator' ELSE 'worker' END, result
	FROM run_command_on_all_nodes($q$SELECT string_agg(concat_ws(' ', p.pubname, p.puballtables, p.pubinsert, p.pubdelete, t.tablename, t.attnames, t.rowfilter,
			s.pnnspid::regnamespace), '; ' ORDER BY p.pubname, t.tablename)
		FROM pg_publication p LEFT JOIN pg_publication_namespace s ON pnpubid = p.oid
			LEFT JOIN pg_publication_tables t ON t.pubname = p.pubname AND p.pubname NOT LIKE '%all' AND t.tablename !~ '_20100' WHERE p.pubname LIKE 'pub_%'$q$)
		JOIN pg_dist_node USING (nodeid) GROUP BY 1, 2 ORDER BY 1 $$;
CREATE TABLE dist (k int PRIMARY KEY, v text);
CREATE TABLE later (k int PRIMARY KEY, v text, w int);
CREATE TABLE here (k int PRIMARY KEY);
SELECT create_distributed_table('dist', 'k', colocate_with := 'none');

CREATE PUBLICATION pub_all FOR ALL TABLES WITH (publish = 'insert');
CREATE PUBLICATION pub_mixed FOR TABLE dist, here;
CREATE PUBLICATION pub_later FOR TABLE later (k, v) WHERE (k > 1);
CREATE PUBLICATION pub_none;
SELECT * FROM nodes();
ALTER PUBLICATION pub_none ADD TABLE here;
ALTER PUBLICATION pub_none SET (publish = 'delete');
ALTER PUBLICATION pub_mixed DROP TABLE here;
ALTER PUBLICATION pub_mixed ADD TABLE later;
SELECT * FROM nodes();
ALTER PUBLICATION pub_none SET TABLE here, dist;
ALTER PUBLICATION pub_none DROP TABLE here, dist;
ALTER PUBLICATION pub_none DROP TABLE dist;
ALTER PUBLICATION pub_none ADD TABLES IN SCHEMA published;
SELECT * FROM nodes();

-- Its owner, who owns none of the publications, distributes a table.
ALTER TABLE later OWNER TO published_owner;
SET ROLE published_owner;
SELECT create_distributed_table('later', 'k', colocate_with := 'none');
RESET ROLE;
SELECT * FROM nodes();
SELECT alter_distributed_table('later', shard_count := 3);
SELECT * FROM nodes();
SELECT undistribute_table('later');
SELECT * FROM nodes();
SELECT create_reference_table('later');
SELECT * FROM nodes();

-- From a worker.
SELECT nodeport AS worker FROM pg_dist_node WHERE groupid = 1 \gset
SELECT nodeport AS coordinator FROM pg_dist_node WHERE groupid = 0 \gset
\c - - - :worker
SET search_path TO published;
CREATE TABLE there (k int PRIMARY KEY);
ALTER PUBLICATION pub_mixed ADD TABLE there;
ALTER PUBLICATION pub_mixed SET TABLE there, dist;
CREATE PUBLICATION pub_worker FOR TABLE there, later;
SELECT who, string_agg(publications, ' | ' ORDER BY publications) FROM nodes() GROUP BY 1 ORDER BY 1;
DROP PUBLICATION pub_worker, pub_none;
DROP TABLE there;
\c - - - :coordinator
SET search_path TO published;
SELECT * FROM nodes();
SELECT pando.publication_add('DROP TABLE published.dist');
SET ROLE published_owner;
SELECT pando.publication_add('ALTER PUBLICATION pub_mixed DROP TABLE published.dist');
RESET ROLE;
DROP PUBLICATION pub_all, pub_mixed, pub_later;
SET client_min_messages TO error;
DROP SCHEMA published CASCADE;
DROP OWNED BY published_owner;
DROP ROLE published_owner;
