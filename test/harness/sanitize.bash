# What SANITIZE asks for, sourced by server.bash:
#   address   the extension with AddressSanitizer and UndefinedBehaviorSanitizer, the server as it is; a finding
#             aborts the process, which the suites see as a crash
#   valgrind  the server under memcheck; a finding whose innermost frames are ours fails the suites
#
# The server's program is replaced by a script, so that whoever starts a server of this copy starts it so.

case $SANITIZE in
address)
    build_options=("CXX=g++ -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
        "CXXFLAGS=-O1 -g -fno-strict-aliasing -fwrapv -fPIC -U_FORTIFY_SOURCE")
    ;;
valgrind)
    build_options=("CXXFLAGS=-O1 -g -fno-strict-aliasing -fwrapv -fPIC")
    ;;
*)
    echo "SANITIZE is address or valgrind" >&2
    exit 2
    ;;
esac

# server_wrap   puts the script in the place of the server's program
server_wrap() {
    local bin prefix libasan
    bin=$("$PG_CONFIG" --bindir)
    mv "$bin/postgres" "$bin/postgres.watched"
    mkdir "$WORK/findings"
    if [ "$SANITIZE" = address ]; then
        libasan=$(ldd reservation.so | awk '/libasan/ { print $3 }')
        gcc -shared -fPIC -Wl,-z,initfirst test/harness/early.c -o "$WORK/early.so"
        prefix="env LD_PRELOAD='$libasan $WORK/early.so' ASAN_OPTIONS=detect_leaks=0:abort_on_error=1"
        prefix+=" UBSAN_OPTIONS=abort_on_error=1:print_stacktrace=1"
    else
        prefix="valgrind --quiet --leak-check=no --num-callers=20 --log-file=$WORK/findings/%p"
    fi
    cat >"$bin/postgres" <<SCRIPT
#!/bin/sh
case " \$* " in
*" --boot "* | *" --check "* | *" --single "* | *" -V "* | *" --version "* | *" -C "*) exec "$bin/postgres.watched" "\$@" ;;
esac
exec $prefix "$bin/postgres.watched" "\$@"
SCRIPT
    chmod +x "$bin/postgres"
}

# server_findings   prints what was found in our code; fails if there is anything
server_findings() {
    # A finding is a paragraph: one line that says what, then the frames, the innermost first. The server's own are
    # not ours to mend: it writes padding that nobody initialized.
    if awk -v RS='\n==[0-9]+== *\n' '{
        split($0, line, "\n")
        for (i = 2; i <= 4; i++) if (line[i] ~ /reservation(_|::)/) { print; found = 1; break }
    } END { exit !found }' "$WORK"/findings/* 2>/dev/null; then
        return 1
    fi
}
