#!/usr/bin/env python3
"""model_vectors.py DIRECTORY - run small models with PyTorch, for tests/unit/trainer/vectors

For gpt2, bert, roberta, and llama, mistral, qwen2 and qwen3, DIRECTORY/NAME gets a model as Hugging
Face stores it (config.json, model.safetensors; qwen2 in two files, as bfloat16), and
want.safetensors: a batch (tokens, targets), the sum of its losses, and the gradient of that sum
for every parameter, computed in double. Needs only python3-torch: the models are implemented
again here, so that they do not share our mistakes.

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

# Llama's family: each has what the others do not have.
FAMILY = {"vocab_size": VOCABULARY, "initializer_range": 0.02, "hidden_act": "silu",
          "num_hidden_layers": BLOCKS, "rms_norm_eps": 1e-5, "rope_theta": 100.0,
          "hidden_size": WIDTH, "intermediate_size": INNER, "num_attention_heads": HEADS,
          "num_key_value_heads": 1, "max_position_embeddings": 32}
CONFIGS.update({
    "llama": {**FAMILY, "model_type": "llama", "architectures": ["LlamaForCausalLM"],
              "hidden_size": 16, "intermediate_size": 12, "num_attention_heads": 4,
              "num_key_value_heads": 2, "attention_bias": True, "mlp_bias": True,
              "tie_word_embeddings": False,
              "rope_scaling": {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0,
                               "high_freq_factor": 4.0,
                               "original_max_position_embeddings": 8}},
    "mistral": {**FAMILY, "model_type": "mistral", "architectures": ["MistralForCausalLM"],
                "tie_word_embeddings": False, "sliding_window": 3},
    "qwen2": {**FAMILY, "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"],
              "tie_word_embeddings": True, "use_sliding_window": True, "sliding_window": 2,
              "max_window_layers": 1, "max_position_embeddings": 256, "torch_dtype": "bfloat16",
              "rope_scaling": {"type": "yarn", "factor": 4.0,
                               "original_max_position_embeddings": 64}},
    "qwen3": {**FAMILY, "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"],
              "tie_word_embeddings": False, "head_dim": 6, "attention_bias": False,
              "rope_scaling": {"rope_type": "linear", "factor": 2.0}},
})


def main():
    for number, (name, config) in enumerate(CONFIGS.items()):
        torch.manual_seed(number)
        directory = os.path.join(sys.argv[1], name)
        os.makedirs(directory, exist_ok=True)
        weights = {key: torch.randn(shape).mul(0.3).add(1 if is_scale(key) else 0)
                   for key, shape in shapes(name, config).items()}
        if config.get("torch_dtype") == "bfloat16":
            weights = {key: value.bfloat16() for key, value in weights.items()}
        tokens = torch.randint(VOCABULARY, (SEQUENCES, LENGTH))
        targets = torch.randint(VOCABULARY, (SEQUENCES, LENGTH))
        if "bert" in name:
            targets[torch.rand(targets.shape) < 0.6] = -1
        params = {key: value.double().requires_grad_() for key, value in weights.items()}
        loss = loss_of(name, config, params, tokens, targets)
        loss.backward()

        with open(os.path.join(directory, "config.json"), "w") as file:
            json.dump(config, file, indent=1)
            file.write("\n")
        if name == "qwen2":
            write_many(directory, weights)
        else:
            write(os.path.join(directory, "model.safetensors"), weights)
        want = {key: value.grad.float() for key, value in params.items()}
        want.update(tokens=tokens.int(), targets=targets.int(), loss=loss.detach().reshape(1))
        write(os.path.join(directory, "want.safetensors"), want)


def is_scale(key):
    return key.endswith(("LayerNorm.weight", "layer_norm.weight", "ln_1.weight", "ln_2.weight",
                         "ln_f.weight", "layernorm.weight", "_norm.weight", "model.norm.weight"))


def shapes(name, config):
    if "rms_norm_eps" in config:
        return family_shapes(name, config)
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


def family_shapes(name, config):
    width, inner, head, heads, kv_heads = family_sizes(config)
    bias = config.get("attention_bias", False)
    found = {"model.embed_tokens.weight": (VOCABULARY, width), "model.norm.weight": (width,)}
    if not config["tie_word_embeddings"]:
        found["lm_head.weight"] = (VOCABULARY, width)
    for i in range(BLOCKS):
        block = f"model.layers.{i}."
        for part, size, has_bias in (
                ("self_attn.q_proj", (heads * head, width), bias or name == "qwen2"),
                ("self_attn.k_proj", (kv_heads * head, width), bias or name == "qwen2"),
                ("self_attn.v_proj", (kv_heads * head, width), bias or name == "qwen2"),
                ("self_attn.o_proj", (width, heads * head), bias),
                ("mlp.gate_proj", (inner, width), config.get("mlp_bias", False)),
                ("mlp.up_proj", (inner, width), config.get("mlp_bias", False)),
                ("mlp.down_proj", (width, inner), config.get("mlp_bias", False))):
            found[f"{block}{part}.weight"] = size
            if has_bias:
                found[f"{block}{part}.bias"] = size[:1]
        for norm in "input_layernorm", "post_attention_layernorm":
            found[f"{block}{norm}.weight"] = (width,)
        if name == "qwen3":
            for norm in "q_norm", "k_norm":
                found[f"{block}self_attn.{norm}.weight"] = (head,)
    return found


def family_sizes(config):
    width, heads = config["hidden_size"], config["num_attention_heads"]
    return (width, config["intermediate_size"], config.get("head_dim", width // heads), heads,
            config["num_key_value_heads"])


def loss_of(name, config, p, tokens, targets):
    if "rms_norm_eps" in config:
        logits = family(config, p, tokens)
    else:
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


def family(config, p, tokens):
    _, _, head, heads, kv_heads = family_sizes(config)

    def norm(x, key):
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + config["rms_norm_eps"]) * \
            p[key + ".weight"]

    def linear(x, key):
        return F.linear(x, p[key + ".weight"], p.get(key + ".bias"))

    def split(x, key, count):
        x = x.reshape(SEQUENCES, LENGTH, count, head)
        return (norm(x, key) if key + ".weight" in p else x).transpose(1, 2)

    cos, sin = rotary(config, head)
    x = p["model.embed_tokens.weight"][tokens]
    for i in range(BLOCKS):
        h = f"model.layers.{i}."
        y = norm(x, h + "input_layernorm")
        q = split(linear(y, h + "self_attn.q_proj"), h + "self_attn.q_norm", heads)
        k = split(linear(y, h + "self_attn.k_proj"), h + "self_attn.k_norm", kv_heads)
        v = split(linear(y, h + "self_attn.v_proj"), "", kv_heads)
        q, k = turn(q, cos, sin), turn(k, cos, sin)
        # Queries come in groups, and each group shares one head of keys and values.
        k, v = (torch.stack([z[:, j * kv_heads // heads] for j in range(heads)], 1)
                for z in (k, v))
        scores = (q @ k.transpose(2, 3) / math.sqrt(head)).masked_fill(hidden(config, i),
                                                                       -math.inf)
        y = (scores.softmax(3) @ v).transpose(1, 2).reshape(SEQUENCES, LENGTH, heads * head)
        x = x + linear(y, h + "self_attn.o_proj")
        y = norm(x, h + "post_attention_layernorm")
        gate = linear(y, h + "mlp.gate_proj")
        x = x + linear(gate * torch.sigmoid(gate) * linear(y, h + "mlp.up_proj"),
                       h + "mlp.down_proj")
    words = "model.embed_tokens" if config["tie_word_embeddings"] else "lm_head"
    return norm(x, "model.norm") @ p[words + ".weight"].T


def hidden(config, block):
    """Which tokens the tokens of a block do not attend to: later ones, and those before the
    window; it has as many tokens as the key says, with the token itself."""
    window = config.get("sliding_window")
    if block < config.get("max_window_layers", 0):
        window = None
    return torch.tensor([[key > query or (window is not None and key <= query - window)
                          for key in range(LENGTH)] for query in range(LENGTH)])


def turn(x, cos, sin):
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)


def rotary(config, head):
    """By the formulas of transformers 5.12.1's modeling_rope_utils.py."""
    scaling = config.get("rope_scaling", {})
    kind = scaling.get("rope_type", scaling.get("type"))
    theta, size, frequencies = config["rope_theta"], 1, []
    for i in range(head // 2):
        plain = theta ** (-2 * i / head)
        scaled = plain / scaling.get("factor", 1)
        share = 1 if kind == "linear" else 0  # of the scaled frequency
        if kind == "llama3":
            turns = scaling["original_max_position_embeddings"] * plain / (2 * math.pi)
            low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
            share = 1 - min(max((turns - low) / (high - low), 0), 1)
        elif kind == "yarn":
            low, high = (head * math.log(scaling["original_max_position_embeddings"] /
                                         (turns * 2 * math.pi)) / (2 * math.log(theta))
                         for turns in (32, 1))
            low, high = max(math.floor(low), 0), min(math.ceil(high), head - 1)
            share = min(max((i - low) / (high - low), 0), 1)
            size = 0.1 * math.log(scaling["factor"]) + 1
        frequencies.append(scaled * share + plain * (1 - share))
    angles = torch.outer(torch.arange(LENGTH).double(), torch.tensor(frequencies).double())
    return angles.cos() * size, angles.sin() * size


def write_many(directory, tensors):
    """Write every other tensor into a second file, and the index of both."""
    names = [f"model-0000{i + 1}-of-00002.safetensors" for i in range(2)]
    places = {key: names[i % 2] for i, key in enumerate(tensors)}
    for name in names:
        write(os.path.join(directory, name),
              {key: value for key, value in tensors.items() if places[key] == name})
    size = sum(value.numel() * value.element_size() for value in tensors.values())
    with open(os.path.join(directory, "model.safetensors.index.json"), "w") as file:
        json.dump({"metadata": {"total_size": size}, "weight_map": places}, file, indent=1)
        file.write("\n")


def write(path, tensors):
    """Write safetensors by its specification, so that a mistake in our reader shows, too."""
    words = {torch.float32: "F32", torch.float64: "F64", torch.int32: "I32",
             torch.bfloat16: "BF16"}
    header, data = {}, b""
    for key, tensor in tensors.items():
        if tensor.dtype == torch.bfloat16:
            blob = tensor.contiguous().view(torch.int16).numpy().tobytes()
        else:
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
