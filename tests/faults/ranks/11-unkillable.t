#!/bin/sh
# Row 11: a rank that SIGKILL cannot end, since it waits in the kernel for a file system that
# hangs. It is reported with its pid and what it waits in, and muster does not wait.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

can_freeze

rank_does <<'END'
[ "$RANK" != 1 ] || while [ ! -e freeze ]; do sleep 0.2; done
[ "$RANK" != 1 ] || exec dd if=/dev/zero of=frozen/x bs=4k count=1
exec sleep 1000
END
rm -f freeze
control 2 -H node1:1,node2:1 ./rank
faulty_start 2 -H node1:1,node2:1 ./rank
fsfreeze -f frozen
: >freeze
in_kernel() {
    grep -qs '^State:.D' "/proc/$(pgrep -x dd)/status"
}
ok "rank 1 waits in the kernel" wait_for 10 in_kernel
stuck=$(pgrep -x dd)
since=$(now_ms)
kill -INT "$pid"
wait_for 10 grep -q repeat err
kill -INT "$pid"
finish_within "muster returns" 13 
is "exit status 130" "$rc" 130
says "node2: pid $stuck \(dd\) survives SIGKILL, waiting in [a-z_0-9]+"
ok "... and not before 10 s" test "$took" -ge 9900
run muster -H node1:1 true
ok "the next run there is told of it" grep -Eq "1 process of an earlier run is still running, for example pid $stuck " err
fsfreeze -u frozen
ok "once it can, it ends: nothing is left" clean_within 10
run muster -H node1:1 true
is "... and the next run has nothing to say" "$rc $(cat err)" "0 "
umount frozen
finish
