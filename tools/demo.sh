# demo.sh: `./pando demo`, a tour of the product's main job on real input. Sourced by ./pando.
#
# First the well-known walk from one server to three with pgbench: tables distributed, keys added,
# workers two and three added and rebalanced, two copies of each shard. Then events as GitHub's
# archive has them: COPY of JSON, a trigram index, dashboard query and rollup.

DEMO_SCALE=${DEMO_SCALE:-10}     # pgbench's scale factor
DEMO_SECONDS=${DEMO_SECONDS:-8}    # of each pgbench run
DEMO_EVENTS=${DEMO_EVENTS:-50000}

demo() {
	WORKERS=1
	find_postgres
	build_and_install
	if cluster_exists; then
		[ -f "$DIR/demo" ] ||
			die "a cluster is in $DIR already: ./pando down removes it, or choose another --dir and --port"
		step "Removing the last demo"
		(KEEP=no cmd_down --dir "$DIR")
	fi
	PORT=${PORT:-9700}
	cluster_up
	as_server touch "$DIR/demo"
	demo_pgbench
	demo_events
	demo_summary
}

# SQL on the coordinator, in the demo's database, shown as it goes.
demo_sql() { sql "$CLUSTER_PORT" -d pgbench -e "$@"; }

demo_node() {
	[ -f "$(node_dir "$1")/postmaster.pid" ] || node_up "$1" || true
	cluster_write "$CLUSTER_PORT" "$1"
	sql $((CLUSTER_PORT + $1)) -d postgres -c "CREATE DATABASE pgbench"
	sql $((CLUSTER_PORT + $1)) -d pgbench -c "CREATE EXTENSION pando"
}

demo_bench() {
	local nodes=$1 index=$2 factor=$3 tps
	step "pgbench with 20 clients for $DEMO_SECONDS seconds: $nodes workers, keys: $index, copies: $factor"
	tps=$("$BIN/pgbench" -h 127.0.0.1 -p "$CLUSTER_PORT" -U postgres -c 20 -j 3 -T $DEMO_SECONDS \
		-P 3 pgbench 2>&1 | tee >(cat >&2) | awk '/^tps/ { printf "%.0f", $3 }')
	[ -n "$tps" ] || die "the pgbench run failed"
	DEMO_RUNS+=("$(printf '%-4s %-10s %-10s %-19s %s' $((${#DEMO_RUNS[@]} + 1)) "$nodes" "$index" "$factor" "$tps")")
}

demo_pgbench_tool() { "$BIN/pgbench" -q -h 127.0.0.1 -p "$CLUSTER_PORT" -U postgres "$@" pgbench; }

demo_pgbench() {
	local i
	DEMO_RUNS=()
	demo_node 0
	demo_node 1
	step "One worker"
	demo_sql -c "select citus_set_coordinator_host('127.0.0.1', $CLUSTER_PORT)" \
		-c "select citus_add_node('127.0.0.1', $((CLUSTER_PORT + 1)))" \
		-c "select * from master_get_active_worker_nodes()"
	demo_pgbench_tool -iI t
	demo_sql -f "$ROOT/tools/distribute-pgbench.sql"
	demo_pgbench_tool -iI g -s $DEMO_SCALE
	demo_sql -c "select * from citus_tables" \
		-c "select * from citus_shards order by shardid limit 5"
	demo_bench 1 no 1
	step "Keys"
	demo_sql <<-'END'
		BEGIN;
		create unique index pgbench_accounts_pk on pgbench_accounts(aid);
		create unique index pgbench_branches_pk on pgbench_branches(bid);
		create unique index pgbench_tellers_pk on pgbench_tellers(tid);
		alter table pgbench_accounts add constraint pk_accounts primary key using index pgbench_accounts_pk;
		alter table pgbench_branches add constraint pk_branches primary key using index pgbench_branches_pk;
		alter table pgbench_tellers add constraint pk_tellers primary key using index pgbench_tellers_pk;
		alter table pgbench_history replica identity full;
		COMMIT;
	END
	demo_bench 1 yes 1
	for i in 2 3; do
		step "Worker $i"
		demo_node "$i"
		demo_sql -c "select citus_add_node('127.0.0.1', $((CLUSTER_PORT + i)))" \
			-c "select * from rebalance_table_shards()" -c "ANALYZE"
		demo_bench "$i" yes 1
	done
	step "Two copies of each shard"
	demo_sql -c "alter system set citus.shard_replication_factor = 2"
	demo_reload 2
	demo_sql <<-'END'
		BEGIN;
		select undistribute_table('pgbench_history');
		select undistribute_table('pgbench_accounts');
		select undistribute_table('pgbench_branches');
		select undistribute_table('pgbench_tellers');
		COMMIT;
	END
	demo_sql -f "$ROOT/tools/distribute-pgbench.sql"
	demo_sql <<-'END'
		BEGIN;
		select truncate_local_data_after_distributing_table($$public.pgbench_history$$);
		select truncate_local_data_after_distributing_table($$public.pgbench_accounts$$);
		select truncate_local_data_after_distributing_table($$public.pgbench_branches$$);
		select truncate_local_data_after_distributing_table($$public.pgbench_tellers$$);
		COMMIT;
	END
	demo_bench 3 yes 2
	demo_sql -c "alter system reset citus.shard_replication_factor"
	demo_reload 1
}

