#!/usr/bin/env python3
"""Random INSERT, UPDATE, DELETE, MERGE, COPY over the tables of test/regress/sql/compare_setup.sql, which
have lost columns and have triggers, over partitioned tables of all kinds, where rows move between partitions, and partitions alone,
with rows that move between shards, and rows that others refer to by foreign keys with actions,
over views of them, also behind barriers, over tables and views with rules, and copies without a key, of rows that cursors are at, several of one table, and several in a block with subtransactions and loops, as calls of
public.compare_writes() of compare_write.sql: it compares what each returns and all tables after it
with plain tables, and undoes it. Some seeds (BOUNDS) write as a role that may see and change a part of it, by rights, policies or both.

    random_writes.py SEED [COUNT]           compare COUNT statements
    random_writes.py --print SEED COUNT     only print them

A difference, an error that plain tables don't raise (also what is refused by name), and a lost
server are failures; the same seed gives the same text.
"""
import os
import random
import re
import sys

import cluster

# Columns, those that may be set, and the key that says which rows are the same row.
TABLES = {'a': (['k', 'id', 'x'], ['x', 'y', 'v'], ['k', 'id']), 'b': (['k', 'id', 'x'], ['x', 'y', 'f'], ['k', 'id']),
          'c': (['k', 'ak', 'x'], ['ak', 'x'], None), 'e': (['k', 'x'], ['x', 'name'], None),
          'r': (['id', 'x'], ['x', 'name'], ['id']), 's1': (['id', 'x'], ['id', 'x'], None),
          'loc': (['id', 'x'], ['x', 'name'], None), 'w': (['k', 'd'], ['d', 't', 'arr'], ['k']),
          'wv_a': (['k', 'id', 'x'], ['x', 'y'], ['k', 'id']), 'wv_b': (['k', 'id', 'x'], ['x', 'y', 'f'], ['k', 'id']),
          'wv_r': (['id', 'x'], ['x', 'name'], ['id']), 'wv_over': (['k', 'x'], ['x'], None),
          'wv_kept': (['k', 'id', 'x'], ['x', 'y'], ['k', 'id']), 'wv_rkept': (['id', 'x'], ['x', 'name'], ['id'])}
# Partitioned ones, with partitions of them alone. In those without a key rows move.
PARTITIONED = {'pk': (['k', 'id', 'x'], ['x', 't'], ['k', 'id']), 'pk_1': (['k', 'id', 'x'], ['x', 't'], ['k', 'id']), 'pm': (['k', 'x'], ['x', 't'], None),
               'pm_y': (['k', 'x'], ['x', 't'], None), 'ph': (['id', 'k', 'x'], ['k', 'x'], None), 'ps': (['id', 'x'], ['id', 'x'], None),
               'pr': (['id', 'x'], ['x', 'name'], None), 'pl': (['id', 'x'], ['id', 'x'], None), 'wv_pm': (['k', 'x'], ['x', 't'], None)}
