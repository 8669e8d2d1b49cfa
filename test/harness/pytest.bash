# Runs pytest files and counts their tests. Sourced by the suites sessions and environment.
source test/harness/suite.bash
export PYTHONDONTWRITEBYTECODE=1
file_name=${1%%::*} one_case=${1#"${1%%::*}"} # FILE::CASE is one case

# pytest_file FILE COMMAND...   runs pytest on a file below COMMAND, which may provide a database for it
pytest_file() {
    local file=$1 name report bad
    shift
    name=$(basename "$file" .py)
    report=$PGHOST/$name.xml # the directory of this suite alone
    "$@" /usr/bin/python3 -m pytest -q -p no:cacheprovider --tb=short "--junitxml=$report" "$file$one_case" || true
    attribute() { sed -nE "s/.*<testsuite [^>]*\b$1=\"([0-9]+)\".*/\1/p" "$report"; }
    if [ -s "$report" ]; then
        bad=$(($(attribute failures) + $(attribute errors) + $(attribute skipped)))
        tally $(($(attribute tests) - bad)) "$bad"
    else
        echo "$file did not finish"
        tally 0 1
    fi
}
