#!/bin/sh
# Row 15: muster has no child that carries a connection, unless ssh config asks for a proxy. If that
# one is killed, muster makes another connection, and the run continues with every byte of its
# output.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_nodes 2
ranks_count

# children: of muster, by name; zombies do not count.
children() {
    ps -o stat=,comm= --ppid "$pid" | grep -v '^Z' | sed 's/^[^ ]* *//'
}

faulty_start 4 ./rank
is "without a proxy muster has no child" "$(children)" ""
: >go
finish_run 20
ended 0

cat >>"$nodes_dir/ssh_config" <<END
Host node2
    ProxyJump node1
END
control 4 ./rank
rm -f go
faulty_start 4 --grace 1 --reconnect 10 ./rank
is "with one it has ssh" "$(children)" ssh
kill -KILL "$(pgrep -P "$pid")"
ok "muster knows within 1 s" wait_for 1 grep -q 'node2: connection lost, reconnecting' err
ok "it has found its node again within 10 s" wait_for 10 grep -q 'node2: reconnected' err
ok "every rank continues" wait_for 10 all_count_to 4 100
is "... by another ssh" "$(children)" ssh
: >go
finish_run 20
ended 0
says_not 'node1'
ok "every rank's lines are there: once, in order" all_counted 4

rm -f go
faulty_start 4 --grace 1 --reconnect 0 ./rank
since=$(now_ms)
killed_at=$(date +%s.%N)
kill -KILL "$(pgrep -P "$pid")"
finish_within "without reconnecting muster returns" 3
ended 69
says 'node2 +running +'
timed "... and knew within 1 s" json_says end.json "d['node_failures'][0]['at'] - $killed_at < slow"
finish
