#!/bin/sh
# A whole run with a failure, launcher and agents under valgrind: no invalid access, nothing
# uninitialised used, no memory lost. The agent is the one that is linked for tests, since
# valgrind cannot take over the allocator of a static program.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"

need_valgrind() {
    command -v valgrind >/dev/null || { echo "valgrind is missing (Debian: valgrind)"; return 1; }
}

need valgrind
[ -e "$top_builddir/tests/stress/inject/muster-agent" ] || skip_all "built with a sanitizer instead"
run_limit=120

# under_valgrind WORDS...: behind muster's name; reports are valgrind.PID, of ranks there are none.
under_valgrind() {
    rm -f valgrind.*
    run valgrind -q --trace-children=yes --trace-children-skip='*/sh,*/dash,*/sleep,*/bash' \
        --vgdb=no --leak-check=full --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect \
        --log-file=valgrind.%p \
        "$top_builddir/launcher/muster" "$@"
}
MUSTER_AGENT=$top_builddir/tests/stress/inject/muster-agent
MUSTER_HEARTBEAT=5 MUSTER_DEAD_AFTER=60 MUSTER_CONNECT_TIMEOUT=60 MUSTER_HOSTS=node1:2,node2:2
export MUSTER_AGENT MUSTER_HEARTBEAT MUSTER_DEAD_AFTER MUSTER_CONNECT_TIMEOUT MUSTER_HOSTS
# Machines of their own, with PID namespaces: what ends the ranks otherwise is pidfd_open, which
# valgrind 3.19 does not know.
MUSTER_TEST_BOOT_ID=/proc/sys/kernel/random/uuid
export MUSTER_TEST_BOOT_ID

nothing_found() {
    for report in valgrind.*; do
        [ ! -s "$report" ] || { sed 's/^/# /' "$report"; return 1; }
    done
}

# Launcher, two agents and two guards each write one, be it empty.
all_watched() {
    [ "$(ls valgrind.* | wc -l)" -ge 5 ]
}

under_valgrind -- sh -c 'echo out; echo err >&2; test $RANK != 2 || exit 3; exec sleep 60'
is "a rank exits 3" "$rc" 3
ok "launcher, agents and guards were watched" all_watched
ok "... and nothing was found" nothing_found

under_valgrind --log_dir logs --timestamps -- sh -c 'seq 20000; echo done >&2'
is "all well" "$rc" 0
ok "... and nothing was found" nothing_found

under_valgrind -- ./nothing-here
is "a start that fails" "$rc" 127
ok "... and nothing was found" nothing_found

mkdir -p tree/deep to/tree/file
head -c 300000 /dev/urandom >tree/deep/data
ln -s deep/data tree/link
echo new >tree/file
MUSTER_TEST_OPENAT=walk # valgrind does not know openat2
export MUSTER_TEST_OPENAT
under_valgrind bcast tree --to to
is "bcast, and one file is refused" "$rc" 73
ok "... and nothing was found" nothing_found
ok "nothing is left" no_leftovers
finish
