#!/usr/bin/env python3
"""model_vectors.py DIRECTORY - run small models with PyTorch, for tests/unit/vectors

For each of gpt2, bert and roberta, DIRECTORY/NAME gets a model as Hugging Face stores it
(config.json, model.safetensors), and want.safetensors: a batch (tokens, targets), the sum of its
losses, and the gradient of that sum for every parameter, computed in double. Needs only
python3-torch: the models are implemented again here, so that they do not share our mistakes.

SPDX-License-Identifier: Apache-2.0
"""
import json
import math
import os
import struct
import sys

import torch
from torch.nn import functional as F

VOCABULARY, WIDTH, INNER, HEADS, BLOCKS = 23, 8, 20, 2, 2
SEQUENCES, LENGTH = 2, 6

COMMON = {"vocab_size": VOCABULARY, "initializer_range": 0.02, "tie_word_embeddings": True}
CONFIGS = {
    "gpt2": {**COMMON, "model_type": "gpt2", "activation_function": "gelu_new",
             "n_positions": 8, "n_embd": WIDTH, "n_head": HEADS, "n_layer": BLOCKS,
             "n_inner": INNER, "layer_norm_epsilon": 1e-5},
    "bert": {**COMMON, "model_type": "bert", "hidden_act": "gelu", "max_position_embeddings": 8,
             "type_vocab_size": 2, "hidden_size": WIDTH, "num_attention_heads": HEADS,
             "num_hidden_layers": BLOCKS, "intermediate_size": INNER, "layer_norm_eps": 1e-12},
    "roberta": {**COMMON, "model_type": "roberta", "hidden_act": "gelu",
                "max_position_embeddings": 10, "type_vocab_size": 1, "hidden_size": WIDTH,
                "num_attention_heads": HEADS, "num_hidden_layers": BLOCKS,
                "intermediate_size": INNER, "layer_norm_eps": 1e-5},
}


def main():
    for number, (name, config) in enumerate(CONFIGS.items()):
        torch.manual_seed(number)
        directory = os.path.join(sys.argv[1], name)
        os.makedirs(directory, exist_ok=True)
        weights = {key: torch.randn(shape).mul(0.3).add(1 if is_scale(key) else 0)
                   for key, shape in shapes(name, config).items()}
        tokens = torch.randint(VOCABULARY, (SEQUENCES, LENGTH))
        targets = torch.randint(VOCABULARY, (SEQUENCES, LENGTH))
        if name != "gpt2":
            targets[torch.rand(targets.shape) < 0.6] = -1
        params = {key: value.double().requires_grad_() for key, value in weights.items()}
        loss = loss_of(name, config, params, tokens, targets)
        loss.backward()

        with open(os.path.join(directory, "config.json"), "w") as file:
            json.dump(config, file, indent=1)
            file.write("\n")
        write(os.path.join(directory, "model.safetensors"), weights)
        want = {key: value.grad.float() for key, value in params.items()}
        want.update(tokens=tokens.int(), targets=targets.int(), loss=loss.detach().reshape(1))
        write(os.path.join(directory, "want.safetensors"), want)


def is_scale(key):
    return key.endswith(("LayerNorm.weight", "layer_norm.weight", "ln_1.weight", "ln_2.weight",
                         "ln_f.weight"))


def shapes(name, config):
    if name == "gpt2":
        found = {"transformer.wte.weight": (VOCABULARY, WIDTH),
                 "transformer.wpe.weight": (config["n_positions"], WIDTH),
                 "transformer.ln_f.weight": (WIDTH,), "transformer.ln_f.bias": (WIDTH,)}
        for i in range(BLOCKS):
            block = f"transformer.h.{i}."
            for part, size in (("attn.c_attn", (WIDTH, 3 * WIDTH)),
                               ("attn.c_proj", (WIDTH, WIDTH)), ("mlp.c_fc", (WIDTH, INNER)),
                               ("mlp.c_proj", (INNER, WIDTH))):
                found[f"{block}{part}.weight"] = size
                found[f"{block}{part}.bias"] = size[1:]
            for norm in "ln_1", "ln_2":
                found[f"{block}{norm}.weight"] = found[f"{block}{norm}.bias"] = (WIDTH,)
        return found

    embeddings = f"{name}.embeddings."
    head = "cls.predictions.transform." if name == "bert" else "lm_head."
    norm = "LayerNorm" if name == "bert" else "layer_norm"
    found = {embeddings + "word_embeddings.weight": (VOCABULARY, WIDTH),
             embeddings + "position_embeddings.weight":
                 (config["max_position_embeddings"], WIDTH),
             embeddings + "token_type_embeddings.weight": (config["type_vocab_size"], WIDTH),
             ("cls.predictions.bias" if name == "bert" else "lm_head.bias"): (VOCABULARY,)}
    linears = {head + "dense": (WIDTH, WIDTH)}
    norms = [embeddings + "LayerNorm", head + norm]
    for i in range(BLOCKS):
        layer = f"{name}.encoder.layer.{i}."
        for part in "query", "key", "value":
            linears[f"{layer}attention.self.{part}"] = (WIDTH, WIDTH)
        linears[layer + "attention.output.dense"] = (WIDTH, WIDTH)
        linears[layer + "intermediate.dense"] = (INNER, WIDTH)
        linears[layer + "output.dense"] = (WIDTH, INNER)
        norms += [layer + "attention.output.LayerNorm", layer + "output.LayerNorm"]
    for key, size in linears.items():
        found[key + ".weight"] = size
        found[key + ".bias"] = size[:1]
    for key in norms:
        found[key + ".weight"] = found[key + ".bias"] = (WIDTH,)
    return found