TABLES.update(PARTITIONED)
# A local table with one that inherits from it.
TABLES.update(heir=TABLES['loc'])
# With rules, which know neither RETURNING nor MERGE; copies whose rows have no key, with triggers and without.
RULED = {'ru': (['k', 'id', 'x'], ['id', 'x'], None), 'wv_ruled': (['k', 'x'], ['x'], None)}
TABLES.update(RULED, nk=(['id', 'x'], ['id', 'x', 'name'], None), nm=(['id', 'x'], ['id', 'x', 'name'], None))
# Rows that refer to others, by keys with actions.
TABLES.update(fp=(['k', 'id', 'x'], ['x'], ['k', 'id']), fr=(['id', 'x'], ['x', 'name'], ['id']), fc=(['k', 'id', 'x'], ['x', 'rid'], None), fg=(['k', 'id', 'x'], ['x'], None))
VIEWS = """CREATE VIEW wv_a AS SELECT k, id, x, y FROM a WHERE x < 6 OR x IS NULL;
CREATE VIEW wv_b WITH (security_barrier) AS SELECT k, id, x, y, f FROM b WHERE x > 1;
CREATE VIEW wv_r WITH (security_barrier) AS SELECT id, x, name FROM r WHERE id > 2;
CREATE VIEW wv_over AS SELECT k, x FROM wv_b WHERE k <> 4;
CREATE VIEW wv_kept AS SELECT k, id, x, y FROM wv_a WHERE y IS NULL OR y <> 'new' WITH CASCADED CHECK OPTION;
CREATE VIEW wv_rkept AS SELECT id, x, name FROM r WHERE x < (SELECT 12) OR name LIKE 'n%' WITH LOCAL CHECK OPTION;
"""
PARTITIONS = """CREATE TABLE pk (k int NOT NULL, gone int, id int NOT NULL, x int, t text, PRIMARY KEY (k, id)) PARTITION BY RANGE (id);
CREATE TABLE pk_0 PARTITION OF pk FOR VALUES FROM (MINVALUE) TO (9);
CREATE TABLE pk_1 (t text, gone text, id int NOT NULL, x int, k int NOT NULL);
ALTER TABLE pk_1 DROP gone;
ALTER TABLE pk DROP gone;
ALTER TABLE pk ATTACH PARTITION pk_1 FOR VALUES FROM (9) TO (20);
CREATE TABLE pk_2 PARTITION OF pk FOR VALUES FROM (20) TO (30) PARTITION BY HASH (k);
CREATE TABLE pk_20 PARTITION OF pk_2 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE pk_21 PARTITION OF pk_2 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE pk_rest PARTITION OF pk DEFAULT;
CREATE TABLE pm (k int, x int, t text DEFAULT 'y1') PARTITION BY LIST (t);
CREATE TABLE pm_y PARTITION OF pm FOR VALUES IN ('y1', 'y2', NULL) PARTITION BY RANGE (x, k);
CREATE TABLE pm_y0 PARTITION OF pm_y FOR VALUES FROM (MINVALUE, MINVALUE) TO (3, 4);
CREATE TABLE pm_y1 (t text, x int, k int);
ALTER TABLE pm_y ATTACH PARTITION pm_y1 DEFAULT;
CREATE TABLE pm_rest PARTITION OF pm DEFAULT;
CREATE TABLE ph (k int, id int, x int) PARTITION BY HASH (k);
CREATE TABLE ph_0 PARTITION OF ph FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE ph_1 PARTITION OF ph FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE ph_2 PARTITION OF ph FOR VALUES WITH (MODULUS 3, REMAINDER 2);
CREATE TABLE ps (id int, x int) PARTITION BY RANGE (id);
CREATE TABLE ps_0 PARTITION OF ps FOR VALUES FROM (0) TO (6);
CREATE TABLE ps_1 PARTITION OF ps DEFAULT;
CREATE TABLE pr (id int, x int, name text, PRIMARY KEY (id, x)) PARTITION BY RANGE (x);
CREATE TABLE pr_0 PARTITION OF pr FOR VALUES FROM (MINVALUE) TO (4);
CREATE TABLE pr_1 PARTITION OF pr DEFAULT;
CREATE TABLE pl (id int, x int) PARTITION BY RANGE (x);
CREATE TABLE pl_0 PARTITION OF pl FOR VALUES FROM (MINVALUE) TO (5);
CREATE TABLE pl_1 PARTITION OF pl DEFAULT;
CREATE TABLE heir () INHERITS (loc);
CREATE VIEW wv_pm AS SELECT k, x, t FROM pm WHERE x < 8 OR x IS NULL;
CREATE TABLE ru (k int, id int, x int);
CREATE TABLE nk (id int, x int, name text);
CREATE TABLE nm (id int, gone int, x int, name text);
ALTER TABLE nm DROP gone;
CREATE TABLE fp (k int, id int, x int, PRIMARY KEY (k, id));
CREATE TABLE fr (id int PRIMARY KEY, x int, name text);
CREATE TABLE fc (k int, id int, x int, rid int REFERENCES fr ON DELETE SET NULL ON UPDATE CASCADE, FOREIGN KEY (k, id) REFERENCES fp ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE fg (k int, id int, x int DEFAULT 3 REFERENCES fr ON DELETE SET DEFAULT, FOREIGN KEY (k, id) REFERENCES fp ON DELETE SET NULL ON UPDATE SET NULL);
CREATE VIEW wv_ruled AS SELECT k, x FROM e WHERE k < 7 OR x > 3;
"""
DISTRIBUTE = """SELECT create_distributed_table('pk', 'k', colocate_with => 'a');
SELECT create_distributed_table('pm', 'k', colocate_with => 'a');
SELECT create_distributed_table('ph', 'id', colocate_with => 'none');
SELECT create_distributed_table('ps', NULL, colocate_with => 's1');
SELECT create_reference_table('pr');
SELECT create_distributed_table('ru', 'k', colocate_with => 'a');
SELECT create_reference_table('nk');
SELECT create_reference_table('nm');
SELECT create_reference_table('fr');
SELECT create_distributed_table('fp', 'k', colocate_with => 'a');
SELECT create_distributed_table('fc', 'k', colocate_with => 'a');
SELECT create_distributed_table('fg', 'k', colocate_with => 'a');
"""
AUDIT = "SELECT create_distributed_table('audit', 'n', colocate_with => 'none');"
FILL = """INSERT INTO pk SELECT i % 9, i, NULLIF(i % 6, 2), NULLIF('y' || i % 4, 'y0') FROM generate_series(1, 38) i;
INSERT INTO pm SELECT i % 11, NULLIF(i % 7, 1), NULLIF('y' || i % 5, 'y3') FROM generate_series(1, 30) i;
INSERT INTO ph SELECT NULLIF(i % 10, 7), i % 12, NULLIF(i % 5, 0) FROM generate_series(1, 28) i;
INSERT INTO ps SELECT i, NULLIF(i % 4, 3) FROM generate_series(1, 11) i;
INSERT INTO pr SELECT i, i % 8, NULLIF('y' || i % 4, 'y2') FROM generate_series(0, 9) i;
INSERT INTO pl SELECT i % 5, NULLIF(i % 9, 3) FROM generate_series(1, 20) i;
INSERT INTO heir SELECT i, i % 6, NULLIF('n' || i % 3, 'n1') FROM generate_series(5, 16) i;
INSERT INTO ru SELECT NULLIF(i % 8, 6), i % 5, NULLIF(i % 7, 4) FROM generate_series(1, 30) i;
INSERT INTO fp SELECT i % 8, i, NULLIF(i % 7, 4) FROM generate_series(1, 24) i;
INSERT INTO fr SELECT i, i % 3, NULLIF('y' || i % 4, 'y1') FROM generate_series(0, 9) i;
INSERT INTO fc SELECT k, id, x, id % 10 FROM fp, generate_series(1, 2) WHERE id % 3 <> 0;
INSERT INTO fg SELECT CASE WHEN id < 20 THEN k END, id, id % 10 FROM fp WHERE id % 4 <> 0;
INSERT INTO nm SELECT i % 5, NULLIF(i % 3, 1), NULLIF('y' || i % 2, 'y0') FROM generate_series(1, 20) i;
INSERT INTO nk SELECT i % 6, NULLIF(i % 3, 1), NULLIF('y' || i % 2, 'y1') FROM generate_series(1, 20) i;
"""
# Which partition has which rows.
CONTENT = """ALTER FUNCTION public.content(text) RENAME TO content_unpartitioned;
CREATE FUNCTION public.content(path text) RETURNS text[] LANGUAGE sql AS $$
SELECT public.content_unpartitioned(path) || array_agg(name || line ORDER BY name, line COLLATE "C")
FROM unnest('{pk_0,pk_1,pk_20,pk_21,pk_rest,pm_y0,pm_y1,pm_rest,ph_0,ph_1,ph_2,ps_0,ps_1,pr_0,pr_1,pl_0,pl_1,ru,nk,nm,fp,fr,fc,fg,audit}'::text[]) name,
	unnest(public.rows_of('SELECT * FROM ' || name, path)) line $$;
"""
# What rows were changed how, in a table that is distributed as well; values that a trigger changes, and rows that it gives up.
# While they are changed their relations are read anew, as after somebody's change of the schema.
TRIGGERS = """CREATE TABLE audit (n int, line text);
CREATE FUNCTION read_anew(relid oid) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
	UPDATE pg_attribute SET attname = attname
	WHERE attnum = 1 AND (attrelid = $1 OR attrelid IN (SELECT relid FROM pg_partition_tree(coalesce(pg_partition_root($1), $1)))) $$;
CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE line text := concat_ws(' ', TG_NAME, TG_OP, TG_LEVEL, TG_TABLE_NAME, OLD::text, '>', NEW::text);
BEGIN
	EXECUTE format('INSERT INTO %I.audit VALUES ($1, $2)', TG_TABLE_SCHEMA) USING length(line), line;
	EXECUTE format('SELECT %I.read_anew($1)', TG_TABLE_SCHEMA) USING TG_RELID;
	RETURN NULL;
END $$;
CREATE FUNCTION before() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE line text := concat_ws(' ', TG_NAME, TG_OP, TG_TABLE_NAME, OLD::text, '>', NEW::text);
BEGIN
	EXECUTE format('INSERT INTO %I.audit VALUES ($1, $2)', TG_TABLE_SCHEMA) USING length(line), line;
	EXECUTE format('SELECT %I.read_anew($1)', TG_TABLE_SCHEMA) USING TG_RELID;
	RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE FUNCTION other_values() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT %I.read_anew($1)', TG_TABLE_SCHEMA) USING TG_RELID;
	IF NEW.x = 8 THEN RETURN NULL; END IF;
	IF NEW.x % 3 = 1 THEN NEW.x := NEW.x + 1; END IF;
	RETURN NEW;
END $$;
CREATE FUNCTION kept() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	EXECUTE format('SELECT %I.read_anew($1)', TG_TABLE_SCHEMA) USING TG_RELID;
	RETURN CASE WHEN OLD.x = 2 THEN NULL ELSE OLD END; END $$;
CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON c FOR EACH ROW EXECUTE FUNCTION audit();
CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON pm FOR EACH ROW EXECUTE FUNCTION audit();
CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON s1 FOR EACH ROW EXECUTE FUNCTION audit();
CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON nk FOR EACH ROW EXECUTE FUNCTION audit();
CREATE TRIGGER other_values BEFORE UPDATE ON nk FOR EACH ROW EXECUTE FUNCTION other_values();
CREATE TRIGGER audit BEFORE UPDATE OR DELETE ON fc FOR EACH ROW EXECUTE FUNCTION before();
CREATE TRIGGER audit_all AFTER INSERT OR UPDATE OR DELETE ON e EXECUTE FUNCTION audit();
CREATE TRIGGER audit_all AFTER INSERT OR UPDATE OR DELETE ON pm EXECUTE FUNCTION audit();
CREATE CONSTRAINT TRIGGER audit_x AFTER UPDATE OF x ON ph DEFERRABLE FOR EACH ROW WHEN (OLD.x IS DISTINCT FROM NEW.x) EXECUTE FUNCTION audit();
CREATE TRIGGER other_values BEFORE INSERT OR UPDATE ON e FOR EACH ROW EXECUTE FUNCTION other_values();
CREATE TRIGGER other_values BEFORE INSERT OR UPDATE ON ph FOR EACH ROW EXECUTE FUNCTION other_values();
CREATE TRIGGER other_values BEFORE INSERT ON ps_1 FOR EACH ROW EXECUTE FUNCTION other_values();
CREATE TRIGGER kept BEFORE DELETE ON ph FOR EACH ROW EXECUTE FUNCTION kept();
"""
RULES = """CREATE RULE ru_also AS ON INSERT TO ru WHERE new.x > 3 DO ALSO INSERT INTO audit VALUES (new.k, concat_ws(' ', 'insert', new.k, new.id, new.x));
CREATE RULE ru_also_update AS ON UPDATE TO ru DO ALSO INSERT INTO audit VALUES (old.k, concat_ws(' ', 'update', old.k, old.id, old.x, '>', new.k, new.id, new.x));
CREATE RULE ru_kept AS ON DELETE TO ru WHERE old.x = 2 DO INSTEAD NOTHING;
CREATE RULE ru_instead AS ON DELETE TO ru WHERE old.x = 5 DO INSTEAD UPDATE nk SET x = nk.x + 1 WHERE nk.id = old.k;
CREATE RULE ruled_insert AS ON INSERT TO wv_ruled DO INSTEAD INSERT INTO e (k, x) VALUES (new.k, new.x);
CREATE RULE ruled_update AS ON UPDATE TO wv_ruled DO INSTEAD UPDATE e SET x = new.x WHERE k = old.k AND x IS NOT DISTINCT FROM old.x;
CREATE RULE ruled_delete AS ON DELETE TO wv_ruled DO INSTEAD DELETE FROM e WHERE k = old.k AND x = old.x;
"""
# A role that is not the tables' owner.
GRANTS = """GRANT USAGE ON SCHEMA {schema} TO {writer};
GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {writer};
GRANT ALL ON ALL SEQUENCES IN SCHEMA {schema} TO {writer};
"""
# What else it may not do: only with some columns, only without reading.
RIGHTS = """REVOKE ALL ON a, b, c, e, r, s1, pm, pm_y, ph, pr, nk, nm, fp, fr, ru FROM {writer};
GRANT SELECT (k, id, x), INSERT (k, id, x), UPDATE (x, y), DELETE ON a TO {writer};
GRANT SELECT (k, id), INSERT (k, id, x, y), UPDATE (x, y, f) ON b TO {writer};
GRANT SELECT, INSERT (k, ak, x), UPDATE (k, ak, x) ON c TO {writer};
GRANT SELECT (k), INSERT (k, x), UPDATE (x), DELETE ON e TO {writer};
GRANT SELECT (id, x), INSERT (id, x), UPDATE (x), DELETE ON r TO {writer};
GRANT INSERT, UPDATE, DELETE ON s1 TO {writer};
GRANT SELECT (k, x), INSERT (k, x), UPDATE (k, x), DELETE ON pm TO {writer};
GRANT SELECT (id, k), INSERT (id, k), UPDATE ON ph TO {writer};
GRANT SELECT (id, x), INSERT, UPDATE (x) ON pr TO {writer};
GRANT SELECT (id, x), INSERT (id, x), UPDATE (x), DELETE ON nk TO {writer};
GRANT SELECT (id, x), INSERT (id, x), UPDATE (id, x), DELETE ON nm TO {writer};
GRANT SELECT, UPDATE (x), DELETE ON fp TO {writer};
GRANT UPDATE (id, name), SELECT (id) ON fr TO {writer};
GRANT SELECT (k, id, x), INSERT (k, id, x), UPDATE (x), DELETE ON ru TO {writer};
ALTER VIEW wv_r OWNER TO {writer};
"""
# What it may see and change of the tables; of some views it is the owner, and one asks for its rights.
POLICIES = """CREATE POLICY seen ON a FOR SELECT USING (x IS DISTINCT FROM 3);
CREATE POLICY made ON a FOR INSERT WITH CHECK (x IS DISTINCT FROM 4);
CREATE POLICY changed ON a FOR UPDATE USING (id % 3 <> 0) WITH CHECK (x IS NULL OR x < 15);
CREATE POLICY gone ON a FOR DELETE USING (k <> 2);
CREATE POLICY mine ON b USING (id % 3 <> 0) WITH CHECK (true);
CREATE POLICY known ON b AS RESTRICTIVE FOR UPDATE USING (x IN (SELECT x FROM r));
CREATE POLICY mine ON c USING (ak IS DISTINCT FROM 4);
CREATE POLICY seen ON e FOR SELECT USING (true);
CREATE POLICY made ON e FOR INSERT WITH CHECK (true);
CREATE POLICY changed ON e FOR UPDATE USING (x < 5 OR k = 2);
CREATE POLICY mine ON r USING (CASE WHEN current_user LIKE '%writer' THEN id % 4 <> 1 ELSE false END);
CREATE POLICY mine ON s1 USING (id > 2) WITH CHECK (x IS DISTINCT FROM 6);
CREATE POLICY mine ON loc USING (x IS DISTINCT FROM 5);
CREATE POLICY seen ON w FOR SELECT USING (true);
CREATE POLICY changed ON w FOR ALL USING (d <> 1);
CREATE POLICY mine ON pm USING (k IS DISTINCT FROM 2) WITH CHECK (x IS NULL OR x < 14);
CREATE POLICY mine ON pm_y USING (x IS DISTINCT FROM 4);
CREATE POLICY seen ON pk FOR SELECT USING (true);
CREATE POLICY changed ON pk FOR UPDATE USING (k IN (SELECT id FROM r));
CREATE POLICY gone ON pk FOR DELETE USING (x IS NOT NULL);
CREATE POLICY made ON pk FOR INSERT WITH CHECK (k <> 1);
CREATE POLICY mine ON ps USING (id <> 4);
CREATE POLICY mine ON pr USING (x <> 5) WITH CHECK (id <> 3);
CREATE POLICY mine ON nk USING (x IS DISTINCT FROM 2);
CREATE POLICY mine ON nm USING (x IS DISTINCT FROM 2) WITH CHECK (id < 20);
CREATE POLICY mine ON fp USING (x IS DISTINCT FROM 3);
CREATE POLICY mine ON fc USING (id % 5 <> 1);
CREATE POLICY mine ON ru USING (k IS DISTINCT FROM 4) WITH CHECK (true);
ALTER VIEW wv_a OWNER TO {writer};
ALTER VIEW wv_r OWNER TO {writer};
ALTER VIEW wv_kept OWNER TO {writer};
ALTER VIEW wv_pm SET (security_invoker = true);
"""
BOUNDS = {2: POLICIES, 4: RIGHTS, 7: POLICIES, 9: RIGHTS + POLICIES}
AS_WRITER = """GRANT pg_execute_server_program TO {writer};
ALTER FUNCTION public.result_of(text, text) RENAME TO result_as_this_role;
CREATE FUNCTION public.result_of(statement text, path text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	result text[];
BEGIN
	SET LOCAL ROLE {writer};
	result := public.result_as_this_role(statement, path);
	RESET ROLE;
	RETURN result;
END $$;
"""
# Distribution columns: rows move to other shards, with triggers and without.
MOVING = {'a': 'k', 'b': 'k', 'c': 'k', 'e': 'k', 'pm': 'k', 'pm_y': 'k', 'ph': 'k', 'pk': 'k', 'pk_1': 'k', 'wv_a': 'k', 'wv_b': 'k', 'wv_over': 'k', 'ru': 'k', 'fp': 'k', 'fc': 'k', 'fg': 'k', 'fr': 'id'}
# A table and one of which it has the rows: a partition of it, or what inherits from it.
SAME_ROWS = {'pk': 'pk_1', 'pk_1': 'pk', 'pm': 'pm_y', 'pm_y': 'pm', 'loc': 'heir', 'heir': 'loc'}
# Columns that tell at most one row.
UNIQUE = {'r': 'id', 'r2': 'id', 'w': 'k'}
SOURCES = dict({name: t[0] for name, t in TABLES.items()}, r2=['id', 'rid'], tree=['k', 'id', 'parent'])
TEXTS = {'y', 'name', 't'}
names = 0


