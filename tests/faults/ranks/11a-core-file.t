#!/bin/sh
# Beside row 11: a process that is writing its core file survives SIGKILL as well, but will end.
# It is waited for, longer than for one that is stuck.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

case $(cat /proc/sys/kernel/core_pattern) in
[\|/]*) skip_all "core files do not go into the working directory here" ;;
esac
can_freeze

# Rank 0 fails once rank 1 dumps. Its many groups make for a long /proc/PID/status.
rank_does <<'END'
[ "$RANK" != 0 ] || while [ ! -e fail ]; do sleep 0.2; done
[ "$RANK" != 0 ] || exit 3
while [ ! -e freeze ]; do sleep 0.2; done
ulimit -c unlimited
cd frozen && exec setpriv --groups "$(seq -s, 100001 101000)" sh -c 'kill -ABRT $$'
END
rm -f freeze fail
control 2 -H node1:1,node2:1 ./rank
faulty_start 2 --grace 1 -H node1:1,node2:1 ./rank
fsfreeze -f frozen
: >freeze
dumps() {
    dumping=$(grep -ls '^CoreDumping:.1' /proc/[0-9]*/status)
}
ok "rank 1 writes its core file" wait_for 10 dumps
: >fail
ok "muster says that it waits" wait_for 20 grep -q 'node2: waiting for the core files of 1 process' err
# Without that word it would have given node2 up 15 s after the grace.
time_passes 6
ok "... and waits" not is_gone "$pid"
fsfreeze -u frozen
since=$(now_ms)
finish_within "once the file is written muster returns" 3
ended 3
says 'rank 0 on node1 failed first: exit 3'
umount frozen
finish
