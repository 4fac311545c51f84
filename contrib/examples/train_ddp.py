#!/usr/bin/env python3
"""Train a small model on all ranks with DistributedDataParallel.

    muster --hostfile=hostfile contrib/examples/train_ddp.py --steps 100

Each rank has its own share of the data. After each step all ranks must have the
same weights: the loss on a common batch is gathered at the end and compared.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--local_rank", type=int, default=0)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch", type=int, default=32, help="samples of each rank")
    args = parser.parse_args()

    use_cuda = torch.cuda.is_available()
    device = torch.device("cpu")
    if use_cuda:
        local_rank = int(os.environ.get("LOCAL_RANK", args.local_rank))
        device = torch.device("cuda", local_rank % torch.cuda.device_count())
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if use_cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()

    torch.manual_seed(rank)  # different weights at first: DDP sends those of rank 0
    model = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
    model = DistributedDataParallel(model, device_ids=[device.index] if use_cuda else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loss_of = nn.MSELoss()

    first = evaluate(model, loss_of, device)
    own_data = torch.Generator().manual_seed(1000 + rank)
    for step in range(1, args.steps + 1):
        inputs, targets = make_batch(args.batch, own_data, device)
        optimizer.zero_grad()
        loss = loss_of(model(inputs), targets)
        loss.backward()
        optimizer.step()
        if rank == 0 and step % 20 == 0:
            print(f"step {step}: loss {loss.item():.4f}", flush=True)
    last = evaluate(model, loss_of, device)

    losses = [torch.empty_like(last) for _ in range(world)]
    dist.all_gather(losses, last)
    assert all(torch.equal(other, last) for other in losses), f"losses differ: {losses}"
    assert last < first, f"the loss did not fall: {first.item()} -> {last.item()}"
    if rank == 0:
        print(f"final loss {last.item():.6f}, the same on {world} ranks", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def make_batch(size, generator, device):
    """Samples of a function that a small network can learn."""
    inputs = torch.randn(size, 16, generator=generator)
    targets = torch.sin(inputs.sum(dim=1, keepdim=True) / 4)
    return inputs.to(device), targets.to(device)


def evaluate(model, loss_of, device):
    """Return the loss on a batch that is the same for all ranks. Does not use DDP, because
    the loss must show this rank's own weights."""
    inputs, targets = make_batch(256, torch.Generator().manual_seed(7), device)
    with torch.no_grad():
        return loss_of(model.module(inputs), targets).reshape(1)


if __name__ == "__main__":
    main()
