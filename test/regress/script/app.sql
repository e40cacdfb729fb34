-- Tenants, their users, projects, tasks and events, keys that contain the tenant.
CREATE TYPE status AS ENUM ('new', 'open', 'done');
CREATE DOMAIN email AS text CHECK (VALUE ~ '@');
CREATE TABLE plans (id int PRIMARY KEY, name text UNIQUE, price numeric(10,2));
CREATE TABLE tenants (id bigserial PRIMARY KEY, name text NOT NULL, plan int REFERENCES plans, created timestamptz NOT NULL DEFAULT now(), settings jsonb NOT NULL DEFAULT '{}');
CREATE TABLE users (tenant bigint NOT NULL REFERENCES tenants ON DELETE CASCADE, id bigserial, mail email NOT NULL, admin boolean NOT NULL DEFAULT false, PRIMARY KEY (tenant, id), UNIQUE (tenant, mail));
CREATE TABLE projects (tenant bigint NOT NULL REFERENCES tenants ON DELETE CASCADE, id bigserial, name varchar(30) NOT NULL, owner bigint, PRIMARY KEY (tenant, id), FOREIGN KEY (tenant, owner) REFERENCES users (tenant, id) ON DELETE SET NULL (owner));
CREATE TABLE tasks (tenant bigint NOT NULL, id bigserial, project bigint NOT NULL, title text, state status NOT NULL DEFAULT 'new', tags text[] NOT NULL DEFAULT '{}', hours numeric(6,2) CHECK (hours >= 0), due date, version int NOT NULL DEFAULT 1, search tsvector GENERATED ALWAYS AS (to_tsvector('english', coalesce(title, ''))) STORED, PRIMARY KEY (tenant, id), FOREIGN KEY (tenant, project) REFERENCES projects (tenant, id) ON DELETE CASCADE);
CREATE TABLE events (tenant bigint NOT NULL, at timestamptz NOT NULL, task bigint, kind text, data jsonb);
CREATE TABLE counters (tenant bigint NOT NULL, name text NOT NULL, n bigint NOT NULL DEFAULT 0, PRIMARY KEY (tenant, name));
SELECT reference('plans');
SELECT distribute('tenants', 'id');
SELECT distribute('users', 'tenant', 'tenants');
SELECT distribute('projects', 'tenant', 'tenants');
SELECT distribute('tasks', 'tenant', 'tenants');
SELECT distribute('events', 'tenant', 'tenants');
SELECT distribute('counters', 'tenant', 'tenants');
INSERT INTO plans VALUES (1, 'free', 0), (2, 'pro', 9.99), (3, 'big', 99);
INSERT INTO tenants (name, plan) SELECT 'tenant ' || i, 1 + i % 3 FROM generate_series(1, 12) i;
INSERT INTO users (tenant, mail, admin) SELECT 1 + i % 12, 'u' || i || '@example.org', i < 12 FROM generate_series(0, 59) i;
INSERT INTO projects (tenant, name, owner) SELECT tenant, 'project of ' || mail, id FROM users WHERE admin ORDER BY id;
INSERT INTO projects (tenant, name) SELECT id, 'second' FROM tenants WHERE plan > 1 ORDER BY id;
INSERT INTO tasks (tenant, project, title, hours, due, tags) SELECT p.tenant, p.id, 'write the ' || n || ' report', n * 1.5, date '2024-01-01' + n, ARRAY['t' || n % 3] FROM projects p, generate_series(1, 6) n ORDER BY 1, 2, n;
INSERT INTO events SELECT tenant, timestamptz '2024-01-20 00:00+00' + (id % 30) * interval '1 day', id, 'made', jsonb_build_object('id', id) FROM tasks;
SELECT count(*), sum(tenant), count(DISTINCT id) FROM tasks;

-- Foreign keys and other constraints.
INSERT INTO users (tenant, mail) VALUES (999, 'a@b');
INSERT INTO users (tenant, mail) VALUES (1, 'no mail');
INSERT INTO users (tenant, mail) VALUES (1, 'u0@example.org');
INSERT INTO tenants (name, plan) VALUES ('x', 9);
UPDATE tenants SET plan = 9 WHERE id = 1;
INSERT INTO tasks (tenant, project, hours) SELECT 1, min(id), -1 FROM projects WHERE tenant = 1;
DELETE FROM plans WHERE id = 1;
DELETE FROM users WHERE tenant = 2 AND admin;
SELECT tenant, name, owner IS NULL FROM projects WHERE tenant = 2 ORDER BY name;
DELETE FROM tenants WHERE id = 12 RETURNING name;
SELECT (SELECT count(*) FROM users WHERE tenant = 12), (SELECT count(*) FROM projects WHERE tenant = 12), (SELECT count(*) FROM tasks WHERE tenant = 12);
DELETE FROM tenants WHERE id IN (10, 11);
SELECT count(*) FROM users; SELECT count(*) FROM tasks;
TRUNCATE tenants;

