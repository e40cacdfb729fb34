# test.sh: `./pando test [pattern]`. Sourced by ./pando.
#
# Every regress file, isolation spec, TAP script, comparison, and the structure check is one test.
# Servers run on free ports under a temporary directory, from a build of its own that has
# the debug points compiled in (found through dynamic_library_path, so that the installed
# library is not touched). Lanes run side by side: SQL files, then comparisons, against one shared
# cluster, and TAP scripts two at a time, which start their own servers and wait most of the
# time. Scripts of test/command drive ./pando itself, as the user who runs the tests; they run in the
# foreground, where signals reach them, beside the comparisons.

run_tests() {
	local pattern=${1:-}
	find_postgres
	build_and_install
	TEST_DIR=$(as_server mktemp -d "${TMPDIR:-/tmp}/pando-test.XXXXXX")
	chmod 755 "$TEST_DIR" 2>/dev/null || as_root chmod 755 "$TEST_DIR"
	at_exit tests_end
	step "Building with debug points"
	as_server mkdir "$TEST_DIR/build"
	(cd "$ROOT" && tar cf - --exclude='*.o' --exclude='*.d' Makefile pando.control exports.map hot.map tools sql src test) |
		as_server tar xf - -C "$TEST_DIR/build"
	as_server make -s -C "$TEST_DIR/build" -j"$(nproc)" PG_CONFIG="$PG_CONFIG" \
		PANDO_CPPFLAGS=-DPANDO_DEBUG_POINTS >"$TEST_DIR/build.log" 2>&1 || {
		tail -30 "$TEST_DIR/build.log"
		die "the build for the tests failed"
	}
	RESULTS=$TEST_DIR/results
	: > "$RESULTS"
	structure_test "$pattern"
	lane tap "$pattern"
	lane suites "$pattern"
	sql_lane "$pattern"
	lane differential "$pattern"
	command_lane "$pattern"
	lane_ended differential
	step "TAP tests"
	lane_ended tap
	lane_ended suites
	local passed failed skipped
	passed=$(grep -c '^ok' "$RESULTS" || true)
	failed=$(grep -c '^not ok' "$RESULTS" || true)
	skipped=$(grep -c '^SKIP' "$RESULTS" || true)
	grep -e '^SKIP' -e '^not ok' "$RESULTS" || true
	[ ! -s "$RESULTS.failed" ] || cat "$RESULTS.failed"
	KEEP_TESTS=$failed
	say "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}

# lane NAME PATTERN: runs NAME_lane beside others. It prints into a file, and leaves its status in another: the shell forgets
# the statuses of children that ended long ago, and their numbers come again.
lane() {
	(
		trap 'echo $? > "$TEST_DIR/$1.status"' EXIT
		"$1_lane" "$2"
	) > "$TEST_DIR/$1.out" 2>&1 &
	echo $! > "$TEST_DIR/$1.pid"
}

# lane_ended NAME: shows what the lane prints until it has ended. One that fails by itself is a failed test.
lane_ended() {
	local file=$TEST_DIR/$1 shown=0 size ended=
	while [ -z "$ended" ]; do
		[ ! -s "$file.status" ] && kill -0 "$(cat "$file.pid")" 2>/dev/null || ended=1
		size=$(stat -c %s "$file.out")
		tail -c +$((shown + 1)) "$file.out" | head -c $((size - shown))
		shown=$size
		[ "$ended" ] || sleep 1
	done
	[ "$(cat "$file.status" 2>/dev/null)" = 0 ] || report "the lane $1" 1
}

# However the tests end, nothing that they started goes on.
tests_end() {
	end_children
	end_servers "$TEST_DIR"
	if [ "${KEEP_TESTS:-1}" = 0 ]; then as_server rm -rf "$TEST_DIR"
	else say "What the tests wrote is in $TEST_DIR"
	fi
}

# report NAME STATUS [SECONDS], skip NAME REASON: one line per test, on the screen and in the results.
report() {
	local took=${3:+" ($3 s)"}
	if [ "$2" = 0 ]; then say "ok      $1$took"; else say "not ok  $1$took"; fi | tee -a "$RESULTS"
}
skip() { say "SKIP    $1: $2" | tee -a "$RESULTS"; }

# failed NAME FILE: the end of what a test that failed has said, on the screen and, shorter, below the results.
failed() {
	tail -c 20000 "$2"
	{
		say "--- $1"
		tail -25 "$2"
	} >> "$RESULTS.failed"
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
		TMPDIR=$TEST_DIR PANDO_ROOT=$ROOT PANDO_BIN=$BIN PANDO_PORT=$(free_ports 4 "$(any_port)") \
			perl "$script" > "$TEST_DIR/command.out" 2>&1 || status=$?
		report "$name" $status $SECONDS
		[ $status = 0 ] || failed "$name" "$TEST_DIR/command.out"
	done
}

# ---------------------------------------------------------------------------------------
# SQL files and isolation specs, one after the other, against a coordinator and two workers.

sql_lane() {
	local sqls specs
	read -ra sqls <<<"$(scheduled "$ROOT/test/regress/schedule" "$1")"
	read -ra specs <<<"$(scheduled "$ROOT/test/isolation/schedule" "$1")"
	[ $((${#sqls[@]} + ${#specs[@]})) -gt 0 ] || matches "caches never" "$1" || matches "caches always" "$1" || return 0
	need_cluster
	if [ ${#sqls[@]} -gt 0 ]; then
		step "Regress tests"
		test_database regression
		pg_regress_run regress/pg_regress "$TEST_DIR/build/test/regress" regression "${sqls[@]}"
	fi
	caches_lane never "$1"
	caches_lane always "$1"
	if [ ${#specs[@]} -gt 0 ]; then
		step "Isolation tests"
		test_database isolation
		sql "$TEST_PORT" -d isolation -c "SELECT citus_internal.replace_isolation_tester_func()" >/dev/null
		pg_regress_run isolation/pg_isolation_regress "$TEST_DIR/build/test/isolation" isolation "${specs[@]}"
	fi
}

# The comparisons with plain tables once more, with what is kept of statements forced on ("always") or off ("never").
caches_lane() {
	local caches=$1 sqls i
	matches "caches $caches" "$2" || return 0
	read -ra sqls <<<"$(scheduled <(grep -w -e compare_setup "$ROOT/test/regress/schedule" | grep -v '^all_here') '')"
	step "Comparisons, caches of statements: $caches"
	test_database "caches_$caches"
	for i in 0 1 2; do
		sql $((TEST_PORT + i)) -d postgres -c "ALTER DATABASE caches_$caches SET pando.statement_caches = $caches"
	done
	LABEL=" (caches $caches)" pg_regress_run regress/pg_regress "$TEST_DIR/build/test/regress" "caches_$caches" "${sqls[@]}"
}

# The tests of the schedule $1 whose name contains $2, each after those that it needs.
scheduled() {
	local name needs need chosen=' '
	while read -r name needs; do
		name=${name%:}
		matches "$name" "$2" || continue
		for need in $needs $name; do
			[[ $chosen == *" $need "* ]] || chosen+="$need "
		done
	done < <(grep -v '^#' "$1")
	echo "$chosen"
}

# Starts the servers of a coordinator and two workers with the debug build, if they don't run yet. Statistics are those
# that tests collect: plans that they look at must not depend on when autovacuum comes.
need_cluster() {
	local i
	[ -z "${TEST_PORT:-}" ] || return 0
	TEST_PORT=$(free_ports 3 "$(any_port)")
	as_server mkdir "$TEST_DIR/cluster"
	for i in 0 1 2; do
		server_init "$TEST_DIR/cluster/n$i" $((TEST_PORT + i)) \
			"dynamic_library_path = '$TEST_DIR/build:\$libdir'" "fsync = off" \
			"max_wal_size = 2GB" "shared_buffers = 64MB" "timezone = 'PST8PDT'" "datestyle = 'ISO, MDY'" \
			"autovacuum_analyze_threshold = 2000000000" "autovacuum_vacuum_insert_threshold = -1"
		server_start "$TEST_DIR/cluster/n$i"
	done
}

# Makes the database $1 on these servers, and a cluster of it.
test_database() {
	local i
	for i in 0 1 2; do
		sql $((TEST_PORT + i)) -d postgres -c "CREATE DATABASE $1"
		sql $((TEST_PORT + i)) -d "$1" -c "CREATE EXTENSION pando"
	done
	sql "$TEST_PORT" -d "$1" -o /dev/null -c "SELECT citus_set_coordinator_host('127.0.0.1', $TEST_PORT)" \
		-c "SELECT citus_add_node('127.0.0.1', $((TEST_PORT + 1)))" -c "SELECT citus_add_node('127.0.0.1', $((TEST_PORT + 2)))"
}

# pg_regress_run PROGRAM DIR DATABASE TEST...: runs them in one go and reports each; one that pg_regress says nothing of
# has failed.
pg_regress_run() {
	local program dir=$2 database=$3 out name line
	program=$(dirname "$("$PG_CONFIG" --pgxs)")/../../src/test/$1
	out=$TEST_DIR/$(basename "$dir").out
	shift 3
	as_server env PATH="$BIN:$PATH" PGHOST=127.0.0.1 PGPORT="$TEST_PORT" PGUSER=postgres \
		"$program" --use-existing --host=127.0.0.1 --port="$TEST_PORT" --user=postgres \
		--dbname="$database" --bindir="$BIN" --inputdir="$dir" --outputdir="$dir" \
		--max-connections=1 "$@" > "$out" 2>&1 || true
	for name in "$@"; do
		# Since PostgreSQL 16 in the form of TAP.
		line=$(grep -E "^(test |(not )?ok [0-9]+ +- )$name +(\.\.\. )?" "$out" || true)
		case $line in
			*' ... ok '* | 'ok '*) report "$name${LABEL:-}" 0 $(($(awk '{ print $(NF - 1) }' <<<"$line") / 1000)) ;;
			*) report "$name${LABEL:-}" 1 ;;
		esac
	done
	grep -qE '^(test|(not )?ok) ' "$out" || cat "$out"
	[ ! -s "$dir/regression.diffs" ] || failed "$database" "$dir/regression.diffs"
}

# ---------------------------------------------------------------------------------------
# Comparisons with plain tables, in databases of their own of the same cluster. A script that
# can't get its data (no network) exits with 77.

differential_lane() {
	local runs=() run
	for run in "postgresql_regress" "postgresql_scripts" "postgresql_isolation" "postgresql_objects worker" "tpch" "tpcds" "retail" "random_queries 1" "random_queries 2" "random_queries 3" \
		"random_queries 4 worker" "random_queries 15 alone" "random_writes 1" "random_writes 2 worker" \
		"random_writes 4 alone" "random_writes 3 never" "random_writes 3 always" "random_ddl 1" "fuzz_readers" "hostile_calls" "forged_node" \
		"correlated_matrix"; do
		if matches "differential/$run" "$1"; then runs+=("$run"); fi
	done
	[ ${#runs[@]} -gt 0 ] || return 0
	step "Comparisons"
	find_python
	need_cluster
	for run in "${runs[@]}"; do differential_run $run; done
}

# differential_run SCRIPT [ARGUMENT [HOW]]. HOW: statements come from a worker ("worker"), the cluster has no others than the
# coordinator ("alone"), or a value of pando.statement_caches.
differential_run() {
	local status=0 out=$TEST_DIR/$1${2:-}.out how=()
	case ${3:-} in
		'') ;;
		worker) how=("NODE=$((TEST_PORT + 1))") ;;
		alone) how=("WORKERS=") ;;
		*) how=("STATEMENT_CACHES=$3") ;;
	esac
	SECONDS=0
	PATH="$BIN:$PATH" PGHOST=127.0.0.1 PGPORT=$TEST_PORT PGUSER=postgres PGOPTIONS='' PG_CONFIG="$PG_CONFIG" \
		WORKERS="$((TEST_PORT + 1)) $((TEST_PORT + 2))" \
		env "${how[@]}" python3 -B "$ROOT/test/differential/$1.py" ${2:-} > "$out" 2>&1 || status=$?
	if [ $status = 77 ]; then
		skip "differential/$*" "$(tail -1 "$out")"
		return
	fi
	report "differential/$*" $status $SECONDS
	[ $status = 0 ] || failed "differential/$*" "$out"
}

# ---------------------------------------------------------------------------------------
# PostgreSQL's own suites, on a server of their own where nothing is distributed.

suites_lane() {
	local suites=() suite source status=0
	for suite in regress isolation; do
		if matches "postgresql/$suite" "$1"; then suites+=("$suite"); fi
	done
	[ ${#suites[@]} -gt 0 ] || return 0
	step "PostgreSQL's own suites"
	find_python
	source=$(PG_CONFIG="$PG_CONFIG" python3 -B "$ROOT/test/differential/postgresql_source.py") || status=$?
	if [ $status = 77 ]; then
		for suite in "${suites[@]}"; do skip "postgresql/$suite" "$source"; done
		return
	fi
	[ $status = 0 ] || return 1
	as_server mkdir "$TEST_DIR/suites"
	for suite in "${suites[@]}"; do suite_run "$suite" "$source"; done
}

# A server for the suite $1 of the source $2, with the settings that pg_regress gives one of its own.
suite_run() {
	local data=$TEST_DIR/suites/data_$1 status=0 port
	port=$(free_ports 1 "$(any_port)")
	SECONDS=0
	server_init "$data" "$port" "dynamic_library_path = '$TEST_DIR/build:\$libdir'" "fsync = off" \
		"wal_level = replica" "log_autovacuum_min_duration = 0" "log_lock_waits = on" "log_temp_files = 128kB"
	server_start "$data"
	as_server env PATH="$BIN:$PATH" PG_CONFIG="$PG_CONFIG" PGHOST=127.0.0.1 PGPORT="$port" \
		python3 -B "$TEST_DIR/build/test/postgresql/suite.py" "$1" "$2" "$TEST_DIR/suites/$1" \
		> "$TEST_DIR/suites_$1.out" 2>&1 || status=$?
	server_stop "$data" || status=1
	report "postgresql/$1" $status $SECONDS
	[ $status = 0 ] || failed "postgresql/$1" "$TEST_DIR/suites_$1.out"
}

# ---------------------------------------------------------------------------------------
# TAP scripts: each starts its own servers with PostgreSQL::Test::Cluster.

tap_lane() {
	local scripts=() script
	for script in "$ROOT"/test/tap/*.pl; do
		if matches "tap/$(basename "$script")" "$1"; then scripts+=("$(basename "$script")"); fi
	done
	# Those that take long run when they are asked for by their folder.
	for script in "$ROOT"/test/tap/long/*.pl; do
		if [[ $1 == *long* ]] && matches "tap/long/$(basename "$script")" "$1"; then scripts+=("long/$(basename "$script")"); fi
	done
	[ ${#scripts[@]} -gt 0 ] || return 0
	[[ " ${scripts[*]} " != *_pooler.pl* ]] || find_pgbouncer
	[[ " ${scripts[*]} " != *patroni.pl* ]] || find_patroni
	[[ " ${scripts[*]} " != *_partman.pl* ]] || find_partman
	as_server mkdir -p "$TEST_DIR/tap/ports" "$TEST_DIR/tap/long"
	export TEST_DIR RESULTS
	export -f tap_run as_server_here report failed skip say
	printf '%s\n' "${scripts[@]}" | xargs -P 2 -I{} bash -c 'tap_run {}'
}

# One test needs it; where it can't be had, that one is skipped and says so.
find_pgbouncer() {
	(PATH=$PATH:/usr/sbin:/usr/local/sbin all_found pgbouncer) || (apt_install pgbouncer) || true
}

find_patroni() {
	all_found patroni etcd || (apt_install patroni etcd-server) || true
}

# The same of pg_partman, for the PostgreSQL that Debian has.
find_partman() {
	local directory
	directory=$("$PG_CONFIG" --sharedir)
	[ -e "$directory/extension/pg_partman.control" ] || [[ $directory != /usr/share/postgresql/* ]] ||
		(apt_install "postgresql-$(basename "$directory")-partman") || true
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
		skip "tap/$name" "$(sed 's/.*SKIP //' "$data.out")"
		return
	fi
	report "tap/$name" $status $SECONDS
	[ $status = 0 ] || failed "tap/$name" "$data.out"
}

# as_server in the current directory.
as_server_here() {
	if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}
