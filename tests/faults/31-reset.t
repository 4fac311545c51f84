#!/bin/sh
# Row 31: the TCP connection to a node is reset. Whatever becomes of the run, it is known at once,
# nothing is left, and an end is not called a success.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/faults/lib.sh"

world_nodes 2
rank_does <<'END'
while [ ! -e go ]; do sleep 0.05; done
END
rm -f go
control 4 ./rank
faulty_start 4 --grace 1 --heartbeat 0.5 --dead-after 3 ./rank
since=$(now_ms)
ss -K dst "$(node_address 2)" dport = 22 >killed 2>&1
if ! grep -q ESTAB killed; then
    skip "the rest" "this kernel cannot reset a connection from outside"
    : >go
    finish_run 20
    finish
fi
is_decided() {
    is_gone "$pid" || grep -Eq 'node2.*(again|reconnected|resumed|lost)' err
}
ok "muster knows within 2 s" wait_for 2 is_decided
: >go
finish_run 20
ok "0 when the node was found again, else 69" \
    sh -c "[ $rc = 69 ] || { [ $rc = 0 ] && grep -q node2 err; }"
says node2
ok "nothing is left" clean_within 10
finish
