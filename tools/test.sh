# test.sh: `./pando test [pattern]`. Sourced by ./pando.
#
# Every regress file, isolation spec, TAP script, comparison, and the structure check is one test.
# Servers run on free ports under a temporary directory, from a build of its own that has
# the debug points compiled in (found through dynamic_library_path, so that the installed
# library is not touched). Lanes run side by side: SQL files against one shared cluster, and
# TAP scripts two at a time, which start their own servers and wait most of the time. Scripts
# of test/command drive ./pando itself, as the user who runs the tests.

run_tests() {
	local pattern=${1:-}
	find_postgres
	build_and_install
	TEST_DIR=$(as_server mktemp -d "${TMPDIR:-/tmp}/pando-test.XXXXXX")
	chmod 755 "$TEST_DIR" 2>/dev/null || as_root chmod 755 "$TEST_DIR"
	trap 'tests_end' EXIT
	step "Building with debug points"
	as_server mkdir "$TEST_DIR/build"
	(cd "$ROOT" && tar cf - --exclude='*.o' --exclude='*.d' Makefile pando.control exports.map tools sql src test) |
		as_server tar xf - -C "$TEST_DIR/build"
	as_server make -s -C "$TEST_DIR/build" -j"$(nproc)" PG_CONFIG="$PG_CONFIG" \
		PANDO_CPPFLAGS=-DPANDO_DEBUG_POINTS >"$TEST_DIR/build.log" 2>&1 || {
		tail -30 "$TEST_DIR/build.log"
		die "the build for the tests failed"
	}
	RESULTS=$TEST_DIR/results
	: > "$RESULTS"
	structure_test "$pattern"
	tap_lane "$pattern" > "$TEST_DIR/tap.out" 2>&1 &
	local tap=$!
	sql_lane "$pattern"
	differential_lane "$pattern"
	command_lane "$pattern"
	step "TAP tests"
	tail -n +1 -f --pid=$tap "$TEST_DIR/tap.out" || true
	wait $tap || true
	local passed failed
	passed=$(grep -c '^ok' "$RESULTS" || true)
	failed=$(grep -c '^not ok' "$RESULTS" || true)
	[ "$failed" = 0 ] || grep '^not ok' "$RESULTS"
	KEEP_TESTS=$failed
	say "$passed passed, $failed failed"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}

