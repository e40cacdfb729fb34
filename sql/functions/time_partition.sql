-- Partitions by ranges of time: made ahead, dropped when old.

-- Bounds of a partition as text; NULL for a default partition or one by several columns.
CREATE OR REPLACE FUNCTION pg_catalog.time_partition_range(table_name regclass,
		OUT lower_bound text, OUT upper_bound text) RETURNS record
	LANGUAGE sql STABLE STRICT BEGIN ATOMIC
	SELECT m[1], m[2]
	FROM pg_catalog.pg_class c
		LEFT JOIN LATERAL regexp_match(pg_catalog.pg_get_expr(c.relpartbound, c.oid),
			'^FOR VALUES FROM \(''?([^'',]*)''?\) TO \(''?([^'',]*)''?\)$') m ON true
	WHERE c.oid = table_name;
END;

-- The partitioning column of such a table; raises for any other.
CREATE OR REPLACE FUNCTION pando.time_partition_column(table_name regclass, OUT name text,
		OUT type regtype) RETURNS record
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	key record;
BEGIN
	SELECT p.partnatts, p.partstrat, a.attname, a.atttypid INTO key
		FROM pg_catalog.pg_partitioned_table p
			LEFT JOIN pg_catalog.pg_attribute a
				ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0] AND a.attnum > 0
		WHERE p.partrelid = table_name;
	IF NOT FOUND THEN
		RAISE EXCEPTION '% is not partitioned', table_name USING ERRCODE = 'wrong_object_type';
	ELSIF key.partnatts <> 1 THEN
		RAISE EXCEPTION 'partitioned tables with multiple partition columns are not supported'
			USING ERRCODE = 'feature_not_supported';
	ELSIF key.partstrat <> 'r' OR key.atttypid IS NULL OR key.atttypid NOT IN
			('pg_catalog.date'::regtype, 'pg_catalog.timestamp'::regtype,
			'pg_catalog.timestamptz'::regtype) THEN
		RAISE EXCEPTION '% is not partitioned by ranges of a date or timestamp column', table_name
			USING ERRCODE = 'feature_not_supported';
	END IF;
	name := key.attname;
	type := key.atttypid;
END $$;

-- Ranges from from_value to to_value that no partition covers. They continue the ranges that are
-- there; without any they start at a multiple of the interval.
CREATE OR REPLACE FUNCTION pg_catalog.get_missing_time_partition_ranges(table_name regclass,
		partition_interval interval, to_value timestamptz, from_value timestamptz DEFAULT now())
		RETURNS TABLE (partition_name text, range_from_value text, range_to_value text)
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	key record := pando.time_partition_column(table_name);
	is_date boolean := key.type = 'pg_catalog.date'::regtype;
	unit text;
	anchor timestamp;
	range_from timestamp;
	range_to timestamp;
	stop timestamp;
	step int := 0;
	name_format text;