-- What an ORM sends.
SELECT "t"."id", "t"."title", "p"."name" FROM "tasks" "t" INNER JOIN "projects" "p" ON ("t"."project" = "p"."id" AND "t"."tenant" = "p"."tenant") WHERE ("t"."tenant" = 3 AND "t"."state" IN ('new', 'open') AND NOT ("t"."due" < '2024-01-03'::date AND "t"."due" IS NOT NULL)) ORDER BY "t"."id" ASC LIMIT 5 OFFSET 1;
SELECT COUNT(*) AS "__count" FROM "tasks" WHERE "tasks"."tenant" = 3;
SELECT (1) AS "a" FROM "users" WHERE ("users"."mail" = 'u3@example.org' AND "users"."tenant" = 4) LIMIT 1;
SELECT DISTINCT ON (tenant) tenant, title, due FROM tasks ORDER BY tenant, due DESC, id DESC;
SELECT t.id, t.name, p.name, (SELECT count(*) FROM users u WHERE u.tenant = t.id) users, (SELECT coalesce(sum(hours), 0) FROM tasks k WHERE k.tenant = t.id AND k.state = 'done') done FROM tenants t LEFT JOIN plans p ON p.id = t.plan ORDER BY t.id LIMIT 4;
SELECT p.name, count(DISTINCT t.id), count(u.*), round(avg(p.price), 2) FROM plans p JOIN tenants t ON t.plan = p.id LEFT JOIN users u ON u.tenant = t.id GROUP BY p.name ORDER BY 1;
SELECT id, title FROM tasks WHERE tenant = 4 AND search @@ to_tsquery('english', 'reports & !3') ORDER BY id LIMIT 3;
SELECT id, title FROM tasks WHERE tenant = 4 AND tags && ARRAY['t1'] AND (due, id) > ('2024-01-02', 0) ORDER BY due, id LIMIT 3;
SELECT tenant, name, rank() OVER (PARTITION BY tenant ORDER BY name) FROM projects WHERE tenant < 4 ORDER BY 1, 3;
SELECT t.id, last.title FROM tenants t CROSS JOIN LATERAL (SELECT title FROM tasks k WHERE k.tenant = t.id ORDER BY id DESC LIMIT 1) last ORDER BY t.id;
SELECT date_trunc('week', at)::date w, kind, count(*) FROM events GROUP BY 1, 2 ORDER BY 1, 2;
SELECT tenant, jsonb_object_agg(kind, n) FROM (SELECT tenant, kind, count(*) n FROM events GROUP BY 1, 2) s GROUP BY 1 ORDER BY 1;
SELECT json_agg(x ORDER BY id) FROM (SELECT id, name FROM projects WHERE tenant = 5) x;
SELECT u.mail, json_agg(json_build_object('id', p.id, 'name', p.name) ORDER BY p.id) FILTER (WHERE p.id IS NOT NULL) FROM users u LEFT JOIN projects p ON p.tenant = u.tenant AND p.owner = u.id WHERE u.tenant = 5 GROUP BY u.mail ORDER BY 1;
SELECT EXISTS (SELECT 1 FROM tasks WHERE tenant = 6 AND state = 'done'), EXISTS (SELECT 1 FROM tasks WHERE state = 'new');
SELECT state, count(*) FROM tasks GROUP BY state ORDER BY state;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY hours), stddev_pop(hours)::numeric(8,4) FROM tasks;
SELECT width_bucket(hours, 0, 10, 5) b, count(*) FROM tasks GROUP BY b ORDER BY b;
SELECT count(*) FROM tasks WHERE title ILIKE '%REPORT%' AND tenant = ANY (ARRAY[1, 2, 3]);
SELECT string_agg(DISTINCT unnest, ',') FROM (SELECT unnest(tags) FROM tasks) s;
WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 4) SELECT n.i, count(t.id) FROM n LEFT JOIN tenants t ON t.id % 4 = n.i - 1 GROUP BY 1 ORDER BY 1;