def alias():
    global names
    names += 1
    return f't{names}'


def column(scope, key=0.0):
    name, columns = random.choice(scope)
    return f'{name}.{columns[0] if random.random() < key else random.choice(columns)}'


def sublink(scope):
    table, name = random.choice(list(SOURCES)), alias()
    inner, outer = [(name, SOURCES[table])], column(scope, 0.6)
    col = column(inner, 0.6)
    rest = f' AND {column(inner)} {random.choice("=<>")} {random.randint(0, 8)}' if random.random() < 0.4 else ''
    return random.choice([
        f'EXISTS (SELECT 1 FROM {table} {name} WHERE {col} = {outer}{rest})',
        f'NOT EXISTS (SELECT 1 FROM {table} {name} WHERE {col} = {outer}{rest})',
        f'{outer} IN (SELECT {col} FROM {table} {name} WHERE true{rest})',
        f'{outer} NOT IN (SELECT {col} FROM {table} {name} WHERE true{rest})',
        f'{outer} > (SELECT count(*) FROM {table} {name} WHERE {col} = {outer}{rest})',
        f'{outer} = (SELECT max({col}) FROM {table} {name} WHERE true{rest})'])


def where(scope, least=0):
    parts = []
    for _ in range(max(least, random.choice([0, 1, 1, 2]))):
        c = column(scope, 0.5)
        parts.append(random.choice([
            f'{c} = {random.randint(0, 9)}', f'{c} > {random.randint(0, 6)}', f'{c} IS NULL', f'{c} IS NOT DISTINCT FROM {random.choice([1, 3, column(scope, 0.5)])}',
            f'{c} IN ({random.randint(0, 9)}, {random.randint(0, 9)})', f'coalesce({c}, -1) < {random.randint(0, 8)}',
            f'({c} = {random.randint(0, 9)} OR {column(scope, 0.5)} = {random.randint(0, 9)})',
            sublink(scope), sublink(scope)]))
    return parts


