#!/bin/sh
# Row 31: the TCP connection to a node is reset. muster knows at once, makes another one, and the run
# continues.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_control 2 wait
faulty_start 4 --grace 1 --reconnect 10 ./rank
ss -K dst "$(node_address 2)" dport = 22 >killed 2>&1
if ! grep -q ESTAB killed; then
    skip "the rest" "this kernel cannot reset a connection from outside"
    : >go
    finish_run 20
    finish
fi
ok "muster knows within 1 s" wait_for 1 grep -q 'node2: connection lost' err
ok "it has found its node again within 10 s" wait_for 10 grep -q 'node2: reconnected' err
: >go
finish_run 20
ended 0
finish
