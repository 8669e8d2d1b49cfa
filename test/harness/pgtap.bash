# Runs pgTAP files and counts assertions. Sourced by the suites pgtap, reaped, hostile and pooled.
source test/harness/suite.bash

# prove_file SUITE NAME FILE   runs a file on a database of its own
prove_file() {
    count_assertions "$1" "$2" with_database "$1_$2" pg_prove --verbose "$3"
}

# count_assertions SUITE NAME COMMAND...   counts what the command says of one file; shows all of it if any is not
# plainly ok
count_assertions() {
    local suite=$1 name=$2 log=$WORK/$1_$2.tap status=0 good bad excused
    shift 2
    "$@" >"$log" 2>&1 || status=$?
    good=$(grep -cE '^ok [0-9]+' "$log" || true)
    # Neither a skip nor a failure that is called to-do is a pass.
    excused=$(grep -ciE '^ok [0-9]+.*# *(skip|todo)' "$log" || true)
    bad=$(($(grep -cE '^not ok [0-9]+' "$log" || true) + excused))
    good=$((good - excused))
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
        bad=1 # died, or ran another number of tests than it planned
    fi
    if [ "$bad" -gt 0 ]; then
        cat "$log"
    fi
    printf '%-40s %d of %d\n' "$suite/$name" "$good" $((good + bad))
    tally "$good" "$bad"
}
