# Runs one half of `make installcheck` and counts. Sourced by the suites regress and isolation.
source test/harness/suite.bash

# run_installcheck HALF OTHER_HALF PATTERN NAME
run_installcheck() {
    local half=$1 other=$2 names status=0 good
    names=$(files "$3" "$4" | sed -E 's|.*/||; s|\.[^.]*$||')
    exec 4>"$WORK/pg_regress.lock"
    flock 4 # both halves write results/ and regression.diffs
    make -s "PG_CONFIG=$PG_CONFIG" "$half=$(xargs <<<"$names")" "$other=" installcheck 2>&1 |
        tee "$WORK/$half.log" || status=$?
    [ "$status" -eq 0 ] || [ ! -s regression.diffs ] || cat regression.diffs
    # "test NAME ... ok" up to 15, "ok 1 - NAME" since 16
    good=$(grep -cE '^(test .*\.\.\. ok|ok [0-9]+ )' "$WORK/$half.log" || true)
    tally "$good" $(($(wc -l <<<"$names") - good))
    return $status
}
