# lib.sh: what the command ./pando, the demo and the tests share: finding PostgreSQL,
# installing what is missing, building, and running servers as an unprivileged user.
# Sourced, never run. Expects ROOT (the repository) to be set.

say()  { printf '%s\n' "$*"; }
step() { printf '==> %s\n' "$*"; }
die()  { printf 'pando: %s\n' "$*" >&2; exit 1; }

# Runs a command with administrator rights.
as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"
	elif command -v sudo >/dev/null; then sudo "$@"
	else die "administrator rights are needed for '$1': run as root or install sudo"
	fi
}

# PostgreSQL's servers refuse to run as root: root runs them as the user postgres.
server_user() { if [ "$(id -u)" = 0 ]; then echo postgres; else id -un; fi; }
as_server() {
	if [ "$(id -u)" = 0 ]; then (cd / && runuser -u postgres -- "$@"); else "$@"; fi
}

all_found() {
	local program
	for program in "$@"; do command -v "$program" >/dev/null || return 1; done
}

# True when everything that building and testing needs is there.
have_everything() {
	all_found gcc make perl ps || return 1
	[ -n "$PG_CONFIG" ] && [ -x "$PG_CONFIG" ] || return 1
	[ -f "$("$PG_CONFIG" --pgxs)" ] && [ -f "$("$PG_CONFIG" --includedir-server)/postgres.h" ] &&
		[ -x "$("$PG_CONFIG" --bindir)/initdb" ] && [ -x "$("$PG_CONFIG" --bindir)/pgbench" ] &&
		[ -f "$("$PG_CONFIG" --includedir)/libpq-fe.h" ] || return 1
	# A server built with GSSAPI needs its headers for extensions too.
	! "$PG_CONFIG" --configure | grep -q with-gssapi || [ -f /usr/include/gssapi/gssapi.h ] || return 1
	perl -MIPC::Run -e 1 2>/dev/null
}

find_postgres() {
	PG_CONFIG=${PG_CONFIG:-}
	if [ -n "$PG_CONFIG" ]; then
		PG_CONFIG=$(command -v "$PG_CONFIG") || die "PG_CONFIG names no program"
	elif [ -x /usr/lib/postgresql/15/bin/pg_config ]; then
		PG_CONFIG=/usr/lib/postgresql/15/bin/pg_config
	fi
	if ! have_everything; then install_packages; fi
	if ! may_install; then PG_CONFIG=$(own_postgres); fi
	BIN=$("$PG_CONFIG" --bindir)
	export PG_CONFIG BIN
}

may_install() {
	[ "$(id -u)" = 0 ] || command -v sudo >/dev/null ||
		{ [ -w "$("$PG_CONFIG" --pkglibdir)" ] && [ -w "$("$PG_CONFIG" --sharedir)/extension" ]; }
}

# Prints the pg_config of a copy of PostgreSQL that this user may install into. Its programs find what belongs to
# them by where they are themselves.
own_postgres() {
	local kind dir version own=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/pando/server
	own=$own$("$PG_CONFIG" --bindir | tr / -)
	version=$("$PG_CONFIG" --version)
	if [ "$(cat "$own/version" 2>/dev/null)" != "$version" ]; then
		step "Copying PostgreSQL to $own, since it can't be installed into where it is" >&2
		rm -rf "$own"
		for kind in bindir pkglibdir sharedir; do
			dir=$("$PG_CONFIG" --$kind)
			mkdir -p "$own$(dirname "$dir")" && cp -a "$dir" "$own$dir" || die "cannot copy $dir to $own"
		done
		for kind in includedir includedir-server libdir; do
			dir=$("$PG_CONFIG" --$kind)
			[ -e "$own$dir" ] || { mkdir -p "$own$(dirname "$dir")" && ln -s "$dir" "$own$dir"; }
		done
		echo "$version" > "$own/version"
	fi
	echo "$own$("$PG_CONFIG" --bindir)/pg_config"
}

install_packages() {
	if ! command -v apt-get >/dev/null; then
		die "this system has no apt-get: install PostgreSQL 15 with its headers, gcc, make and Perl's IPC::Run, then set PG_CONFIG"
	fi
	local packages="gcc make libc6-dev libkrb5-dev perl libipc-run-perl procps"
	if [ -z "$PG_CONFIG" ] || [ "$PG_CONFIG" = /usr/lib/postgresql/15/bin/pg_config ]; then
		packages="$packages postgresql-15 postgresql-server-dev-15 libpq-dev"
	fi
	apt_install $packages ||
		die "the packages could not be installed: where this system's release has no postgresql-15, install it from PostgreSQL's own repository or set PG_CONFIG"
	PG_CONFIG=${PG_CONFIG:-/usr/lib/postgresql/15/bin/pg_config}
	have_everything || die "PostgreSQL at $PG_CONFIG lacks its server, headers or pgxs"
}

