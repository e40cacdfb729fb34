# bench.sh: `./pando bench`, the benchmark suite side by side with plain PostgreSQL. Sourced by ./pando.
#
# Starts three systems on this machine with the same settings: plain PostgreSQL, a cluster of one node,
# and a coordinator with two workers; measures (bench/bench.py) and removes them. Options go to
# bench.py; a --system NAME=CONNINFO is one more column. `./pando bench --moves` measures moves and splits of
# shards instead (bench/moves.py), on the last of these systems alone.

BENCH_WORKERS=${BENCH_WORKERS:-2}
BENCH_MEMORY=${BENCH_MEMORY:-1536} # MB of shared buffers, for all servers of a system together

run_bench() {
	find_postgres
	find_python
	build_and_install
	BENCH_DIR=$(as_server mktemp -d "${TMPDIR:-/tmp}/pando-bench.XXXXXX")
	chmod 755 "$BENCH_DIR" 2>/dev/null || as_root chmod 755 "$BENCH_DIR"
	at_exit bench_end
	BENCH_PORT=$(free_ports $((3 + BENCH_WORKERS)) "$(any_port)")
	local plain=$BENCH_PORT one=$((BENCH_PORT + 1)) cluster=$((BENCH_PORT + 2)) i
	if [ "${1-}" = --moves ]; then
		shift
		step "Starting a coordinator with $BENCH_WORKERS workers"
		bench_cluster "$cluster"
		PGBIN=$BIN python3 -B "$ROOT/bench/moves.py" "host=127.0.0.1 port=$cluster user=postgres dbname=postgres" "$@"
		return
	fi
	step "Starting plain PostgreSQL, one node, and a coordinator with $BENCH_WORKERS workers"
	bench_server "$plain" $BENCH_MEMORY "shared_preload_libraries = ''"
	bench_server "$one" $BENCH_MEMORY
	sql "$one" -d postgres -o /dev/null -c "SELECT citus_set_coordinator_host('127.0.0.1', $one)"
	bench_cluster "$cluster"
	PGBIN=$BIN python3 -B "$ROOT/bench/bench.py" \
		--system "plain=host=127.0.0.1 port=$plain user=postgres dbname=postgres" \
		--system "one node=host=127.0.0.1 port=$one user=postgres dbname=postgres" \
		--system "$BENCH_WORKERS workers=host=127.0.0.1 port=$cluster user=postgres dbname=postgres" "$@"
}

# A coordinator on port $1, its workers on the next ones.
bench_cluster() {
	local port=$1 i
	for ((i = 0; i <= BENCH_WORKERS; i++)); do
		bench_server $((port + i)) $((BENCH_MEMORY / (BENCH_WORKERS + 1)))
	done
	sql "$port" -d postgres -o /dev/null -c "SELECT citus_set_coordinator_host('127.0.0.1', $port)"
	for ((i = 1; i <= BENCH_WORKERS; i++)); do
		sql "$port" -d postgres -o /dev/null -c "SELECT citus_add_node('127.0.0.1', $((port + i)))"
	done
}

# A server on port $1 with $2 MB of shared buffers; further arguments are settings. Nothing waits for the
# disk: what is compared is the work of the processors.
bench_server() {
	local port=$1 memory=$2
	shift 2
	server_init "$BENCH_DIR/$port" "$port" "shared_buffers = ${memory}MB" "fsync = off" \
		"max_wal_size = 8GB" "checkpoint_timeout = 30min" "effective_cache_size = 8GB" "work_mem = 64MB" \
		"unix_socket_directories = '$BENCH_DIR'" "jit = off" "random_page_cost = 1.1" "$@"
	server_start "$BENCH_DIR/$port"
	[ $# -gt 0 ] || sql "$port" -d postgres -c "CREATE EXTENSION pando"
}

bench_end() {
	end_children
	end_servers "$BENCH_DIR"
	as_server rm -rf "$BENCH_DIR"
}
