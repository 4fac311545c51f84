#!/usr/bin/env python3
# flight_torch.py - a rank that keeps and writes records as PyTorch's flight recorder does: the same
# variables, pipe, file and pickle (torch/csrc/distributed/c10d/FlightRecorder.hpp, TraceUtils.h).
# PyTorch itself does so only with NCCL, on GPUs.
#
#     flight_torch.py skips|other|sizes|slow|none|cut|evil   rank 2 does this at call 120, and hangs
#     flight_torch.py late   the same as skips; the records come 2 s after they were asked for
#     flight_torch.py fails    the same as skips; then all write their records, as after a timeout, and one fails
#
# SPDX-License-Identifier: Apache-2.0
import glob
import os
import pickle
import sys
import time

way = sys.argv[-1]
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
size = int(os.environ["TORCH_FR_BUFFER_SIZE"])
path = os.environ["TORCH_FR_DUMP_TEMP_FILE"] + str(rank)
pipe = os.environ["TORCH_NCCL_DEBUG_INFO_PIPE_FILE"] + str(rank) + ".pipe"
entries = []


class Evil:
    def __reduce__(self):
        return os.system, ("touch evil",)


def call(seq, op="all_reduce", sizes=(1024,), line=42, state="completed"):
    entries.append({
        "frames": [{"name": "wrapper", "filename": "/x/torch/distributed/c10d_logger.py", "line": 81},
                   {"name": "step", "filename": "train.py", "line": line}],
        "record_id": seq, "pg_id": 0, "process_group": ("0", "default_pg"), "collective_seq_id": seq,
        "p2p_seq_id": 0, "op_id": seq, "profiling_name": "nccl:" + op, "time_created_ns": time.time_ns(),
        "input_sizes": [list(sizes)], "input_dtypes": ["Float"], "output_sizes": [list(sizes)],
        "output_dtypes": ["Float"], "state": state, "time_discovered_started_ns": None,
        "time_discovered_completed_ns": None, "retired": state == "completed", "timeout_ms": 600000,
        "is_p2p": False})


def write():
    record = {"version": "2.10", "pg_status": {},
              "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(world)))}},
              "entries": entries[-size:]}
    data = pickle.dumps(Evil() if way == "evil" and rank == 2 else record, protocol=2)
    if way == "cut" and rank == 2:
        data = data[:1000]
    with open(path, "wb") as file:
        file.write(data)


for seq in range(1, 120):
    call(seq)
if way == "other" and rank == 2:
    call(120, "broadcast", line=50, state="started")
elif way == "sizes" and rank == 2:
    call(120, sizes=(2048,), state="started")
elif way not in ("skips", "late", "fails") or rank != 2:
    call(120, state="completed" if way == "slow" and rank == 0 else "started")
if way == "fails":
    write()
    generation = os.environ["MUSTER_GENERATION"]
    open(f"wrote.{generation}.{rank}", "w").close()
    while len(glob.glob(f"wrote.{generation}.*")) < world:
        time.sleep(0.05)
    if rank == 0:
        sys.exit(6)
    time.sleep(1000)
if way != "none":
    os.mkfifo(pipe, 0o666)
print(f"rank {rank} waits", flush=True)
while True:
    if way == "none":
        time.sleep(1000)
    with open(pipe, "rb") as file:
        file.read()
    time.sleep(2 if way == "late" else 0)
    write()