tests_end() {
	local data
	for data in "$TEST_DIR"/cluster/*; do
		[ -f "$data/postmaster.pid" ] && server_stop "$data" immediate
	done
	if [ "${KEEP_TESTS:-1}" = 0 ]; then as_server rm -rf "$TEST_DIR"
	else say "What the tests wrote is in $TEST_DIR"
	fi
}

# report NAME STATUS [SECONDS]: one line per test, on the screen and in the results.
report() {
	local took=${3:+" ($3 s)"}
	if [ "$2" = 0 ]; then say "ok      $1$took"; else say "not ok  $1$took"; fi | tee -a "$RESULTS"
}

matches() { [ -z "$2" ] || [[ $1 == *$2* ]]; }

structure_test() {
	matches structure "$1" || return 0
	local status=0
	sh "$ROOT/tools/check-structure" || status=1
	report structure $status
}

command_lane() {
	local script name status
	for script in "$ROOT"/test/command/*.pl; do
		name=command/$(basename "$script")
		matches "$name" "$1" || continue
		status=0
		SECONDS=0
		PANDO_ROOT=$ROOT PANDO_BIN=$BIN PANDO_PORT=$(free_ports 4 "$(any_port)") \
			perl "$script" > "$TEST_DIR/command.out" 2>&1 || status=$?
		report "$name" $status $SECONDS
		[ $status = 0 ] || tail -40 "$TEST_DIR/command.out"
	done
}

# ---------------------------------------------------------------------------------------
# SQL files and isolation specs, one after the other, against a coordinator and two workers.

sql_lane() {
	local sqls=() specs=() name
	while read -r name; do
		if matches "$name" "$1"; then sqls+=("$name"); fi
	done < <(grep -v '^#' "$ROOT/test/regress/schedule" | tr ' ' '\n' | grep .)
	while read -r name; do
		if matches "$name" "$1"; then specs+=("$name"); fi
	done < <(grep -v '^#' "$ROOT/test/isolation/schedule" | tr ' ' '\n' | grep .)
	[ $((${#sqls[@]} + ${#specs[@]})) -gt 0 ] || return 0
	step "Regress tests"
	need_cluster
	if [ ${#sqls[@]} -gt 0 ]; then
		pg_regress_run regress/pg_regress "$TEST_DIR/build/test/regress" "${sqls[@]}"
	fi
	if [ ${#specs[@]} -gt 0 ]; then
		step "Isolation tests"
		sql "$TEST_PORT" -d regression -c "SELECT citus_internal.replace_isolation_tester_func()" >/dev/null
		pg_regress_run isolation/pg_isolation_regress "$TEST_DIR/build/test/isolation" "${specs[@]}"
	fi
}

need_cluster() { [ -n "${TEST_PORT:-}" ] || test_cluster 2; }

# A cluster of $1 workers with the debug build, database regression.
test_cluster() {
	local i
	TEST_PORT=$(free_ports $(($1 + 1)) "$(any_port)")
	as_server mkdir "$TEST_DIR/cluster"
	for ((i = 0; i <= $1; i++)); do
		server_init "$TEST_DIR/cluster/n$i" $((TEST_PORT + i)) \
			"dynamic_library_path = '$TEST_DIR/build:\$libdir'" "fsync = off" \
			"max_wal_size = 2GB" "shared_buffers = 64MB" "timezone = 'PST8PDT'" "datestyle = 'ISO, MDY'"
		server_start "$TEST_DIR/cluster/n$i"
		sql $((TEST_PORT + i)) -d postgres -c "CREATE DATABASE regression" 
		sql $((TEST_PORT + i)) -d regression -c "CREATE EXTENSION pando"
	done
	sql "$TEST_PORT" -d regression -o /dev/null \
		-c "SELECT citus_set_coordinator_host('127.0.0.1', $TEST_PORT)"
	for ((i = 1; i <= $1; i++)); do
		sql "$TEST_PORT" -d regression -o /dev/null \
			-c "SELECT citus_add_node('127.0.0.1', $((TEST_PORT + i)))"
	done
}

# pg_regress_run PROGRAM DIR TEST...: runs them in one go and reports each.
pg_regress_run() {
	local program dir=$2 line out
	program=$(dirname "$("$PG_CONFIG" --pgxs)")/../../src/test/$1
	shift 2
	out=$dir/run.out
	as_server env PATH="$BIN:$PATH" PGHOST=127.0.0.1 PGPORT="$TEST_PORT" PGUSER=postgres \
		"$program" --use-existing --host=127.0.0.1 --port="$TEST_PORT" --user=postgres \
		--dbname=regression --bindir="$BIN" --inputdir="$dir" --outputdir="$dir" \
		--max-connections=1 "$@" > "$TEST_DIR/$(basename "$dir").out" 2>&1 || true
	while read -r line; do
		case $line in
			test*...*ok*) report "$(echo "$line" | awk '{ print $2 }')" 0 ;;
			test*...*FAILED*) report "$(echo "$line" | awk '{ print $2 }')" 1 ;;
		esac
	done < "$TEST_DIR/$(basename "$dir").out"
	if ! grep -q '^test ' "$TEST_DIR/$(basename "$dir").out"; then
		cat "$TEST_DIR/$(basename "$dir").out"
		report "$(basename "$dir")" 1
	fi
	[ ! -s "$dir/regression.diffs" ] || head -300 "$dir/regression.diffs"
}

# ---------------------------------------------------------------------------------------
# Comparisons with plain tables, in databases of their own of the same cluster. A script that
# can't get its data (no network) exits with 77.

differential_lane() {
	local runs=() run
	for run in "postgresql_regress" "tpch" "random_queries 1" "random_queries 2" "random_queries 3" \
		"random_queries 4" "random_queries 5"; do
		if matches "differential/$run" "$1"; then runs+=("$run"); fi
	done
	[ ${#runs[@]} -gt 0 ] || return 0
	step "Comparisons"
	find_python
	need_cluster
	for run in "${runs[@]}"; do differential_run $run; done
}

differential_run() {
	local status=0 out=$TEST_DIR/$1${2:-}.out
	SECONDS=0
	PATH="$BIN:$PATH" PGHOST=127.0.0.1 PGPORT=$TEST_PORT PGUSER=postgres PGOPTIONS='' \
		WORKERS="$((TEST_PORT + 1)) $((TEST_PORT + 2))" \
		python3 -B "$ROOT/test/differential/$1.py" ${2:-} > "$out" 2>&1 || status=$?
	if [ $status = 77 ]; then
		say "SKIP    differential/$*: $(tail -1 "$out")"
		return
	fi
	report "differential/$*" $status $SECONDS
	[ $status = 0 ] || head -c 20000 "$out"
}

# ---------------------------------------------------------------------------------------
# TAP scripts: each starts its own servers with PostgreSQL::Test::Cluster.

tap_lane() {
	local scripts=() script
	for script in "$ROOT"/test/tap/*.pl; do
		if matches "tap/$(basename "$script")" "$1"; then scripts+=("$(basename "$script")"); fi
	done
	[ ${#scripts[@]} -gt 0 ] || return 0
	as_server mkdir -p "$TEST_DIR/tap/ports"
	export TEST_DIR RESULTS
	export -f tap_run as_server_here report say
	printf '%s\n' "${scripts[@]}" | xargs -P 2 -I{} bash -c 'tap_run {}'
}

tap_run() {
	local status=0 name=$1 pgxs data=$TEST_DIR/tap/${1%.pl}
	pgxs=$(dirname "$("$PG_CONFIG" --pgxs)")
	SECONDS=0
	(cd "$TEST_DIR/build/test/tap" &&
		as_server_here env PATH="$BIN:$PATH" PG_REGRESS="$pgxs/../../src/test/regress/pg_regress" \
			PANDO_LIBRARY_PATH="$TEST_DIR/build" TESTDATADIR="$data" TESTLOGDIR="$data" \
			TESTDIR="$TEST_DIR/tap" PG_TEST_PORT_DIR="$TEST_DIR/tap/ports" PG_TEST_TIMEOUT_DEFAULT=180 \
			perl -I "$pgxs/../../src/test/perl" -I . "$name" > "$data.out" 2>&1) || status=$?
	if grep -q '^1\.\.0 # SKIP' "$data.out"; then
		say "SKIP    tap/$name: $(sed 's/.*SKIP //' "$data.out")"
		return
	fi
	report "tap/$name" $status $SECONDS
	[ $status = 0 ] || tail -40 "$data.out"
}

# as_server in the current directory.
as_server_here() {
	if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}
