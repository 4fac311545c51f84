#!/usr/bin/env python3
"""Train with PyTorch's DistributedDataParallel so that the run survives its ranks and nodes.

    muster --max-restarts 3 contrib/examples/train_elastic.py --checkpoint /shared/model.pt
    torchrun --max-restarts 3 contrib/examples/train_elastic.py --checkpoint /shared/model.pt

It saves every few steps (--every), and as soon as a notice says that a node will leave: signal
USR1, or the file that MUSTER_NOTICE_FILE names. Each start continues after the last saved step,
with any number of ranks that divides the batch. The checkpoint must be on storage that all nodes
share.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import signal
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--local_rank", type=int, default=0)
    parser.add_argument("--checkpoint", default="model.pt", metavar="FILE")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--every", type=int, default=20, help="steps between checkpoints")
    parser.add_argument("--batch", type=int, default=48, help="samples of a step, on all ranks")
    parser.add_argument("--pause", type=float, default=0, help="seconds between steps")
    args = parser.parse_args()
    notice = Notice()

    use_cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if use_cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    if args.batch % world != 0:
        parser.error(f"--batch {args.batch} cannot be divided by {world} ranks")
    device = torch.device("cpu")
    if use_cuda:
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", args.local_rank)))
        torch.cuda.set_device(device)

    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    step = load(args.checkpoint, model, optimizer, device)
    if rank == 0:
        print(f"{world} ranks begin behind step {step}", flush=True)
    ddp = DistributedDataParallel(model, device_ids=[device.index] if use_cuda else None)
    while step < args.steps:
        step += 1
        inputs, targets = make_batch(args.batch, step, rank, world, device)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(ddp(inputs), targets)
        loss.backward()
        optimizer.step()
        # Ranks may see a notice in different steps, so they tell each other: rank 0 saves for all.
        told = torch.stack([loss.detach(), loss.new_tensor(float(notice.has_come()))])
        dist.all_reduce(told)
        if rank == 0:
            print(f"step {step}: loss {told[0].item() / world:.6f}", flush=True)
        if rank == 0 and (told[1] > 0 or step % args.every == 0 or step == args.steps):
            save(args.checkpoint, step, model, optimizer)
            if told[1] > 0:
                print(f"saved behind step {step}: {notice.reason()}", flush=True)
        time.sleep(args.pause)
    dist.barrier()
    dist.destroy_process_group()


class Notice:
    def __init__(self):
        self.text, self.is_signalled = "", False
        signal.signal(signal.SIGUSR1, lambda *_: setattr(self, "is_signalled", True))
        # Else it may end a system call of PyTorch's, with "Interrupted system call".
        signal.siginterrupt(signal.SIGUSR1, False)

    def has_come(self):
        """Has a notice come since the last call?"""
        before, was_signalled, self.is_signalled = self.text, self.is_signalled, False
        try:
            with open(os.environ.get("MUSTER_NOTICE_FILE", ""), encoding="utf-8") as file:
                self.text = file.read()
        except FileNotFoundError:
            pass
        return was_signalled or self.text != before

    def reason(self):
        return json.loads(self.text or "{}").get("reason", "USR1")


def make_batch(size, step, rank, world, device):
    """Return this rank's share of a step's samples, which depend only on the step's number."""
    inputs = torch.randn(size, 16, generator=torch.Generator().manual_seed(step))[rank::world]
    return inputs.to(device), torch.sin(inputs.sum(dim=1, keepdim=True) / 4).to(device)


def save(path, step, model, optimizer):
    """Save by rename, so that path always has a whole checkpoint."""
    with open(path + ".new", "wb") as file:
        torch.save({"step": step, "model": model.state_dict(),
                    "optimizer": optimizer.state_dict()}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def load(path, model, optimizer, device):
    """Return the step that is saved at path; 0: none."""
    if not os.path.exists(path):
        return 0
    state = torch.load(path, map_location=device)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["step"]


if __name__ == "__main__":
    main()
