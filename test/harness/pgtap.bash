# Runs pgTAP files, each on a database of its own, and counts assertions. Sourced by the suites pgtap and reaped.
source test/harness/suite.bash

# prove_file SUITE NAME FILE   counts the assertions of one file; shows the whole run if any is not plainly ok
prove_file() {
    local suite=$1 name=$2 file=$3 log=$WORK/$1_$2.tap status=0 good bad excused
    with_database "${suite}_$name" pg_prove --verbose "$file" >"$log" 2>&1 || status=$?
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
