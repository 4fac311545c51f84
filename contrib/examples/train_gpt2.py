#!/usr/bin/env python3
"""train_gpt2.py DIRECTORY TEXT - train a GPT-2 with PyTorch, to compare with muster-train's losses

DIRECTORY is a model as Hugging Face stores it and muster-train --export writes it. TEXT is cut into
samples, and each step uses all of them, so that their order does not matter. Prints the loss of
each step as muster-train does. Needs only python3-torch.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import struct

import torch
from torch import nn
from torch.nn import functional as F


def main():
    parser = argparse.ArgumentParser(description="train a GPT-2 with PyTorch")
    parser.add_argument("directory")
    parser.add_argument("text")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--weight_decay", type=float, default=0.01)
    parser.add_argument("--no_decay", choices=["default", "none"], default="default",
                        help="what weight decay spares: biases and norms, or nothing")
    parser.add_argument("--clip", type=float, default=1.0, help="largest norm of the gradient")
    parser.add_argument("--dtype", default="float32", help="or bfloat16, by autocast")
    args = parser.parse_args()

    model = GPT2(args.directory)
    inputs, targets = read_samples(args.text, args.length)
    optimizer = torch.optim.AdamW(groups(model, args), lr=args.lr)
    for step in range(1, args.steps + 1):
        with torch.autocast("cpu", torch.bfloat16, enabled=args.dtype == "bfloat16"):
            logits = model(inputs)
        loss = F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        print(f"step {step}/{args.steps}  loss {loss.item():.6f}", flush=True)


def groups(model, args):
    """Return the parameters that are decayed, and those that are not, as transformers' Trainer does."""
    spared = [x for x in model.parameters() if x.dim() < 2 and args.no_decay == "default"]
    decayed = [x for x in model.parameters() if x.dim() >= 2 or args.no_decay == "none"]
    return [{"params": decayed, "weight_decay": args.weight_decay},
            {"params": spared, "weight_decay": 0.0}]


def read_samples(path, length):
    """Return inputs and targets. Bytes are tokens. The last target of a sample is also the first
    input of the next."""
    with open(path, "rb") as file:
        tokens = torch.tensor(list(file.read()))
    count = (len(tokens) - 1) // length
    inputs = tokens[:count * length].reshape(count, length)
    return inputs, tokens[1:count * length + 1].reshape(count, length)


def read_safetensors(path):
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = bytearray(file.read())
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensors[name] = torch.frombuffer(data, dtype=torch.float32, offset=begin,
                                             count=(end - begin) // 4).reshape(entry["shape"])
    return tensors


class GPT2(nn.Module):
    def __init__(self, directory):
        super().__init__()
        with open(os.path.join(directory, "config.json")) as file:
            config = json.load(file)
        width = config["n_embd"]
        self.wte = nn.Embedding(config["vocab_size"], width)
        self.wpe = nn.Embedding(config["n_positions"], width)
        self.h = nn.ModuleList(Block(config) for _ in range(config["n_layer"]))
        self.ln_f = nn.LayerNorm(width, config["layer_norm_epsilon"])
        self.take(read_safetensors(os.path.join(directory, "model.safetensors")))

    def take(self, tensors):
        """Load the tensors. GPT-2 stores its matrices transposed, compared with nn.Linear."""
        linear = {name + ".weight" for name, part in self.named_modules()
                  if isinstance(part, nn.Linear)}
        tensors = {name.replace("transformer.", "", 1): x for name, x in tensors.items()}
        self.load_state_dict({name: x.T if name in linear else x for name, x in tensors.items()})

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.h:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config["n_embd"]
        self.ln_1 = nn.LayerNorm(width, config["layer_norm_epsilon"])
        self.attn = Attention(width, config["n_head"])
        self.ln_2 = nn.LayerNorm(width, config["layer_norm_epsilon"])
        self.mlp = MLP(width, config["n_inner"] or 4 * width)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.c_attn(x).split(width, dim=2))
        scores = q @ k.transpose(2, 3) / (width // self.heads) ** 0.5
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        seen = scores.masked_fill(later, float("-inf")).softmax(3) @ v
        return self.c_proj(seen.transpose(1, 2).reshape(batch, length, width))


class MLP(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.c_fc = nn.Linear(width, inner)
        self.c_proj = nn.Linear(inner, width)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


if __name__ == "__main__":
    main()
