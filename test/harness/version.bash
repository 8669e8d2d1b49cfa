# Which PostgreSQL to use, and how to act as root. Sourced.

# The major version: that of PG_CONFIG, else the newest that Debian's packages have installed.
server_version() {
    local found
    if [ -n "${PG_CONFIG:-}" ]; then
        "$PG_CONFIG" --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/'
        return
    fi
    found=$(find /usr/lib/postgresql -mindepth 3 -maxdepth 3 -name initdb 2>/dev/null | cut -d/ -f5 | sort -n | tail -n 1)
    [ -n "$found" ] && echo "$found"
}

# The pg_config of the installed server.
installed_config() {
    if [ -n "${PG_CONFIG:-}" ]; then
        command -v "$PG_CONFIG"
    else
        echo "/usr/lib/postgresql/$(server_version)/bin/pg_config"
    fi
}

# The major version that this Debian release offers.
offered_version() {
    apt-cache show postgresql | sed -nE 's/^Depends:.*\bpostgresql-([0-9]+).*/\1/p' | sort -n | tail -n 1
}

# as_root WHY COMMAND...
as_root() {
    local why=$1
    shift
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "Neither root nor sudo here to $why" >&2
        return 1
    fi
}