def value(col, scope):
    if col in TEXTS:
        return random.choice(["'new'", 'NULL', f"'n' || {column(scope)}", f"concat({column(scope)}, 'z')"])
    if col == 'arr':
        return random.choice([f'ARRAY[{column(scope)}]', 'NULL'])
    return random.choice([str(random.randint(0, 20)), 'NULL', column(scope), f'{column(scope)} + 1',
                          f'public.later({column(scope)})', f'CASE WHEN {column(scope)} > 3 THEN 1 ELSE {column(scope)} END', f'coalesce({column(scope)}, 7)'])


def moves(table, scope):
    """Maybe an assignment to the distribution column."""
    if table not in MOVING or random.random() > 0.4:
        return ''
    col = column(scope)
    return f', {MOVING[table]} = ' + random.choice([
        str(random.randint(0, 40)), f'coalesce({col}, 7)', f'coalesce({col}, 3) + {random.randint(0, 9)}', f'coalesce(public.later({col}), 5)',
        f'CASE WHEN {col} > 3 THEN 1 ELSE 2 END', f'{scope[0][0]}.{MOVING[table]}'])


def returning(scope, table):
    if random.random() > 0.4 or table in RULED:
        return ''
    items = [column(scope) for _ in range(random.randint(1, 3))]
    # A row of w has values of sequences, which may be others.
    if random.random() < 0.2 and table != 'w' and not table.startswith('wv_'):
        items.append(random.choice(scope)[0])
    return ' RETURNING ' + ', '.join(items)


