#!/bin/sh
# An hour of training (PyTorch, Gloo) with all the pauses that trainings have, then a real stop:
# --hang-timeout=auto sees the stop, and takes no pause for one.
#
# The pauses: a first step that compiles for 90 s, an evaluation of 40 s every five minutes, two
# checkpoints of 60 s, and once data that is 20 s late.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$top_srcdir/tests/run/end/on_event.sh"

need torch
export PYTHONDONTWRITEBYTECODE=1
hour_s=3600
run_limit=$((hour_s + 900))

cat >hour.py <<'END'
import os, sys, time
import torch
import torch.distributed as dist

hour_s = float(sys.argv[-1])
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
begin = time.monotonic()
model = torch.nn.Linear(256, 256)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
pauses = [(at, 40) for at in range(300, int(hour_s), 300)]  # evaluations
pauses += [(1000, 60), (2200, 60)]  # checkpoints
pauses = sorted(pause for pause in pauses if pause[0] < hour_s - 120)
late_data_s = min(1500, hour_s / 2)
step = 0
time.sleep(90)  # compiles
while True:
    at = torch.tensor([time.monotonic() - begin])
    dist.broadcast(at, 0)  # all ranks pause at the same step
    if at[0] > late_data_s and late_data_s > 0:
        late_data_s = 0
        if rank == 1:
            time.sleep(20)
    if pauses and at[0] > pauses[0][0]:
        time.sleep(pauses.pop(0)[1])
    loss = (model(torch.randn(32, 256)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= world
    optimizer.step()
    step += 1
    if rank == 0:
        print(f"iter {step}: loss {loss.item():.4f}, time 500.00ms", flush=True)
    if at[0] > hour_s and rank == 2:
        print("rank 2 stops", flush=True)
        while True:
            os.getppid()  # as NCCL waits: at full speed
    time.sleep(0.5)
END

run muster --hang-timeout auto --on-event ./keep -H node1:2,node2:2 --env OMP_NUM_THREADS=1 \
    --env USE_LIBUV=0 --env TMPDIR="$PWD" hour.py $hour_s
is "a run that stops after an hour ends as a hang: 124" "$rc" 124
is "... no pause was taken for a hang" "$(events 'names.count("hang")')" 1
ok "... but the stop was" grep -q 'rank 2 stops' out
ok "... because no step came" grep -q '^muster: .*hang: no step from any rank for 300 s' err
last=$(sed -n 's/.*iter \([0-9]*\): loss.*/\1/p' out | tail -1)
ok "... after step $last" grep -q "^muster: last step: $last, of rank 0 " err
ok "nothing is left" no_leftovers
finish
