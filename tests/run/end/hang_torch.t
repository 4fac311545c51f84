#!/bin/sh
# PyTorch (Gloo) over 2 nodes, in which one rank makes the others wait for ever: it is named, and the
# ranks start again. They use CPU time and print heartbeats while they wait.
#
# In the wide tier: 16 ranks, and each way to wait.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need torch
export PYTHONDONTWRITEBYTECODE=1
run_limit=240
ranks=4 ways=skips
[ "${MUSTER_TEST_WIDE:-}" != yes ] || ranks=16 ways="skips stops reads deadlock"

cat >hangs.py <<'END'
import os, signal, sys, threading, time
import torch
import torch.distributed as dist

way = sys.argv[-1]
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
groups = [dist.new_group(list(range(world))) for _ in range(2)]
is_hanging = os.environ["MUSTER_GENERATION"] == "0"

def heartbeat():
    while True:
        print("heartbeat", flush=True)
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            pass

threading.Thread(target=heartbeat, daemon=True).start()
for step in range(1, 9):
    if rank == 2 and step == 6 and is_hanging:
        if way == "skips":
            dist.all_reduce(torch.ones(4), group=groups[0])  # one less than the others
            dist.barrier(group=groups[1])
        elif way == "stops":
            os.kill(os.getpid(), signal.SIGSTOP)
        elif way == "reads":
            os.read(os.pipe()[0], 1)
    order = (0, 1) if rank % 2 == 0 or not (way == "deadlock" and step == 6 and is_hanging) else (1, 0)
    for group in order:
        total = torch.ones(4)
        dist.all_reduce(total, group=groups[group])
        assert total[0] == world
    print(f"iter {step}: loss {1 / step:.4f}, time 20ms", flush=True)
END

half=$((ranks / 2))
for way in $ways; do
    # Reports by all ranks of step 5 and no other; longer than four ranks need to import torch.
    run muster --hang-timeout 10 --heartbeat 0.5 --grace 1 --max-restarts 1 -H node1:$half,node2:$half \
        --env OMP_NUM_THREADS=1 --env USE_LIBUV=0 --env TMPDIR="$PWD" hangs.py $way
    is "$way: the ranks start again, and end well: 0" "$rc" 0
    ok "... because no step came" grep -q '^muster: .*hang: no step from any rank for 10 s (--hang-timeout)' err
    ok "... after step 5" grep -Eq '^muster: last step: 5, of rank [0-9]+ [0-9]+ s ago \(found by: nanoGPT\)' err
    stacks=$(sed -n 's/^muster: all stacks are in //p' err)
    ok "... and where the ranks are, was kept" grep -Eq '^ranks? [0-9,-]+ on node' "$stacks"
done
ok "nothing is left" no_leftovers
finish
