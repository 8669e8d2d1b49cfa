# A private server: its own copy of the installed one, with the extension, and clusters on unix sockets. Sourced by
# what `enter` runs; the current directory is the copy of the tree, $WORK the directory around it.
#
# The copy is why no installed PostgreSQL is ever written to: a server finds its files relative to its own
# binaries, so an installation under $WORK/server is as good as one under /.
source test/harness/version.bash
build_options=()
server_wrap() { :; }
server_findings() { :; }
[ -z "${SANITIZE:-}" ] || source test/harness/sanitize.bash

# Ends all that runs below $WORK, where nobody else's processes are: servers, and tests that were under way. It waits
# until they are gone, or they would write on into what is being removed.
clean_up() {
    local turn pids signal
    trap '' HUP INT TERM
    cd /
    for turn in {1..100}; do
        pids=$(find /proc/[0-9]* -maxdepth 1 -name cwd -lname "$WORK/*" 2>/dev/null | cut -d/ -f3) || true
        [ -n "$pids" ] || break
        for signal in $([ "$turn" -lt 50 ] && echo TERM QUIT || echo KILL); do # at QUIT a server stops at once
            xargs kill -s "$signal" <<<"$pids" 2>/dev/null || true
        done
        sleep 0.1
    done
    rm -rf "$WORK"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# quietly LOG COMMAND...   shows what the command said only if it fails
quietly() {
    local log=$WORK/$1.log
    shift
    "$@" >"$log" 2>&1 && return
    cat "$log" >&2
    return 1
}

# Copies the server, builds the extension into the copy, and puts the copy first in PATH.
server_build() {
    local config option dir
    config=$(installed_config)
    for option in bindir pkglibdir sharedir includedir-server; do
        dir=$("$config" "--$option")
        mkdir -p "$WORK/server$dir"
        cp -a "$dir/." "$WORK/server$dir"
    done
    PATH=$WORK/server$("$config" --bindir):$PATH
    PG_CONFIG=$WORK/server$("$config" --bindir)/pg_config
    export PATH PG_CONFIG
    echo "Building reservation for $("$PG_CONFIG" --version)"
    quietly build make -j"$(nproc)" "PG_CONFIG=$PG_CONFIG" "${build_options[@]}" all
    quietly install make "PG_CONFIG=$PG_CONFIG" "${build_options[@]}" install
    server_wrap
}

# cluster_start NAME [SETTING...]   makes and starts the cluster NAME and makes it the one to connect to
cluster_start() {
    local name=$1 setting
    shift
    export PGHOST=$WORK/$name PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
    mkdir "$PGHOST"
    quietly "$name.initdb" initdb -D "$PGHOST/data" -U postgres -A trust -E UTF8 --no-locale --no-sync --no-instructions
    {
        echo "listen_addresses = ''"
        echo "unix_socket_directories = '$PGHOST'"
        echo "fsync = off"
        echo "jit = off"
        echo "timezone = 'UTC'"
        echo "max_prepared_transactions = 20"
        echo "log_line_prefix = '%m [%p] %q%a %d '"
        for setting in "$@"; do echo "$setting"; done
    } >>"$PGHOST/data/postgresql.conf"
    quietly "$name.start" pg_ctl start -s -w -D "$PGHOST/data" -l "$PGHOST/log"
}

# cluster_remove NAME
cluster_remove() {
    pg_ctl stop -s -w -m immediate -D "$WORK/$1/data" || true # a suite may have ended it
    rm -rf "${WORK:?}/$1"
}
