# any_node.sh [name]: runs script/<name>.sql (any_node) through psql twice, on the coordinator and on the node at port
# $WORKER, after everywhere.sql, and shows what the second printed otherwise; the first's output is shown whole.
name=${1:-any_node}
out=$(mktemp -d "${TMPDIR:-/tmp}/any_node.XXXXXX")
for port in "$PGPORT" "$WORKER"; do
	psql -X -q -p "$port" -f "$PG_ABS_SRCDIR/script/everywhere.sql"
	psql -X -q -a -p "$port" -v other="$OTHER" -v here="$port" < "$PG_ABS_SRCDIR/script/$name.sql" > "$out/$port.out" 2>&1
done
grep -v '^--' "$out/$PGPORT.out"
diff "$out/$PGPORT.out" "$out/$WORKER.out" && echo 'any_node: the same on the coordinator and on a worker'
rm -rf "$out"