# Returns when new sessions make $1 copies.
demo_reload() {
	demo_sql -c "select pg_reload_conf()"
	until [ "$(sql "$CLUSTER_PORT" -d pgbench -tAc "show citus.shard_replication_factor")" = "$1" ]; do
		sleep 0.1
	done
}

demo_events() {
	step "Events of GitHub's archive as JSON, with a trigram index"
	demo_sql <<-'END'
		CREATE EXTENSION IF NOT EXISTS pg_trgm;
		CREATE SCHEMA archive;
		CREATE TABLE archive.github_events (event_id text default md5(random()::text) primary key, data jsonb);
		SELECT create_distributed_table('archive.github_events', 'event_id');
		CREATE INDEX text_search_idx ON archive.github_events USING GIN
			((jsonb_path_query_array(data, '$.payload.commits[*].message')::text) gin_trgm_ops);
	END
	step "Loading $DEMO_EVENTS events through COPY"
	perl "$ROOT/tools/github-events.pl" $DEMO_EVENTS | sed 's/\\/\\\\/g' |
		demo_sql -c "COPY archive.github_events (data) FROM STDIN"
	demo_sql <<-'END'
		CREATE TABLE github_events (event_id bigint, event_type text, event_public boolean, repo_id bigint,
			payload jsonb, repo jsonb, user_id bigint, created_at timestamp);
		SELECT create_distributed_table('github_events', 'user_id');
		INSERT INTO github_events
			SELECT (data->>'id')::bigint, data->>'type', (data->>'public')::boolean, (data->'repo'->>'id')::bigint,
				data->'payload', data->'repo', (data->'actor'->>'id')::bigint, (data->>'created_at')::timestamp
			FROM archive.github_events;
		ANALYZE github_events;
	END
	step "The distributed plan of a query"
	demo_sql <<-'END'
		EXPLAIN VERBOSE
		SELECT date_trunc('minute', created_at) AS minute, sum((payload->>'distinct_size')::int) AS num_commits
		FROM github_events WHERE event_type = 'PushEvent' GROUP BY minute ORDER BY minute;
	END
	step "The dashboard query: commits per day that mention postgres"
	demo_sql <<-'END'
		SELECT (data->>'created_at')::date, sum(jsonb_array_length(data->'payload'->'commits'))
		FROM archive.github_events
		WHERE jsonb_path_query_array(data, '$.payload.commits[*].message')::text ILIKE '%postgres%'
		GROUP BY 1 ORDER BY 1 ASC;
	END
	step "The rollup: commits extracted on the shards"
	demo_sql <<-'END'
		CREATE TABLE commits (event_id text, position bigint, author text, message text, created_at timestamp);
		SELECT create_distributed_table('commits', 'event_id', colocate_with => 'archive.github_events');
		INSERT INTO commits
			SELECT event_id, ordinality, c->'author'->>'name', c->>'message', (data->>'created_at')::timestamp
			FROM archive.github_events,
				jsonb_array_elements(data->'payload'->'commits') WITH ORDINALITY AS c(c, ordinality)
			WHERE data->>'type' = 'PushEvent';
		SELECT author, count(*) FROM commits GROUP BY author ORDER BY count(*) DESC, author LIMIT 5;
	END
}

demo_summary() {
	say
	printf '%-4s %-10s %-10s %-19s %s\n' RUN "NUM NODES" "WITH IDX" "Replication Factor" TPS
	printf '%s\n' "${DEMO_RUNS[@]}"
	say
	say "Connect with"
	say "  psql -h 127.0.0.1 -p $CLUSTER_PORT -U postgres pgbench"
	say "and remove it all with"
	if [ "$DIR" = "$(DIR='' && default_dir && echo "$DIR")" ]; then say "  ./pando down"
	else say "  ./pando down --dir $DIR"
	fi
}
