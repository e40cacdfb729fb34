-- What triggers do, one line each, in the table twice.log that the script has made.
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO twice.log (line) VALUES (concat_ws(' ', TG_NAME, TG_WHEN, TG_OP, TG_LEVEL, TG_TABLE_NAME, TG_RELID::regclass, array_to_string(TG_ARGV, ','), pg_trigger_depth(),
		CASE WHEN TG_LEVEL = 'ROW' AND TG_OP <> 'INSERT' THEN left(OLD::text, 200) END, '>', CASE WHEN TG_LEVEL = 'ROW' AND TG_OP <> 'DELETE' THEN left(NEW::text, 200) END));
	IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
	RETURN NEW;
END $$;
CREATE FUNCTION what() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT line FROM twice.log ORDER BY n;
	DELETE FROM twice.log;
END $$;
