#!/bin/sh
# One rank waits for storage that no longer answers, in the kernel, where no signal reaches it; the
# others wait for it at full speed. It is named, and does not hold up muster.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

own_namespaces
unset MUSTER_HOSTFILE MUSTER_SSH_CONFIG
export MUSTER_TRANSPORT=exec
[ -w /dev/fuse ] || skip_all "needs /dev/fuse"
mkdir data
python3 "$here/end/dead_storage.py" "$PWD/data" "$PWD/stop" >mounted 2>&1 &
server=$!
test_pids="$test_pids $server"
wait_for 20 test -s mounted
grep -qx mounted mounted || skip_all "a file system cannot be mounted here: $(cat mounted)"

cat >reads.py <<'END'
import os, time

rank = int(os.environ["RANK"])
for step in range(1, 6):
    print(f"iter {step}: loss 1.0, time 20ms", flush=True)
if rank == 2:
    open("stop", "w").close()
    os.stat("data/batch-6")
while True:
    print("heartbeat", flush=True)
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        pass
END

start muster --hang-timeout 3 --heartbeat 0.2 --dead-after 30 --grace 1 -H node1:2,node2:2 reads.py
ok "the run hangs, and is seen to" wait_for 60 grep -q 'hang: no step from any rank for 3 s\|asking where they are' err
ok "... where the ranks are" wait_for 60 grep -q '^muster: all stacks are in' err
stacks=$(sed -n 's/^muster: all stacks are in //p' err)
ok "... rank 2 waits in the kernel, for that file system" \
    sh -c "sed -n '/^rank 2 on node2:/,/^rank 3/p' '$stacks' | grep -q ' in request_wait_answer$'"
ok "muster does not wait for it" wait_for 120 is_gone "$pid"
kill "$server"
wait "$server" 2>/dev/null
finish_run 30
is "... and ends as a hang" "$rc" 124
ok "... what could not be killed is named" grep -q 'could not be killed\|survive' err
umount data
ok "nothing is left" no_leftovers
finish
