#!/usr/bin/env python3
"""step_torch.py DTYPE [SEQUENCES [LENGTH [MODEL [DEVICE]]]] - how long PyTorch takes for a training step

The peer of bench/step: the same shape (gpt2 or qwen2.5-0.5b), the same work, forward and
backward pass without the optimizer, all parameters and activations in DTYPE, the best of some.
Prints the seconds. GPT-2 is that of contrib/examples/train_gpt2.py, with the attention that
PyTorch has of its own if it has one. OMP_NUM_THREADS is taken.

On cuda the step is a whole one, as people take it there: parameters in float, DTYPE by autocast,
the gradient's norm, and AdamW, fused.

SPDX-License-Identifier: Apache-2.0
"""
import os
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../contrib/examples"))
import train_gpt2  # noqa: E402

REPEATS = 4
CONFIG = {"vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12,
          "n_inner": 3072, "layer_norm_epsilon": 1e-5}


def main():
    dtype = {"float": torch.float32, "bfloat16": torch.bfloat16}[sys.argv[1]]
    sequences, length = (int(sys.argv[i]) if len(sys.argv) > i else n for i, n in ((2, 4), (3, 64)))
    name = sys.argv[4] if len(sys.argv) > 4 else "gpt2"
    device = sys.argv[5] if len(sys.argv) > 5 else "cpu"
    model = {"gpt2": Model, "qwen2.5-0.5b": Qwen2}[name]()
    model = model.to(dtype if device == "cpu" else torch.float32).to(device)
    tokens = torch.arange(sequences * length).reshape(sequences, length) * 7919 % 50257
    targets = ((tokens + 7919) % 50257).to(device)
    take = pass_on_cpu if device == "cpu" else StepOnGpu(model, dtype)
    best = 1e9
    for _ in range(REPEATS if device == "cpu" else 5 * REPEATS):
        model.zero_grad(set_to_none=True)
        begin = time.monotonic()
        take(model, tokens.to(device), targets)
        best = min(best, time.monotonic() - begin)
    print(f"{best:.4f}")


def pass_on_cpu(model, tokens, targets):
    F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten()).backward()


class StepOnGpu:
    def __init__(self, model, dtype):
        self.dtype = dtype
        self.adam = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def __call__(self, model, tokens, targets):
        with torch.autocast("cuda", self.dtype, enabled=self.dtype != torch.float32):
            logits = model(tokens)
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        self.adam.step()
        torch.cuda.synchronize()


class Model(train_gpt2.GPT2):
    """Initial weights are PyTorch's own: nothing is read."""

    def __init__(self):
        nn.Module.__init__(self)
        self.wte = nn.Embedding(CONFIG["vocab_size"], CONFIG["n_embd"])
        self.wpe = nn.Embedding(CONFIG["n_positions"], CONFIG["n_embd"])
        self.h = nn.ModuleList(train_gpt2.Block(CONFIG) for _ in range(CONFIG["n_layer"]))
        self.ln_f = nn.LayerNorm(CONFIG["n_embd"], CONFIG["layer_norm_epsilon"])
        if hasattr(F, "scaled_dot_product_attention"):
            for block in self.h:
                block.attn.forward = attention_of(block.attn)


def attention_of(attn):
    def forward(x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, attn.heads, -1).transpose(1, 2)
                   for part in attn.c_attn(x).split(width, dim=2))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return attn.c_proj(seen.transpose(1, 2).reshape(batch, length, width))
    return forward


class Qwen2(nn.Module):
    """Qwen2.5-0.5B: 24 blocks, 14 heads and 2 of keys and values, a tied head of 151936 words."""
    WORDS, WIDTH, INNER, HEADS, KV_HEADS, BLOCKS = 151936, 896, 4864, 14, 2, 24

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(self.WORDS, self.WIDTH)
        self.blocks = nn.ModuleList(Qwen2Block() for _ in range(self.BLOCKS))
        self.norm = RmsNorm(self.WIDTH)
        nn.init.normal_(self.words.weight, std=0.02)  # larger logits have slow denormal softmaxes

    def forward(self, tokens):
        x = self.words(tokens)
        angles = torch.arange(tokens.shape[1])[:, None] * 1e6 ** (-torch.arange(0, 64, 2) / 64)
        turn = torch.cat((angles, angles), dim=1).to(x.device)
        for block in self.blocks:
            x = block(x, turn.cos().to(x.dtype), turn.sin().to(x.dtype))
        return F.linear(self.norm(x), self.words.weight)


class Qwen2Block(nn.Module):
    def __init__(self):
        super().__init__()
        c, kv = Qwen2, Qwen2.WIDTH // Qwen2.HEADS * Qwen2.KV_HEADS
        self.norm1, self.norm2 = RmsNorm(c.WIDTH), RmsNorm(c.WIDTH)
        self.q, self.o = nn.Linear(c.WIDTH, c.WIDTH), nn.Linear(c.WIDTH, c.WIDTH, bias=False)
        self.k, self.v = nn.Linear(c.WIDTH, kv), nn.Linear(c.WIDTH, kv)
        self.gate, self.up = (nn.Linear(c.WIDTH, c.INNER, bias=False) for _ in range(2))
        self.down = nn.Linear(c.INNER, c.WIDTH, bias=False)

    def forward(self, x, cos, sin):
        h = self.norm1(x)
        q, k, v = (layer(h).unflatten(2, (-1, 64)).transpose(1, 2) for layer in (self.q, self.k, self.v))
        q, k = (part * cos + torch.cat((-part[..., 32:], part[..., :32]), dim=-1) * sin for part in (q, k))
        k, v = (part.repeat_interleave(Qwen2.HEADS // Qwen2.KV_HEADS, dim=1) for part in (k, v))
        x = x + self.o(attend(q, k, v).transpose(1, 2).flatten(2))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.float()
        return self.weight * (wide * (wide.square().mean(-1, keepdim=True) + 1e-6).rsqrt()).to(x.dtype)


def attend(q, k, v):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    hidden = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool, device=q.device).triu(1)
    weights = (q @ k.transpose(2, 3) / 8).masked_fill(hidden, -torch.inf).float().softmax(-1)
    return weights.to(v.dtype) @ v


if __name__ == "__main__":
    main()
