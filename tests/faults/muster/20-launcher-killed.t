#!/bin/sh
# Row 20: SIGKILL to muster itself. Each node sees its connection end: TERM, grace, KILL.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

rank_does <<'END'
trap 'echo >>"$PWD/told"' TERM
[ "$RANK" != 0 ] || trap '' TERM
while :; do sleep 60 & wait; done
END
told() {
    lines told 3
}
# try WHAT ARGUMENTS...: two seconds of grace.
try() {
    what=$1
    shift
    rm -f told
    control 4 "$@" ./rank
    : >told
    faulty_start 4 --grace 2 "$@" ./rank
    since=$(now_ms)
    kill -KILL "$pid"
    ok "$what: the ranks got TERM within 2 s" wait_for 2 told
    ok "$what: everything ended" wait_for 30 nothing_left
    now_ms >ended_ms
    within "$what: ... with the grace," 4.5 "$since"
    ok "$what: ... which it had" test "$took" -ge 1900
    ok "$what: nothing else is left" clean
}
try "on this machine" -H node1:2,node2:2
if [ -n "$world" ] && need_sshd >/dev/null; then
    world_nodes 2
    # The nodes wait for two logins, which may be slow on a busy machine.
    try "over SSH" --reconnect 1
else
    skip "over SSH" "needs root and sshd"
fi
finish
