#!/bin/sh
# A link that is down for a while, and a TCP connection that is reset: the run continues.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/reconnect/reconnect.sh"

own_namespaces
use_netns 2

ticks_until_go

# passes SECONDS: so long after $since.
passes() {
    wait_for 60 has_passed $((since + $1 * 1000))
}
has_passed() {
    [ "$(now_ms)" -ge "$1" ]
}
begin() {
    rm -f go
    start muster exec --label none -H node2 "$@" -- "$PWD/ticks"
    wait_for 20 has_grown 100
    since=$(now_ms)
}
ends_well() {
    : >go
    finish_run 40
    is "$1: 0" "$rc" 0
    ok "... and the output is complete" output_is_complete
    ok "... and nothing is left" wait_for 5 nothing_left
}
# More comes than was on its way.
still_heard() {
    size=$(stat -c %s out)
    wait_for 30 has_grown $((size + 100))
}

begin
ip link set port2 down
passes 3
ip link set port2 up
ok "3 s without a link: it is heard again" still_heard
ends_well "... and the run"
is "... without a word of muster's, but that" \
    "$(grep -cv -e 'suspect: nothing heard' -e 'heard again' -e reconnect err)" 0

begin --heartbeat 0.5 --dead-after 15
ip link set port2 down
passes 9
ip link set port2 up
ok "9 s of 15 without a link: it is heard again" still_heard
ok "... before the lease had run out" test $(($(now_ms) - since)) -lt 14500
ok "... and was suspect meanwhile" wait_for 20 grep -q 'node2: suspect: nothing heard' err
ends_well "... and the run"

begin --reconnect 20 --dead-after 30
if ss -K dst 10.99.0.3 dport = 22 2>/dev/null | grep -q ESTAB; then
    ok "a reset connection is made again" wait_for 20 grep -q 'node2: reconnected after' err
    ends_well "... and the run"
else
    skip "a reset connection is made again" "this kernel cannot reset one from outside"
    ends_well "a run that was left alone"
fi
finish
