#!/bin/bash
#
# pando: runs a cluster of PostgreSQL servers with the Pando extension on this machine.
#
#   ./pando up [--workers N] [--port P] [--dir D]   start a cluster (or what is dead of it)
#   ./pando down [--keep] [--dir D]                 stop it and remove its data (--keep: only stop)
#   ./pando psql [--dir D] [node] [args]            psql on a node: coordinator, worker1, ...
#   ./pando status [--dir D]                        what runs
#   ./pando demo [--port P] [--dir D]               a tour: pgbench scaled out, then events
#   ./pando test [pattern]                          build and run all tests, or those named so
#
# The cluster listens on 127.0.0.1: coordinator on P (9700), workers on P+1 and up; user and
# database postgres; no password on loopback. PG_CONFIG chooses the PostgreSQL; without it
# PostgreSQL 15 of Debian or Ubuntu is used, and installed with what else is missing.
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tools/lib.sh
. "$ROOT/tools/lib.sh"

usage() { sed -n '3,14s/^# \{0,1\}//p' "$ROOT/pando"; }

WORKERS='' PORT='' DIR='' KEEP=no
parse_options() {
	while [ $# -gt 0 ]; do
		case $1 in
			--workers) WORKERS=${2:?"--workers needs a number"}; shift ;;
			--port) PORT=${2:?"--port needs a number"}; shift ;;
			--dir) DIR=${2:?"--dir needs a directory"}; shift ;;
			--keep) KEEP=yes ;;
			*) die "unknown option $1 (./pando help shows the usage)" ;;
		esac
		shift
	done
	case $WORKERS$PORT in *[!0-9]*) die "--workers and --port take numbers" ;; esac
	default_dir
}