apt_install() {
	step "Installing packages: $*"
	as_root apt-get update -qq &&
		as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# Python with venv, for what compares and measures.
find_python() {
	all_found python3 && python3 -c 'import ensurepip' 2>/dev/null ||
		apt_install python3 python3-venv || die "python3 and python3-venv could not be installed"
}

# Builds the extension in the directory $1 (a copy of the sources or the repository itself).
build() {
	local log=$1/build.log
	if ! make -s -C "$1" -j"$(nproc)" PG_CONFIG="$PG_CONFIG" ${2:+PANDO_CPPFLAGS="$2"} \
		>"$log" 2>&1; then
		tail -30 "$log" >&2
		die "the build failed, see $log"
	fi
}

# Builds and installs what the sources say, in a build directory of this user, so that a
# read-only or foreign checkout works as well; one for each PostgreSQL. One command at a time.
build_and_install() {
	step "Building the extension"
	BUILD_DIR=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/pando/build$(tr / - <<<"$BIN")
	mkdir -p "$BUILD_DIR" || die "cannot create $BUILD_DIR"
	exec 9>"$BUILD_DIR.lock"
	flock 9
	copy_sources "$BUILD_DIR"
	build "$BUILD_DIR"
	install_if_new
	exec 9>&-
}

install_if_new() {
	local make_install="make -s -C $BUILD_DIR PG_CONFIG=$PG_CONFIG install"
	local lib
	lib=$("$PG_CONFIG" --pkglibdir)
	if cmp -s "$BUILD_DIR/pando.so" "$lib/pando.so" &&
		cmp -s "$BUILD_DIR"/pando--1.1.sql "$("$PG_CONFIG" --sharedir)/extension/pando--1.1.sql" &&
		cmp -s "$BUILD_DIR"/pando.control "$("$PG_CONFIG" --sharedir)/extension/pando.control"; then
		return
	fi
	step "Installing the extension into $lib"
	if [ -w "$lib" ] && [ -w "$("$PG_CONFIG" --sharedir)/extension" ]; then
		$make_install >/dev/null
	else
		as_root $make_install >/dev/null
	fi || die "the extension could not be installed into $lib"
}

# Copies the sources to $1, keeping what was built there before.
copy_sources() {
	(cd "$ROOT" && tar cf - Makefile pando.control exports.map hot.map tools sql src) |
		(cd "$1" && rm -rf sql src.new && mkdir src.new &&
			tar xf - --exclude='*.o' --exclude='*.d' --transform='s;^src/;src.new/;' &&
			sync_tree src.new src && rm -rf src.new)
}

# Makes $2 equal to $1 but for object files; files that did not change keep their times.
sync_tree() {
	(cd "$1" && find . -type f) | while read -r file; do
		if ! cmp -s "$1/$file" "$2/$file"; then
			mkdir -p "$(dirname "$2/$file")" && cp "$1/$file" "$2/$file"
		fi
	done
	(cd "$2" && find . -name '*.c' -o -name '*.h') | while read -r file; do
		[ -e "$1/$file" ] || rm -f "$2/$file" "$2/${file%.c}.o" "$2/${file%.c}.d"
	done
	return 0
}

# Is a TCP port of the loopback interface in use?
port_in_use() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# A port to begin the search with: of two commands at once each has its own. Below the range
# that the system takes the ports of outgoing connections from.
any_port() { echo $((20000 + RANDOM % 12000)); }

# First of $1 free ports in a row, from $2 on.
free_ports() {
	local base=$2 i
	while :; do
		for ((i = 0; i < $1; i++)); do
			if port_in_use $((base + i)); then base=$((base + i + 1)); continue 2; fi
		done
		echo "$base"
		return
	done
}

# ---------------------------------------------------------------------------------------
# One server: a data directory $1, which starts on port $2.

# Creates the data directory; further arguments are lines for postgresql.conf.
server_init() {
	local data=$1 port=$2
	shift 2
	as_server "$BIN/initdb" -D "$data" -U postgres -A trust --encoding=UTF8 --locale=C.UTF-8 \
		--no-sync >/dev/null || die "initdb failed for $data"
	{
		echo "port = $port"
		echo "listen_addresses = '127.0.0.1'"
		echo "unix_socket_directories = ''"
		echo "shared_preload_libraries = 'pando'"
		echo "max_prepared_transactions = 200"
		echo "max_connections = 200"
		echo "wal_level = logical"
		printf '%s\n' "$@"
	} | as_server tee -a "$data/postgresql.conf" >/dev/null
}

# A postmaster that died and was not reaped by its parent (containers without an init) is
# not running, though its process id is still taken.
server_running() {
	local pid state
	pid=$(as_server head -1 "$1/postmaster.pid" 2>/dev/null) || return 1
	state=$(ps -o stat= -p "$pid") || return 1
	case $state in Z*) return 1 ;; esac
	as_server "$BIN/pg_ctl" -D "$1" status >/dev/null 2>&1
}

server_start() {
	server_running "$1" || as_server rm -f "$1/postmaster.pid"
	as_server "$BIN/pg_ctl" -D "$1" -l "$1/server.log" -w -t 120 start >/dev/null || {
		as_server tail -5 "$1/server.log" >&2
		die "the server in $1 did not start"
	}
}

server_stop() { as_server "$BIN/pg_ctl" -D "$1" -m "${2:-fast}" -w -t 60 stop >/dev/null; }

# Ends all servers whose data are below the directory $1.
end_servers() {
	local file
	while read -r file; do
		server_stop "$(dirname "$file")" immediate || true
	done < <(find "$1" -name postmaster.pid 2>/dev/null)
}

# The processes that $1 has started, and those that they have. Servers are not among them.
descendants() {
	local pid
	for pid in $(ps -o pid= --ppid "$1"); do
		echo "$pid"
		descendants "$pid"
	done
}

# at_exit COMMAND: runs it to its end however this shell ends. SIGINT ends the shell even when the
# program in the foreground takes the signal itself and ends well, as psql does.
at_exit() {
	# shellcheck disable=SC2064
	trap "trap '' HUP INT TERM; $1" EXIT
	trap 'exit 130' INT
}

# Ends what this shell has started and not waited for: for at_exit.
end_children() {
	local pids
	pids=$(descendants $$)
	[ -n "$pids" ] || return 0
	kill $pids 2>/dev/null || true
	kill -CONT $pids 2>/dev/null || true # those that are stopped get no other signal before
}

# psql on port $1 without reading the user's own settings; stops at the first error.
sql() {
	local port=$1
	shift
	PGOPTIONS='' "$BIN/psql" -X -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$port" -U postgres "$@"
}