def unique_source(scope, key):
    """A source with at most one row for each row that is changed: else the result is open."""
    name = alias()
    if random.random() < 0.4:
        table = random.choice(list(UNIQUE))
        return f'{table} {name}', [(name, SOURCES[table])], f'{column(scope, 0.7)} = {name}.{UNIQUE[table]}'
    table = random.choice(list(SOURCES))
    col = random.choice(SOURCES[table])
    other = [c for c in SOURCES[table] if c != col][0]
    text = f'(SELECT {col} AS q, {random.choice(["min", "max", "count"])}({other}) AS m FROM {table} GROUP BY {col}) {name}'
    return text, [(name, ['q', 'm'])], f'{column(scope, 0.7)} = {name}.q'


def from_subselect(settable, scope):
    """SET: one column or two from a subquery that refers to the row."""
    t = random.choice(list(SOURCES))
    these = f'FROM {t} z WHERE z.{SOURCES[t][0]} = {column(scope[:1], 0.7)}'
    other = random.choice(settable)
    if other == 'x':
        return f'x = (SELECT count(*) {these})'
    second = "concat('s', count(*))" if other in TEXTS else f'max(z.{SOURCES[t][0]})'
    return f'(x, {other}) = (SELECT count(*), {second} {these})'


def update():
    table = random.choice(list(TABLES))
    columns, settable, key = TABLES[table]
    target = alias()
    scope, sources, parts = [(target, columns)], '', []
    if random.random() < 0.4:
        text, more, on = unique_source(scope, key)
        sources, parts, scope = f' FROM {text}', [on], scope + more
    parts += where(scope)
    sets = ', '.join(f'{c} = {value(c, scope)}' for c in random.sample(settable, min(len(settable), random.randint(1, 2))))
    if random.random() < 0.15 and 'x' in settable and table not in RULED:
        sets = from_subselect(settable, scope)
    sets += moves(table, scope)
    return (f'UPDATE {table} {target} SET {sets}{sources}' + (' WHERE ' + ' AND '.join(parts) if parts else '') +
            returning(scope, table))


def delete():
    table = random.choice(list(TABLES))
    target = alias()
    scope, sources, parts = [(target, TABLES[table][0])], '', []
    if random.random() < 0.4:
        text, more, on = unique_source(scope, TABLES[table][2])
        sources, parts, scope = f' USING {text}', [on], scope + more
    parts += where(scope)
    return f'DELETE FROM {table} {target}{sources}' + (' WHERE ' + ' AND '.join(parts) if parts else '') + returning(scope, table)


