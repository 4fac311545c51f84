#!/bin/sh
# A stock PyTorch finds its peers over 2 nodes x 2: the scripts that DeepSpeed users write.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need torch
examples=$top_srcdir/contrib/examples
# Debian 13 builds PyTorch without libuv, but leaves its use the default.
# And PyTorch's loader processes leave a folder each where they make their sockets.
common="--env OMP_NUM_THREADS=1 --env USE_LIBUV=0 --env TMPDIR=$PWD"
four="-H node1:2,node2:2 $common"
two="-H node1,node2 $common"
export PYTHONDONTWRITEBYTECODE=1
run_limit=120
# shellcheck disable=SC2086
{
# Each rank takes more than a second of CPU to import torch, so no more of them than it needs.
run muster $two "$examples/check_nodes.py"
is "check_nodes.py: broadcast, send/recv, barrier, all_reduce" "$rc" 0
run muster $four "$examples/train_ddp.py"
is "train_ddp.py: 100 steps of DistributedDataParallel" "$rc" 0
ok "... and rank 0 prints the loss" grep -qi 'loss' out
ok "nothing is left" no_leftovers
mkdir shared
run muster $four --label none --no_local_rank "$top_srcdir/tests/programs/torch_gloo.py" "$PWD/shared" \
    test_get_rank test_barrier_group test_all_gather_object_default_pg test_broadcast_group
is "some of PyTorch's own tests of torch.distributed: 0" "$rc" 0
ok "... among them one that counts pids" grep -q '^test_get_rank: ok' out
ok "... and none failed" sh -c "! grep '^test_' out | grep -Ev ': (ok|skipped) '"
cat >loads.py <<'END'
import torch
from torch.utils.data import DataLoader, TensorDataset
if __name__ == "__main__":  # since Python 3.14 a loader process reads this file, too
    data = TensorDataset(torch.arange(1000, dtype=torch.float32))
    loader = DataLoader(data, batch_size=10, num_workers=2, persistent_workers=True)
    for epoch in range(2):
        total = sum(batch.sum().item() for (batch,) in loader)
    print("total", total)
END
run muster $two loads.py
is "loader processes that share memory with their rank: 0" "$rc" 0
ok "... every rank got all of it" test "$(grep -c 'total 499500.0' out)" = 2
ok "... nothing is left" no_leftovers
cat >dies.py <<'END'
import time
import torch.distributed as dist
dist.init_process_group("gloo")
dist.barrier()
if dist.get_rank() == 1:
    raise ValueError("rank 1 has had enough")
time.sleep(100)  # in a barrier it would fail of the lost connection, and could end before rank 1
END
run muster --grace 5 $two dies.py
is "a rank that raises ends the run: 1" "$rc" 1
ok "... its error is shown at the end" sh -c "tail -n 25 err | grep -q 'rank 1 has had enough'"
ok "... nothing is left" no_leftovers
}
finish
