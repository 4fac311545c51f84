#!/bin/sh
# Row 59: /dev/shm of a node is full of what crashed programs have left. muster says before the
# start how much room there is, and whose files those are; muster clean removes one's own.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

need world
rank_does <<'END'
exit 0
END
control 4 -H node1:2,node2:2 ./rank
mount -t tmpfs -o size=1m tmpfs /dev/shm
head -c 200000 /dev/zero >/dev/shm/nccl-stale
head -c 100000 /dev/zero >/dev/shm/torch_1_2
echo x >/dev/shm/mine
sleep 1000 9>/dev/shm/nccl-held &
holder=$!
test_pids="$test_pids $holder"

faulty -H node1:4 ./rank
within "muster returns" 3 "$began"
is "a warning is no error: 0" "$rc" 0
ok "... all ranks ran" all_ran 4
says "warning: node1: /dev/shm has only 1 MiB free" \
    "node1: 2 stale files \(0 MiB\) left by crashed programs, for example by root" \
    "muster clean --kill removes yours"
faulty -H node1:1 ./rank
is "one rank alone shares no memory" "$rc $(cat err)" "0 "

run muster clean --kill -H node1:1
is "muster clean --kill: 0" "$rc" 0
ok "... removes what nobody uses" not ls /dev/shm/nccl-stale /dev/shm/torch_1_2 2>/dev/null
ok "... and nothing else" test -e /dev/shm/nccl-held -a -e /dev/shm/mine
faulty -H node1:4 ./rank
says_not "crashed programs"
kill "$holder"
wait "$holder" 2>/dev/null
umount /dev/shm
ended 0
finish