def merge():
    table = random.choice([name for name in TABLES if not name.startswith('wv_') and name not in RULED and name != 'nk'])
    columns, settable, key = TABLES[table]
    target = alias()
    if random.random() < 0.25:
        name = alias()
        rows = ', '.join(f'({random.randint(0, 40)}, {random.randint(0, 9)})' for _ in range(random.choice([1, 1, 3, 8])))
        text, source, on = f'(VALUES {rows}) {name} (q, m)', [(name, ['q', 'm'])], f'{target}.{columns[0]} = {name}.q'
    elif random.random() < 0.4 and key:
        t, name = random.choice(['a', 'b']), alias()
        text, source = f'(SELECT * FROM {t}) {name}' if random.random() < 0.3 else f'{t} {name}', [(name, SOURCES[t])]
        on = ' AND '.join(f'{target}.{c} = {name}.{s}' for c, s in zip(key, SOURCES[t]))
    else:
        text, source, on = unique_source([(target, columns)], key)
    scope, actions = [(target, columns)] + source, []
    for _ in range(random.choice([0, 1, 1, 2])):
        cond = ' AND ' + ' AND '.join(where(scope, 1)) if random.random() < 0.5 else ''
        sets = ', '.join(f'{c} = {value(c, scope)}' for c in random.sample(settable, min(len(settable), random.randint(1, 2))))
        # Two of them in one MERGE fail at an assertion of PostgreSQL 15, on plain tables.
        if random.random() < 0.15 and 'x' in settable and not any('(x, ' in action for action in actions):
            sets = from_subselect(settable, scope)
        sets += moves(table, scope)
        actions.append(f'WHEN MATCHED{cond} THEN ' + random.choice([f'UPDATE SET {sets}', f'UPDATE SET {sets}', 'DELETE', 'DO NOTHING']))
        if not cond:
            break
    for _ in range(random.choice([0, 1, 1, 2]) if actions else 1):
        cond = ' AND ' + ' AND '.join(where(source, 1)) if random.random() < 0.5 else ''
        first, rest = (key or columns[:1]), [c for c in random.sample(settable, min(len(settable), 1)) if c not in (key or columns[:1])]
        plus = random.choice([0, 0, 1000])
        known = len(source[0][1]) > 2 or text.startswith('(VALUES')
        keys = [f'{source[0][0]}.{source[0][1][min(i, len(source[0][1]) - 1)]}' + (f' + {plus}' if plus else '') for i in range(len(first))]
        # No NULL in a primary key, nor the key of a row that is deleted before or after it.
        keys = keys if known or not key else [f'coalesce({k}, 77)' for k in keys]
        actions.append(f'WHEN NOT MATCHED{cond} THEN ' + random.choice(
            [f'INSERT ({", ".join(first + rest)}) VALUES ({", ".join(keys + [value(c, source) for c in rest])})'] * 4 + ['DO NOTHING']))
        if not cond:
            break
    return f'MERGE INTO {table} {target} USING {text} ON {on} ' + ' '.join(actions)


def insert():
    # Not into the view without the columns of the key.
    # Where rows break a key and a view's check it is open which of them is seen first.
    table = random.choice([name for name in TABLES if name not in ('wv_over', 'wv_kept', 'wv_rkept')])
    columns, _, key = TABLES[table]
    conflict = ''
    if key and random.random() < 0.6:
        c = columns[-1]
        conflict = f' ON CONFLICT ({", ".join(key)}) ' + random.choice([
            'DO NOTHING', f'DO UPDATE SET {c} = excluded.{c}', f'DO UPDATE SET {c} = {table}.{c} + 1',
            f'DO UPDATE SET {c} = coalesce(excluded.{c}, 3) WHERE {table}.{c} > 2',
            f'DO UPDATE SET {c} = (SELECT count(*) FROM {random.choice([name for name in ("r2", "b", "pl") if name not in (table, table[3:])])} z WHERE z.id <> {table}.{key[-1]} OR z.id = excluded.{key[0]})'
            + random.choice(['', f' WHERE (SELECT {table}.{c} IS NULL OR {table}.{c} < 5)'])] + (
            # To where no row of the same statement is.
            [f'DO UPDATE SET k = {table}.k + 5000, {c} = excluded.{c}'] if table in ('a', 'b', 'pk') else []))
    shift = random.choice([0, 1000]) if key else 0
    if random.random() < 0.4:
        rows, seen = [], set()
        for _ in range(random.randint(1, 4)):
            row = ['DEFAULT' if i >= len(key or [1]) and random.random() < 0.1 else (random.randint(0, 20) + shift if key or random.random() < 0.8 else 'NULL') if i < len(key or [1]) else random.choice([random.randint(0, 9), 'NULL', '(SELECT max(id) FROM r2)'])
                   for i, c in enumerate(columns)]
            if tuple(row[:len(key or [1])]) not in seen:
                rows.append('(' + ', '.join(map(str, row)) + ')')
            seen.add(tuple(row[:len(key or [1])]))
        source = 'VALUES ' + ', '.join(rows)
    else:
        name, t = alias(), random.choice(list(SOURCES))
        scope = [(name, SOURCES[t])]
        froms = f'{t} {name}'
        if random.random() < 0.5:
            other, u = alias(), random.choice(list(SOURCES))
            scope.append((other, SOURCES[u]))
            froms += f' {random.choice(["JOIN", "LEFT JOIN"])} {u} {other} ON {column(scope[:1], 0.7)} = {column(scope[1:], 0.7)}'
        parts = where(scope)
        first = [column(scope, 0.7) for _ in (key or [1])]
        parts += [f'{c} IS NOT NULL' for c in first] if key else []
        keys = [f'{c} + {shift}' if shift else c for c in first]
        rest = columns[len(first):]
        cond = ' WHERE ' + ' AND '.join(parts)
        if key or random.random() < 0.4:
            source = (f'SELECT {", ".join(keys + [random.choice(["count(*)", f"max({column(scope)})"]) for _ in rest])} FROM {froms}{cond} '
                      f'GROUP BY {", ".join(dict.fromkeys(first))}')
        else:
            source = f'SELECT {", ".join(keys + [column(scope) for _ in rest])} FROM {froms}{cond}'
        if random.random() < 0.2:
            source = f'SELECT * FROM ({source}) q ORDER BY {", ".join(str(i + 1) for i in range(len(columns)))} LIMIT {random.randint(1, 20)}'
    return f'INSERT INTO {table} ({", ".join(columns)}) {source}{conflict}' + returning([(table, columns)], table)


