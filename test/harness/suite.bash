# What a suite needs: a fresh database for a file, and a place to report counts to. Sourced by test/harness/suite/*,
# each of which is called with the name of one test, or with an empty name for all.

# tally PASSED FAILED
tally() {
    echo "$1 $2" >>"$TALLY"
}

# files PATTERN NAME   the files that match PATTERN (with one *), or the one that has NAME in place of the *
files() {
    local file found=
    for file in ${1//\*/${2:-*}}; do
        [ ! -e "$file" ] || { echo "$file"; found=yes; }
    done
    [ -n "$found" ] || { echo "nothing matches ${1//\*/${2:-*}}" >&2; return 1; }
}

# make_template NAME FROM FILE...   makes the database NAME by these scripts from FROM, unless it is there
make_template() {
    local name=$1 from=$2 file
    shift 2
    [ -z "$(psql -qXAt -d postgres -c "SELECT 1 FROM pg_database WHERE datname = '$name'")" ] || return 0
    createdb -T "$from" "$name"
    for file in "$@"; do psql -qX -v ON_ERROR_STOP=1 -d "$name" -f "$file" >/dev/null; done
}

# with_database NAME COMMAND...   runs the command on a fresh database that has the extension and pgTAP, or on a copy
# of the database TEMPLATE
with_database() {
    local name=$1 status=0
    shift
    make_template reservation_template template0 test/harness/template.sql
    createdb -T "${TEMPLATE:-reservation_template}" "$name"
    PGDATABASE=$name timeout 300 "$@" || status=$?
    dropdb --force "$name"
    return $status
}
