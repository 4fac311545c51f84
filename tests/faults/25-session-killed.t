#!/bin/sh
# Row 25: the sshd process behind a connection is killed on the node. Whatever becomes of the run,
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
# The child of node1's sshd that belongs to the connection.
session=$(pgrep -P "$(cat "$nodes_dir/node1/pid")" | head -n 1)
ok "there is a session to kill" test -n "$session"
since=$(now_ms)
for process in $(below "$session"); do
    [ "$(name_of "$process")" != sshd ] || kill -KILL "$process"
done
is_decided() {
    is_gone "$pid" || grep -Eq 'node1.*(again|reconnected|resumed)' err
}
ok "muster ends, or has found its node again, within 12 s" wait_for 12 is_decided
: >go
finish_run 20
ok "0 after it was found again, else 69" sh -c "[ $rc = 69 ] || { [ $rc = 0 ] && grep -q node1 err; }"
says node1
ok "nothing is left" clean_within 10
finish