def loss_of(name, config, p, tokens, targets):
    logits = (gpt2 if name == "gpt2" else bert)(name, config, p, tokens)
    return F.cross_entropy(logits.reshape(-1, VOCABULARY), targets.reshape(-1), ignore_index=-1,
                           reduction="sum")


def gpt2(name, config, p, tokens):
    def norm(x, key):
        return F.layer_norm(x, (WIDTH,), p[key + ".weight"], p[key + ".bias"],
                            config["layer_norm_epsilon"])

    def conv(x, key):
        return x @ p[key + ".weight"] + p[key + ".bias"]

    x = p["transformer.wte.weight"][tokens] + p["transformer.wpe.weight"][:LENGTH]
    for i in range(BLOCKS):
        h = f"transformer.h.{i}."
        q, k, v = conv(norm(x, h + "ln_1"), h + "attn.c_attn").split(WIDTH, dim=2)
        x = x + conv(attention(q, k, v, True), h + "attn.c_proj")
        inner = conv(norm(x, h + "ln_2"), h + "mlp.c_fc")
        inner = 0.5 * inner * (1 + torch.tanh(math.sqrt(2 / math.pi) *
                                              (inner + 0.044715 * inner ** 3)))
        x = x + conv(inner, h + "mlp.c_proj")
    return norm(x, "transformer.ln_f") @ p["transformer.wte.weight"].T


def bert(name, config, p, tokens):
    def norm(x, key):
        return F.layer_norm(x, (WIDTH,), p[key + ".weight"], p[key + ".bias"],
                            config["layer_norm_eps"])

    def linear(x, key):
        return F.linear(x, p[key + ".weight"], p[key + ".bias"])

    e = f"{name}.embeddings."
    first = 2 if name == "roberta" else 0
    x = norm(p[e + "word_embeddings.weight"][tokens] +
             p[e + "position_embeddings.weight"][first:first + LENGTH] +
             p[e + "token_type_embeddings.weight"][0], e + "LayerNorm")
    for i in range(BLOCKS):
        h = f"{name}.encoder.layer.{i}."
        q, k, v = (linear(x, f"{h}attention.self.{part}") for part in ("query", "key", "value"))
        x = norm(x + linear(attention(q, k, v, False), h + "attention.output.dense"),
                 h + "attention.output.LayerNorm")
        x = norm(x + linear(F.gelu(linear(x, h + "intermediate.dense")), h + "output.dense"),
                 h + "output.LayerNorm")
    head = "cls.predictions.transform." if name == "bert" else "lm_head."
    x = F.gelu(linear(x, head + "dense"))
    x = norm(x, head + ("LayerNorm" if name == "bert" else "layer_norm"))
    bias = p["cls.predictions.bias" if name == "bert" else "lm_head.bias"]
    return x @ p[e + "word_embeddings.weight"].T + bias


def attention(q, k, v, causal):
    q, k, v = (x.reshape(SEQUENCES, LENGTH, HEADS, -1).transpose(1, 2) for x in (q, k, v))
    scores = q @ k.transpose(2, 3) / math.sqrt(WIDTH // HEADS)
    if causal:
        later = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, -math.inf)
    return (scores.softmax(3) @ v).transpose(1, 2).reshape(SEQUENCES, LENGTH, WIDTH)


def write(path, tensors):
    """Write safetensors by its specification, so that a mistake in our reader shows, too."""
    words = {torch.float32: "F32", torch.float64: "F64", torch.int32: "I32"}
    header, data = {}, b""
    for key, tensor in tensors.items():
        blob = tensor.contiguous().numpy().tobytes()
        header[key] = {"dtype": words[tensor.dtype], "shape": list(tensor.shape),
                       "data_offsets": [len(data), len(data) + len(blob)]}
        data += blob
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    main()