def block():
    """Several statements in one, some of them undone, some again with other values."""
    texts = []
    for _ in range(random.randint(2, 4)):
        text = re.sub(r' RETURNING .*', '', random.choice([insert, update, delete])())
        kind = random.random()
        if kind < 0.25:
            text = f"BEGIN {text}; RAISE EXCEPTION 'undo this'; EXCEPTION WHEN raise_exception THEN NULL; END"
        elif kind < 0.4:
            text = f'BEGIN {text}; EXCEPTION WHEN OTHERS THEN {re.sub(r" RETURNING .*", "", delete())}; END'
        elif kind < 0.7 and re.search(r'= \d\b', text) and not text.startswith('INSERT'):
            text = 'FOR i IN 1 .. 7 LOOP ' + re.sub(r'= \d\b', '= i', text, count=1) + '; END LOOP'
        texts.append(text)
    return f'DO $do$BEGIN {"; ".join(texts)}; END$do$'


def copy():
    """COPY, as statements in a function may use it."""
    table = random.choice([name for name in list(PARTITIONED) + ['a', 'c', 'r', 'ru', 'nk', 'nm'] if not name.startswith('wv_')])
    columns, _, key = TABLES[table]
    cells = lambda i: [str(1000 + i) if key and c == key[-1] else '' if random.random() < 0.1 and not key and c != columns[0] else str(random.randint(0, 30)) for c in columns]
    rows = [','.join(cells(i)) for i in range(random.choice([1, 3, 12]))]
    lines = '\\n'.join(rows)
    filters = f' WHERE {columns[-1]} > {random.randint(0, 12)}' if random.random() < 0.3 else ''
    return f"COPY {table} ({', '.join(columns)}) FROM PROGRAM $program$printf '{lines}'$program$ WITH (FORMAT csv){filters}"


def by_cursor():
    """WHERE CURRENT OF: the rows of a cursor, one after the other, some of them twice."""
    table, columns = random.choice([('a', 'k, id'), ('b', 'k, id'), ('c', 'k, ak, x'), ('e', 'k, x, name'), ('r', 'id'), ('s1', 'id, x'), ('loc', 'id, x, name'),
                                    ('pk', 'k, id'), ('ps', 'id, x'), ('pl', 'id, x')])
    scope = [('t', TABLES[table][0])]
    filters = f' WHERE {where(scope)}' if table not in PARTITIONED and random.random() < 0.6 else ''
    change = random.choice(['x = x + 1', 'x = row.x % 5', 'x = x - length(row.x::text)', 'x = public.later(row.x)'])
    steps = [f'UPDATE {table} SET {change} WHERE CURRENT OF c',
             f'IF row.x % {random.randint(2, 4)} = 0 THEN DELETE FROM {table} WHERE CURRENT OF c; END IF',
             f'UPDATE {table} SET x = {random.randint(0, 9)} WHERE CURRENT OF c']
    steps = random.sample(steps, random.randint(1, 3))
    return (f'DO $do$DECLARE c CURSOR FOR SELECT t.* FROM {table} t{filters} ORDER BY {columns} FOR UPDATE; '
            f'BEGIN FOR row IN c LOOP {"; ".join(steps)}; END LOOP; END$do$')


def of_one_table():
    """Two changes of one table, or of one and a partition of it, in a statement, each of other rows, as it is open which of them has
    a row of both; the second may read what the first returns."""
    table = random.choice(['a', 'b', 'pk', 'pk_1', 'r'])
    column = 'id'

    def change(odd, table=table):
        rows = f'{column} % 2 = {odd} AND {random.choice(["x", column])} {random.choice(["<", ">", "<>"])} {random.randint(0, 12)}'
        values = random.choice(['x + 1', '0', f'{column} * 2', 'length(x::text)', 'public.later(x)', '(SELECT max(x) FROM a)'])
        moved = 'id = id + 100, ' if table == 'pk' and random.random() < 0.4 else ''
        return f'UPDATE {table} SET {moved}x = {values} WHERE {rows}' if random.random() < 0.6 else f'DELETE FROM {table} WHERE {rows}'
    first = change(0)
    if table in SAME_ROWS and random.random() < 0.6:
        table = SAME_ROWS[table]
    second = change(1, table)
    if random.random() < 0.4:
        first += f' RETURNING {column}, x'
        one, changed = f'(SELECT {column} AS q, max(x) AS m FROM w GROUP BY {column}) w', f'{table}.{column} % 2 = 1 AND {table}.{column} = w.q + 1'
        second = random.choice([f'UPDATE {table} SET x = w.m + 1 FROM {one} WHERE {changed}', f'DELETE FROM {table} USING {one} WHERE {changed} AND w.m > 2',
                                f'{second} AND {column} - 1 IN (SELECT {column} FROM w WHERE x > 1)',
                                f'UPDATE {table} SET x = (SELECT count(*) FROM w WHERE w.{column} < {table}.{column}) WHERE {column} % 2 = 1'])
    return f'WITH w AS ({first}) {second}' + (f' RETURNING {table}.{column}, {table}.x' if random.random() < 0.5 else '')


def in_with(text):
    name = alias()
    if ' RETURNING ' not in text:
        return text
    return f'WITH {name} AS ({text}) SELECT count(*){read_beside(text) if random.random() < 0.4 else ""} FROM {name}'


def read_beside(text):
    """Of rows as they were before, often of the table that changes."""
    changed = [table for table in re.findall(r'(?:UPDATE|DELETE FROM|INSERT INTO|MERGE INTO) (\w+)', text) if table in SOURCES]
    changed += [SAME_ROWS[table] for table in changed if table in SAME_ROWS]
    one, two = (random.choice(changed if changed and random.random() < 0.6 else list(SOURCES)) for _ in range(2))
    join = random.choice(['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN'])
    return f', (SELECT count(one.{SOURCES[one][-1]}) FROM {one} one {join} {two} two ON one.{SOURCES[one][0]} = two.{SOURCES[two][0]})'


