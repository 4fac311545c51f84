#!/bin/sh
# Row 40: a line of 1 Mbit/s and a node with far more to say. Heartbeats overtake the output: nobody
# is declared dead. With per-rank files the ranks do not wait for the line either.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_nodes 2
rank_does <<'END'
[ "$RANK" != 2 ] || head -c 20000000 /dev/zero | tr '\0' x | fold -w 99
: >"wrote-$RANK"
while [ ! -e go ]; do sleep 0.2; done
END
rm -f go
control 4 ./rank
on_node node2 tc qdisc add dev eth0 root tbf rate 1mbit burst 16kb latency 400ms 2>/dev/null ||
    skip_all "no tbf in this kernel"
rm -f wrote-*
faulty_start 4 --heartbeat "$(stretched 0.5)" --dead-after "$(stretched 3)" --log-dir "$PWD/logs" ./rank
ok "the ranks do not wait for the line" wait_for 20 test -e wrote-2
# Twice the lease with a full line.
time_passes "$(stretched 6)"
ok "nobody is dead after twice the lease" not is_gone "$pid"
says_not 'suspect|lost'
on_node node2 tc qdisc del dev eth0 root
: >go
finish_run 60
ended 0
is "the file has every byte" "$(cat logs/*rank2.log | tr -d '\n' | wc -c)" 20000000
finish
