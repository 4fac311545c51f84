#!/usr/bin/env python3
"""Check before a long training that the nodes reach each other.

    muster --hostfile=hostfile contrib/examples/check_nodes.py

Runs broadcast, send and recv, barrier and all_reduce with torch.distributed, over
nccl if every rank has a GPU, else over gloo. Every value is compared.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import datetime
import os
import socket

import torch
import torch.distributed as dist

COUNT = 1_000_000  # floats


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--local_rank", type=int, default=0)
    parser.add_argument("--backend", default="nccl" if torch.cuda.is_available() else "gloo")
    args = parser.parse_args()
    local_rank = int(os.environ.get("LOCAL_RANK", args.local_rank))

    device = torch.device("cpu")
    if args.backend == "nccl":
        # With --one-gpu-per-rank each rank sees its own GPU only.
        device = torch.device("cuda", local_rank % torch.cuda.device_count())
        torch.cuda.set_device(device)

    # RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT come from the environment.
    dist.init_process_group(args.backend, timeout=datetime.timedelta(seconds=60))
    rank, world = dist.get_rank(), dist.get_world_size()
    say(f"rank {rank} of {world} on {socket.gethostname()}, {args.backend}")

    # Keep the tensors of collectives until the end: if a thread of PyTorch 2.6's gloo is the last
    # to release a tensor, destroy_process_group can hang.
    values = check_broadcast(rank, device)
    if world > 1:
        check_send(rank, device)
    dist.barrier()
    sums = check_all_reduce(rank, world, device)

    dist.barrier()
    if rank == 0:
        say(f"all checks passed on {world} ranks")
    dist.destroy_process_group()
    del values, sums


def check_broadcast(rank, device):
    values = torch.full((1000,), 42.0 if rank == 0 else -1.0, device=device)
    dist.broadcast(values, src=0)
    expect(values, torch.full_like(values, 42.0), "broadcast")
    return values


def check_send(rank, device):
    """Send a million floats from rank 0 to rank 1."""
    sent = torch.arange(COUNT, dtype=torch.float32, device=device)
    if rank == 0:
        dist.send(sent, dst=1)
    elif rank == 1:
        values = torch.empty_like(sent)
        dist.recv(values, src=0)
        expect(values, sent, "send and recv")


def check_all_reduce(rank, world, device):
    values = torch.arange(1000, dtype=torch.float32, device=device) + rank
    dist.all_reduce(values)
    wanted = torch.arange(1000, dtype=torch.float32, device=device) * world
    expect(values, wanted + world * (world - 1) // 2, "all_reduce")
    return values


def expect(got, wanted, what):
    wrong = int((got != wanted).sum())
    assert wrong == 0, f"{what}: {wrong} of {wanted.numel()} values are wrong"


def say(text):
    print(text, flush=True)


if __name__ == "__main__":
    main()