BEGIN
	IF partition_interval <= '0'::interval THEN
		RAISE EXCEPTION 'partition interval must be a positive value'
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF is_date AND date_trunc('day', '2000-01-01'::timestamp + partition_interval)
			<> '2000-01-01'::timestamp + partition_interval THEN
		RAISE EXCEPTION 'partition interval of a table partitioned by a date must be a multiple of days'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	unit := CASE WHEN partition_interval < '1 hour' THEN 'minute'
		WHEN partition_interval < '1 day' THEN 'hour'
		WHEN partition_interval < '1 week' THEN 'day'
		WHEN partition_interval < '1 month' THEN
			CASE WHEN extract(epoch FROM partition_interval)::bigint % 604800 = 0
				THEN 'week' ELSE 'day' END
		WHEN partition_interval < '3 months' THEN 'month'
		WHEN partition_interval < '1 year' THEN 'quarter'
		ELSE 'year' END;
	name_format := CASE WHEN partition_interval < '1 day' THEN '"p"YYYY_MM_DD_HH24MI'
		WHEN unit IN ('day', 'week') THEN '"p"YYYY_MM_DD'
		WHEN unit = 'month' THEN '"p"YYYY_MM'
		WHEN unit = 'quarter' THEN '"p"YYYY"q"Q'
		ELSE '"p"YYYY' END;

	-- Partitions that are there give the raster: the latest one not after from_value, else the first.
	SELECT b.upper INTO anchor FROM (
		SELECT (pg_catalog.time_partition_range(i.inhrelid)).upper_bound::timestamp AS upper
		FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = table_name
			AND (pg_catalog.time_partition_range(i.inhrelid)).upper_bound NOT IN
				('MINVALUE', 'MAXVALUE')) b
	ORDER BY b.upper <= from_value::timestamp DESC, abs(extract(epoch FROM b.upper - from_value::timestamp))
	LIMIT 1;
	anchor := coalesce(anchor, CASE WHEN partition_interval < '1 day'
		THEN date_bin(partition_interval, from_value::timestamp,
			date_trunc('day', from_value::timestamp))
		ELSE date_trunc(unit, from_value::timestamp) END);
	WHILE anchor + step * partition_interval > from_value::timestamp LOOP
		step := step - 1;
	END LOOP;
	WHILE anchor + (step + 1) * partition_interval <= from_value::timestamp LOOP
		step := step + 1;
	END LOOP;

	stop := to_value::timestamp;
	LOOP
		range_from := anchor + step * partition_interval;
		range_to := anchor + (step + 1) * partition_interval;
		EXIT WHEN range_from >= stop;
		step := step + 1;
		IF EXISTS (
			SELECT FROM pg_catalog.pg_inherits i
				CROSS JOIN LATERAL pg_catalog.time_partition_range(i.inhrelid) r
			WHERE i.inhparent = table_name AND r.lower_bound IS NOT NULL
				AND CASE r.lower_bound WHEN 'MINVALUE' THEN '-infinity'
					ELSE r.lower_bound::timestamp END <= range_from
				AND CASE r.upper_bound WHEN 'MAXVALUE' THEN 'infinity'
					ELSE r.upper_bound::timestamp END >= range_to) THEN
			CONTINUE;
		ELSIF EXISTS (
			SELECT FROM pg_catalog.pg_inherits i
				CROSS JOIN LATERAL pg_catalog.time_partition_range(i.inhrelid) r
			WHERE i.inhparent = table_name AND r.lower_bound IS NOT NULL
				AND CASE r.lower_bound WHEN 'MINVALUE' THEN '-infinity'
					ELSE r.lower_bound::timestamp END < range_to
				AND CASE r.upper_bound WHEN 'MAXVALUE' THEN 'infinity'
					ELSE r.upper_bound::timestamp END > range_from) THEN
			RAISE EXCEPTION 'partition interval does not fit the existing partitions of %', table_name
				USING ERRCODE = 'object_not_in_prerequisite_state',
					DETAIL = format('The range from %s to %s overlaps with a partition.',
						range_from, range_to);
		END IF;
		partition_name := format('%s_%s', (SELECT relname FROM pg_catalog.pg_class
			WHERE oid = table_name), to_char(range_from, name_format));
		range_from_value := CASE WHEN is_date THEN range_from::date::text ELSE range_from::text END;
		range_to_value := CASE WHEN is_date THEN range_to::date::text ELSE range_to::text END;
		RETURN NEXT;
	END LOOP;
END $$;

CREATE OR REPLACE FUNCTION pg_catalog.create_time_partitions(table_name regclass,
		partition_interval interval, end_at timestamptz, start_from timestamptz DEFAULT now())
		RETURNS boolean
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	missing record;
	parent_schema name;
	created boolean := false;
BEGIN
	IF start_from >= end_at THEN
		RAISE EXCEPTION 'start_from (%) must be older than end_at (%)', start_from, end_at
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT n.nspname INTO parent_schema FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = table_name;
	FOR missing IN SELECT * FROM pg_catalog.get_missing_time_partition_ranges(table_name,
			partition_interval, end_at, start_from)
	LOOP
		EXECUTE format('CREATE TABLE %I.%I PARTITION OF %s FOR VALUES FROM (%L) TO (%L)',
			parent_schema, missing.partition_name, table_name::regclass, missing.range_from_value,
			missing.range_to_value);
		created := true;
	END LOOP;
	RETURN created;
END $$;

CREATE OR REPLACE PROCEDURE pg_catalog.drop_old_time_partitions(table_name regclass,
		older_than timestamptz)
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	old record;
BEGIN
	PERFORM pando.time_partition_column(table_name);
	FOR old IN
		SELECT i.inhrelid::regclass AS partition
		FROM pg_catalog.pg_inherits i
			CROSS JOIN LATERAL pg_catalog.time_partition_range(i.inhrelid) r
		WHERE i.inhparent = table_name AND r.upper_bound NOT IN ('MINVALUE', 'MAXVALUE')
			AND r.upper_bound::timestamptz <= older_than
		ORDER BY r.upper_bound::timestamptz
	LOOP
		RAISE NOTICE 'dropping %', old.partition;
		EXECUTE format('DROP TABLE %s', old.partition);
	END LOOP;
END $$;

CREATE OR REPLACE PROCEDURE pg_catalog.alter_old_partitions_set_access_method(
		parent_table_name regclass, older_than timestamptz, new_access_method name)
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	old record;
BEGIN
	PERFORM pando.time_partition_column(parent_table_name);
	FOR old IN
		SELECT i.inhrelid::regclass AS partition
		FROM pg_catalog.pg_inherits i
			JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
			JOIN pg_catalog.pg_am a ON a.oid = c.relam
			CROSS JOIN LATERAL pg_catalog.time_partition_range(i.inhrelid) r
		WHERE i.inhparent = parent_table_name AND r.upper_bound NOT IN ('MINVALUE', 'MAXVALUE')
			AND r.upper_bound::timestamptz <= older_than AND a.amname <> new_access_method
		ORDER BY r.upper_bound::timestamptz
	LOOP
		RAISE NOTICE 'converting %', old.partition;
		PERFORM pg_catalog.alter_table_set_access_method(old.partition, new_access_method);
	END LOOP;
END $$;
