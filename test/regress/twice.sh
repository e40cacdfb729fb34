# twice.sh NAME [force]: runs script/NAME.sql through psql twice, in a schema "twice" that is made
# anew: once where distribute(), single() and reference() leave a table as it is, and once
# where they do what they say. Tells in one line that both runs printed the same, or shows
# the difference. Each result whose order is open has to be sorted by the script. Only the
# line of an error's context that names a node is left out. `\i :tables` gives a script the
# tables that several of them use, `\i :trigger_log` a trigger function that notes what fires.
# force: row-level security is for the tables' owners, too, wherever the script enables it.
name=$1
forced=$2
script=$PG_ABS_SRCDIR/script/$name.sql
out=$(mktemp -d "${TMPDIR:-/tmp}/twice.XXXXXX")
export PGOPTIONS="$PGOPTIONS -c search_path=twice,public -c client_min_messages=warning -c citus.shard_count=6"
chmod 777 "$out" # the server may be another user

# schema STATEMENT FOR DISTRIBUTE, SINGLE, REFERENCE
schema() {
	psql -X -q <<-END
		DROP SCHEMA IF EXISTS twice CASCADE;
		CREATE SCHEMA twice;
		CREATE FUNCTION twice.distribute(t regclass, k text, w text DEFAULT 'default') RETURNS void LANGUAGE plpgsql AS \$\$ BEGIN $1 END \$\$;
		CREATE FUNCTION twice.single(t regclass) RETURNS void LANGUAGE plpgsql AS \$\$ BEGIN $2 END \$\$;
		CREATE FUNCTION twice.reference(t regclass) RETURNS void LANGUAGE plpgsql AS \$\$ BEGIN $3 END \$\$;
	END
}

statements() {
	if [ "$forced" ]; then sed 's/ENABLE ROW LEVEL SECURITY/&, FORCE ROW LEVEL SECURITY/' "$script"; else cat "$script"; fi
}

run() {
	(cd "$out" && statements | psql -X -a -v VERBOSITY=sqlstate -v tables="$PG_ABS_SRCDIR/script/dml_tables.sql" \
		-v trigger_log="$PG_ABS_SRCDIR/script/trigger_log.sql") 2>&1 |
		grep -v -e '^--' -e '^while executing command on ' > "$out/$1.out"
	rm -f "$out"/*.data
}

schema 'NULL;' 'NULL;' 'NULL;'
run plain
schema 'PERFORM create_distributed_table(t, k, colocate_with => w);' \
	"PERFORM create_distributed_table(t, NULL, colocate_with => 'none');" \
	'PERFORM create_reference_table(t);'
run distributed
if (cd "$out" && diff -U 4 plain.out distributed.out) && [ "$(wc -l < "$out/plain.out")" -gt 100 ]; then
	echo "$name${forced:+, forced}: the same on plain and on distributed tables"
fi
[ -n "$TWICE_KEEP" ] && echo "kept in $out" || rm -rf "$out"
