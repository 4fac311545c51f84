#!/usr/bin/env python3
"""step_torch.py DTYPE [SEQUENCES [LENGTH [DEVICE]]] - how long PyTorch takes for a training step of GPT-2

The peer of bench/step: the same shape (124 M parameters), the same work, forward and backward
pass without the optimizer, all parameters and activations in DTYPE, the best of some. Prints
the seconds. The model is that of contrib/examples/train_gpt2.py, with the attention that
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
    device = sys.argv[4] if len(sys.argv) > 4 else "cpu"
    model = Model().to(dtype if device == "cpu" else torch.float32).to(device)
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


if __name__ == "__main__":
    main()