default_dir() {
	if [ -z "$DIR" ]; then
		if [ "$(id -u)" = 0 ]; then DIR=/var/lib/pando
		else DIR=${XDG_DATA_HOME:-$HOME/.local/share}/pando
		fi
	fi
	case $DIR in /*) ;; *) DIR=$PWD/$DIR ;; esac
}

# The cluster in DIR: cluster.conf says port, workers and whose binaries it runs.
cluster_exists() { [ -f "$DIR/cluster.conf" ]; }
cluster_read() {
	cluster_exists || die "there is no cluster in $DIR: ./pando up starts one"
	# shellcheck disable=SC1091
	. "$DIR/cluster.conf"
}
cluster_write() {
	printf 'CLUSTER_PORT=%s\nCLUSTER_WORKERS=%s\nBIN=%s\n' "$1" "$2" "$BIN" |
		as_server tee "$DIR/cluster.conf" >/dev/null
}
node_dir() { if [ "$1" = 0 ]; then echo "$DIR/coordinator"; else echo "$DIR/worker$1"; fi; }
node_name() { if [ "$1" = 0 ]; then echo coordinator; else echo "worker$1"; fi; }

make_dir() {
	local parent=$DIR
	while [ ! -d "$parent" ]; do parent=$(dirname "$parent"); done
	local free
	free=$(df -Pk "$parent" | awk 'NR == 2 { print $4 }')
	[ "$free" -gt 500000 ] || die "too little disk space for $DIR (500 MB are needed, $((free / 1024)) MB are free): choose another directory with --dir"
	if [ ! -d "$DIR" ]; then
		mkdir -p "$DIR" 2>/dev/null || die "cannot create $DIR: choose another directory with --dir"
		[ "$(id -u)" = 0 ] && chown postgres: "$DIR"
	elif [ -n "$(ls -A "$DIR")" ] && ! cluster_exists; then
		die "$DIR is not empty and holds no cluster of this command: choose another directory with --dir"
	fi
	as_server test -w "$DIR" ||
		die "the user $(server_user) cannot write to $DIR: choose another directory with --dir"
}

# Creates and starts one node, without making it a member yet.
node_up() {
	local dir port
	dir=$(node_dir "$1") port=$((CLUSTER_PORT + $1))
	if [ -f "$dir/postmaster.pid" ] && server_running "$dir"; then return 1; fi
	port_in_use "$port" &&
		die "port $port is taken by another program: choose another with --port"
	if [ ! -f "$dir/PG_VERSION" ]; then
		step "Creating $(node_name "$1") in $dir"
		as_server rm -rf "$dir"
		server_init "$dir" "$port"
	fi
	step "Starting $(node_name "$1") on port $port"
	server_start "$dir"
}

# Makes worker $1 a member, in the database $2.
node_join() {
	sql $((CLUSTER_PORT + $1)) -d "$2" -c "CREATE EXTENSION IF NOT EXISTS pando" 2>/dev/null ||
		die "the extension could not be created on $(node_name "$1")"
	step "Adding $(node_name "$1") to the cluster"
	sql "$CLUSTER_PORT" -d "$2" -tA -c "SELECT citus_add_node('127.0.0.1', $((CLUSTER_PORT + $1)))" >/dev/null
}

coordinator_join() {
	sql "$CLUSTER_PORT" -d "$1" -o /dev/null -c "CREATE EXTENSION IF NOT EXISTS pando" \
		-c "SELECT citus_set_coordinator_host('127.0.0.1', $CLUSTER_PORT)" 2>/dev/null
}

cluster_up() {
	local i before=-1
	if cluster_exists; then
		local asked_port=$PORT
		. "$DIR/cluster.conf"
		[ -z "$asked_port" ] || [ "$asked_port" = "$CLUSTER_PORT" ] ||
			die "the cluster in $DIR is on port $CLUSTER_PORT: take it down first or choose another --dir"
		before=$CLUSTER_WORKERS
		[ -z "$WORKERS" ] || [ "$WORKERS" -ge "$before" ] ||
			die "the cluster in $DIR has $before workers: remove one with citus_drain_node and citus_remove_node"
		WORKERS=${WORKERS:-$before}
	else
		WORKERS=${WORKERS:-2}
		CLUSTER_PORT=${PORT:-9700}
		for ((i = 0; i <= WORKERS; i++)); do
			port_in_use $((CLUSTER_PORT + i)) &&
				die "port $((CLUSTER_PORT + i)) is taken by another program: choose another with --port"
		done
		make_dir
		cluster_write "$CLUSTER_PORT" 0
	fi
	for ((i = 0; i <= WORKERS; i++)); do node_up "$i" || true; done
	[ "$before" -ge 0 ] || coordinator_join postgres
	for ((i = (before < 0 ? 1 : before + 1); i <= WORKERS; i++)); do
		node_join "$i" postgres
		cluster_write "$CLUSTER_PORT" "$i"
	done
	cluster_write "$CLUSTER_PORT" "$WORKERS"
}

cmd_up() {
	parse_options "$@"
	find_postgres
	build_and_install
	cluster_up
	say "The cluster is up: a coordinator and $WORKERS workers. Connect with"
	say "  ./pando psql    or    psql -h 127.0.0.1 -p $CLUSTER_PORT -U postgres"
}

cmd_down() {
	parse_options "$@"
	cluster_exists || { say "There is no cluster in $DIR."; return; }
	cluster_read
	local dir
	for dir in "$DIR"/worker* "$DIR"/coordinator; do
		[ -f "$dir/postmaster.pid" ] || continue
		step "Stopping $(basename "$dir")"
		server_stop "$dir" fast || server_stop "$dir" immediate || true
	done
	[ $KEEP = yes ] && return
	step "Removing $DIR"
	rm -rf "$DIR"/worker* "$DIR"/coordinator "$DIR"/cluster.conf "$DIR"/demo
	rmdir "$DIR" 2>/dev/null || true
}

cmd_status() {
	parse_options "$@"
	cluster_read
	local i state
	for ((i = 0; i <= CLUSTER_WORKERS; i++)); do
		if server_running "$(node_dir "$i")"; then state=running; else state=down; fi
		printf '%-12s 127.0.0.1:%-6s %s\n' "$(node_name "$i")" $((CLUSTER_PORT + i)) $state
	done
	server_running "$(node_dir 0)" &&
		sql "$CLUSTER_PORT" -d postgres -c "SELECT * FROM citus_nodes"
}

cmd_psql() {
	if [ "${1:-}" = --dir ]; then DIR=${2:?"--dir needs a directory"}; shift 2; fi
	default_dir
	cluster_read
	local node=0
	case ${1:-} in
		coordinator) shift ;;
		worker[0-9]*) node=${1#worker}; shift ;;
		[1-9]|[1-9][0-9]) node=$1; shift ;;
	esac
	[ "$node" -le "$CLUSTER_WORKERS" ] || die "the cluster has $CLUSTER_WORKERS workers, no worker$node"
	PGHOST=127.0.0.1 PGPORT=$((CLUSTER_PORT + node)) PGUSER=postgres \
		PGDATABASE=${PGDATABASE:-postgres} exec "$BIN/psql" "$@"
}

command=${1:-help}
[ $# -gt 0 ] && shift
case $command in
	up) cmd_up "$@" ;;
	down) cmd_down "$@" ;;
	status) cmd_status "$@" ;;
	psql) cmd_psql "$@" ;;
	demo) parse_options "$@"; . "$ROOT/tools/demo.sh"; demo ;;
	test) . "$ROOT/tools/test.sh"; run_tests "$@" ;;
	help|-h|--help) usage ;;
	*) usage >&2; exit 2 ;;
esac