LATER = ('CREATE OR REPLACE FUNCTION public.later(i bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE '
         'AS $later$BEGIN RETURN i + 1; END$later$;\n')


def statements(seed, count):
    random.seed(seed)
    texts = []
    for _ in range(count):
        if random.random() < 0.12:
            texts.append(block())
            continue
        kind = random.choice([insert, update, update, delete, merge, insert, update, update, delete, merge, copy, by_cursor, of_one_table])
        text = kind()
        texts.append(in_with(text) if random.random() < 0.1 and kind != of_one_table else text)
    return texts


def set_up(database):
    """The tables and functions of the regress files, the second up to its first comparison."""
    sql = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'regress', 'sql')
    with open(os.path.join(sql, 'compare_setup.sql')) as setup, open(os.path.join(sql, 'compare_write.sql')) as write:
        text = setup.read() + write.read().split('\n-- INSERT\n')[0]
    cluster.create_cluster(database)
    cluster.must(database, text + LATER)
    for schema in ('plain', 'dist'):
        cluster.must(database, f'SET search_path = {schema}, public; {VIEWS}{PARTITIONS}{DISTRIBUTE if schema == "dist" else ""}{FILL}{TRIGGERS}{AUDIT if schema == "dist" else ""}{RULES}')
    cluster.must(database, CONTENT)


def as_writer(database, writer, bounds):
    """Statements come from a role, within what these texts, POLICIES or RIGHTS, say."""
    cluster.must(database, f'DROP ROLE IF EXISTS {writer}; CREATE ROLE {writer};')
    for schema in ('plain', 'dist'):
        tables = ''.join(f'ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;\n' for table in dict.fromkeys(re.findall(r'^CREATE POLICY \w+ ON (\w+)', bounds, re.M)))
        cluster.must(database, f'SET search_path = {schema}; {(GRANTS + bounds).format(schema=schema, writer=writer)}{tables}')
    cluster.must(database, AS_WRITER.format(writer=writer))


# Which of the rows of a query comes first, and so which constraint is broken first, nobody says; and where rows are changed
# one by one a key without action is checked after each. PostgreSQL 15 doesn't find the subquery of a MERGE's action in
# partitions that nothing of the plan reads ("SubPlan found with no parent plan").
BROKEN = r'error: (?:23\d{3}|42501)'
UNSAID = re.compile(rf'^differs: (?:DO [^\n]*|WITH \w+ AS \()?(?:(?:INSERT INTO \w+ \([^)]*\) (?:SELECT [^\n]*|VALUES [^\n]*\), \([^\n]*)|[^\n]*UPDATE f[pr] [^\n]*)\n  only plain: {BROKEN}\n  only dist: {BROKEN}'
                    rf'|MERGE INTO [^\n]*\n  only plain: (?:{BROKEN}|error: 21000)\n  only dist: (?:{BROKEN}|error: 21000)'
                    r'|[^\n]*kept [^\n]*\n  only plain: error: (?:42501|44000)\n  only dist: error: (?:42501|44000)'
                    r'|COPY [^\n]*\n  only plain: plain\n  only dist: dist'
                    r'|MERGE INTO p[^\n]*\(SELECT [^\n]*\n  only plain: error: XX000\n  only dist: [^\n]*)$', re.M)
# PostgreSQL forgets the rights that a subquery needs which is joined with what a condition or a policy has left nothing of:
# add_rtes_to_flat_rtable() counts on a plan that reads it. Here they are asked.
MORE_RIGHTS = re.compile(r'^differs: ([^\n]*)\n  only plain: (?:0 rows[^\n]*)?\n  only dist: error: 42501[^\n]*$', re.M)


def asks_more(database, writer, statement):
    """Does PostgreSQL's plan for the plain tables change no row, and is the same refused for the others? Of a block: is one of its changes so?"""
    if statement.startswith('DO '):
        return any(asks_more(database, writer, part) for part in re.findall(r'(?:UPDATE|DELETE FROM|INSERT INTO|MERGE INTO) [^;]*', statement))
    plain, dist = (cluster.psql(database, f'SET search_path = {schema}; SET ROLE {writer}; EXPLAIN (COSTS OFF) {statement}', '-At') for schema in ('plain', 'dist'))
    return re.match(r'(?:Update|Delete|Merge|Insert) on .*\n(?: +(?:Update|Delete|Merge|Insert) on .*\n)*  ->  Result\n +One-Time Filter: false\n', plain) \
        and dist.startswith('ERROR:  permission denied for ')



def main():
    if sys.argv[1] == '--print':
        print(';\n'.join(statements(int(sys.argv[2]), int(sys.argv[3]))) + ';')
        return
    seed, count = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200
    database = os.environ.get('DATABASE', 'random_writes')
    set_up(database)
    writer = f'{database}_writer'
    if seed % 10 in BOUNDS:
        as_writer(database, writer, BOUNDS[seed % 10])
    # Rows of INSERT ... SELECT that are few come by way of the client's node, unless going from node to node costs nothing.
    if seed % 2:
        cluster.must('postgres', f'ALTER DATABASE {database} SET pando.exchange_cost = 0')
    texts, good = statements(seed, count), 0
    for at in range(0, count, 100):
        some = texts[at:at + 100]
        out = cluster.psql(database, 'SELECT public.compare_writes($compare$\n' + ';\n'.join(some) + ';\n$compare$);', '-At')
        unsaid = len(UNSAID.findall(out)) + sum(1 for statement in MORE_RIGHTS.findall(out) if asks_more(database, writer, statement))
        if re.search(rf'^{len(some)} statements, {unsaid} differ$', out, re.M):
            good += len(some)
        else:
            print(out)
    print(f'seed {seed}: {count} statements, {"no difference" if good == count else "differences"}')
    if good == count:
        cluster.drop(database, writer)
    sys.exit(0 if good == count else 1)


if __name__ == '__main__':
    main()