-- Changes as an application makes them.
UPDATE tasks SET state = 'open', version = version + 1 WHERE tenant = 3 AND id = (SELECT min(id) FROM tasks WHERE tenant = 3) AND version = 1 RETURNING version, state;
UPDATE tasks SET state = 'open', version = version + 1 WHERE tenant = 3 AND id = (SELECT min(id) FROM tasks WHERE tenant = 3) AND version = 1;
INSERT INTO counters VALUES (1, 'visits', 1) ON CONFLICT (tenant, name) DO UPDATE SET n = counters.n + excluded.n RETURNING n;
INSERT INTO counters VALUES (1, 'visits', 1), (2, 'visits', 5) ON CONFLICT (tenant, name) DO UPDATE SET n = counters.n + excluded.n;
INSERT INTO counters SELECT tenant, 'tasks', count(*) FROM tasks GROUP BY tenant ON CONFLICT (tenant, name) DO UPDATE SET n = excluded.n;
INSERT INTO counters SELECT tenant, 'events', count(*) FROM events GROUP BY tenant;
SELECT * FROM counters ORDER BY 1, 2;
BEGIN;
WITH next AS (SELECT id FROM tasks WHERE tenant = 5 AND state = 'new' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED) UPDATE tasks t SET state = 'open' FROM next WHERE t.tenant = 5 AND t.id = next.id RETURNING t.title \g |sort
SELECT id FROM tasks WHERE tenant = 5 AND state = 'open' ORDER BY id FOR UPDATE;
SAVEPOINT s1;
INSERT INTO users (tenant, mail) VALUES (5, 'u4@example.org');
ROLLBACK TO SAVEPOINT s1;
RELEASE SAVEPOINT s1;
INSERT INTO events VALUES (5, '2024-01-31 10:00+00', 1, 'opened', '{"by": "me"}');
COMMIT;
UPDATE tenants SET settings = jsonb_set(settings, '{theme}', '"dark"') || '{"n": 1}' WHERE id = 3 RETURNING settings->>'theme', settings;
UPDATE tenants SET settings = settings - 'n', plan = (SELECT id FROM plans WHERE name = 'big') WHERE id = 3 RETURNING plan, settings;
UPDATE tasks SET tags = array_append(tags, 'late') WHERE due < '2024-01-04' AND state <> 'done';
SELECT count(*) FROM tasks WHERE 'late' = ANY (tags);
UPDATE events SET at = at + interval '10 days' WHERE tenant = 3 AND at < '2024-01-25 00:00+00';
SELECT date_trunc('month', at AT TIME ZONE 'UTC') m, count(*) FROM events GROUP BY 1 ORDER BY 1;
DELETE FROM events WHERE at < '2024-01-25 00:00+00' AND tenant <> 4;
WITH moved AS (DELETE FROM tasks WHERE state = 'open' RETURNING *) INSERT INTO events SELECT tenant, '2024-02-02', id, 'removed', to_jsonb(hours) FROM moved;
SELECT kind, count(*) FROM events GROUP BY 1 ORDER BY 1;
INSERT INTO events SELECT id, '2024-03-05', NULL, 'new month' FROM tenants;
SELECT count(*) FROM events;
ALTER TABLE tasks ADD COLUMN done_at timestamptz, ADD COLUMN points int NOT NULL DEFAULT 3;
UPDATE tasks SET done_at = '2024-04-01', state = 'done' WHERE tenant = 6;
CREATE INDEX ON tasks (tenant, state) WHERE state <> 'done';
SELECT count(*), sum(points), count(done_at) FROM tasks;
SELECT id, name FROM tenants WHERE name LIKE 'tenant 1%' ORDER BY name COLLATE "C";

-- Triggers, views, functions over tenants.
CREATE VIEW open_tasks AS SELECT t.tenant, p.name project, t.title FROM tasks t JOIN projects p ON p.tenant = t.tenant AND p.id = t.project WHERE t.state <> 'done';
SELECT count(*) FROM open_tasks;
SELECT project, count(*) FROM open_tasks WHERE tenant = 7 GROUP BY 1 ORDER BY 1;
CREATE MATERIALIZED VIEW per_tenant AS SELECT tenant, count(*) n FROM tasks GROUP BY tenant;
SELECT count(*), sum(n) FROM per_tenant;
DELETE FROM tasks WHERE tenant = 7;
REFRESH MATERIALIZED VIEW per_tenant;
SELECT count(*), sum(n) FROM per_tenant;
CREATE FUNCTION task_count(t bigint) RETURNS bigint STABLE LANGUAGE sql AS 'SELECT count(*) FROM twice.tasks WHERE tenant = t';
SELECT id, task_count(id) FROM tenants ORDER BY id;
SELECT task_count(3), task_count(NULL);
SELECT sum(task_count(id)) FROM tenants WHERE task_count(id) > 5;
CREATE FUNCTION make_task(t bigint, p text, title text, OUT id bigint, OUT n bigint) LANGUAGE plpgsql AS $$
DECLARE pid bigint;
BEGIN
	SELECT x.id INTO STRICT pid FROM projects x WHERE x.tenant = t AND x.name = p;
	INSERT INTO tasks (tenant, project, title) VALUES (t, pid, title) RETURNING tasks.id INTO id;
	SELECT count(*) INTO n FROM tasks WHERE tenant = t;
EXCEPTION WHEN no_data_found THEN n := -1;
END $$;
SELECT id IS NOT NULL, n FROM make_task(8, 'second', 'from function');
SELECT * FROM make_task(8, 'none such', 'from function');
DO $$ DECLARE r record; BEGIN FOR r IN SELECT id FROM tenants ORDER BY id LOOP PERFORM make_task(r.id, 'second', 'loop'); END LOOP; END $$;
SELECT count(*) FROM tasks WHERE title = 'loop';
