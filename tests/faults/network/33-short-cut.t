#!/bin/sh
# Row 33: the link is cut for less than the lease, and heals. The run continues, with a word about
# it, and not a byte is missing: on the connection that it has, or another one if TCP waits longer
# than that takes. 2 s of 8 here, 8 of 15 by default.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_control 2 count
faulty_start 4 --heartbeat 0.5 --dead-after 8 ./rank
node_cut 2
ok "it becomes suspect" wait_for 6 grep -q 'node2: suspect' err
node_heal 2
ok "it is heard again" wait_for 10 grep -qE 'node2: (heard again|reconnected after)' err
: >go
finish_run 30
ended 0
is "nothing else was said" "$(grep -cvE 'node2: (suspect|heard again|reconnected after)' err)" 0
ok "every rank's lines are there: once, in order" all_counted 4
finish
