#!/usr/bin/env python3
"""hugging_face.py - random models of the library transformers, and what it makes of ours

    hugging_face.py save DIR OTHERS              write models: DIR/NAME, and those of Llama's family
                                                 with other config.json that mean the same:
                                                 OTHERS/NAME-old, OTHERS/NAME-least
    hugging_face.py curve STEPS TEXT LENGTH DIR...
                                                 train each, and write DIR/curve: step, loss, norm
    hugging_face.py logits TEXT LENGTH DIR...    load each, and compare with DIR/logits, which
                                                 model_logits wrote: the largest difference
    hugging_face.py adapt ADAPTERS DIR...        write an adapter for each, as PEFT does:
                                                 ADAPTERS/NAME
    hugging_face.py tune STEPS TEXT LENGTH ADAPTERS DIR...
                                                 train each with its adapter, and write
                                                 ADAPTERS/NAME/curve
    hugging_face.py adapted TEXT LENGTH ADAPTERS MERGED DIR...
                                                 as logits, of each with its adapter, and of
                                                 MERGED/NAME/logits
    hugging_face.py vectors DIR...               compute what contrib/model_vectors.py has computed

TEXT is cut into samples of LENGTH bytes, which are tokens. Each step uses all of them, so that their
order does not matter. Models are loaded with all their tensors and no others, or not at all. The
library peft is not there: adapters are added by hand, from its files.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import sys
import warnings

warnings.filterwarnings("ignore", category=FutureWarning)  # PyTorch's, of Python 3.14
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch.nn import functional as F

VOCABULARY = 300
COMMON = {"vocab_size": VOCABULARY, "hidden_size": 48, "intermediate_size": 80,
          "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
          "max_position_embeddings": 128}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 64}
LINEAR = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.5}
YARN = {"rope_type": "yarn", "rope_theta": 100.0, "factor": 4.0,
        "original_max_position_embeddings": 32}
# Each has what its family may have; what mistral-8 has is assumed where keys are missing.
MODELS = {
    "gpt2": ("gpt2", {"vocab_size": VOCABULARY, "n_positions": 32, "n_embd": 48, "n_head": 4,
                      "n_layer": 3, "embd_pdrop": 0.0, "attn_pdrop": 0.0, "resid_pdrop": 0.0,
                      "bos_token_id": None, "eos_token_id": None}),
    "llama": ("llama", {**COMMON, "attention_bias": True, "mlp_bias": True,
                        "rms_norm_eps": 1e-5, "rope_parameters": LLAMA3}),
    "llama-tied": ("llama", {**COMMON, "num_key_value_heads": 4, "tie_word_embeddings": True,
                             "rope_parameters": LINEAR}),
    "mistral": ("mistral", {**COMMON, "num_key_value_heads": 1, "sliding_window": 7}),
    "qwen2": ("qwen2", {**COMMON, "tie_word_embeddings": True, "rope_parameters": YARN,
                        "use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1}),
    "qwen3": ("qwen3", {**COMMON, "head_dim": 20, "tie_word_embeddings": True,
                        "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}),
    "mistral-8": ("mistral", {**COMMON, "hidden_size": 64, "num_attention_heads": 16,
                              "num_key_value_heads": 8, "sliding_window": 4096}),
    "llama-bf16": ("llama", COMMON),
    "qwen3-shards": ("qwen3", {**COMMON, "head_dim": 16, "attention_bias": True,
                               "rope_parameters": {**YARN, "beta_fast": 2.0, "beta_slow": 0.5,
                                                   "attention_factor": 1.2,
                                                   "truncate": False}}),
}


LINEARS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
ADAPTERS = {
    "gpt2": {"r": 4, "lora_alpha": 6, "target_modules": ["c_attn", "mlp.c_proj"]},
    "llama": {"r": 3, "lora_alpha": 8, "target_modules": ["q_proj", "v_proj"],
              "modules_to_save": ["lm_head", "embed_tokens"]},
    "mistral": {"r": 5, "lora_alpha": 5, "use_rslora": True,
                "target_modules": ["up_proj", "self_attn.o_proj"]},
    "qwen2": {"r": 8, "lora_alpha": 16, "target_modules": LINEARS},
    "qwen3": {"r": 2, "lora_alpha": 3, "target_modules": ["k_proj", "gate_proj", "down_proj"],
              "modules_to_save": ["q_norm"]},
}


def main():
    transformers.utils.logging.disable_progress_bar()
    command, *rest = sys.argv[1:]
    if command == "save":
        print("transformers", transformers.__version__, "torch", torch.__version__)
        save(*rest)
    elif command == "curve":
        steps, path, length, *directories = rest
        for directory in directories:
            curve(directory, int(steps), *read_samples(path, int(length)))
    elif command == "logits":
        path, length, *directories = rest
        for directory in directories:
            logits(directory, *read_samples(path, int(length)))
    elif command == "adapt":
        for number, directory in enumerate(rest[1:]):
            adapt(number, rest[0], directory)
    elif command == "tune":
        steps, path, length, adapters, *directories = rest
        for directory in directories:
            tune(adapters, directory, int(steps), *read_samples(path, int(length)))
    elif command == "adapted":
        path, length, adapters, merged, *directories = rest
        for directory in directories:
            name = os.path.basename(directory)
            model = load_adapted(os.path.join(adapters, name), directory)
            compare(model.eval(), os.path.join(merged, name), *read_samples(path, int(length)))
    elif command == "vectors":
        for directory in rest:
            vectors(directory)
    else:
        sys.exit(__doc__)


def save(parent, others):
    for number, (name, (kind, keys)) in enumerate(MODELS.items()):
        torch.manual_seed(number)
        config = transformers.AutoConfig.for_model(kind, **keys)
        model = transformers.AutoModelForCausalLM.from_config(config)
        with torch.no_grad():
            for value in model.parameters():  # so that no scale is one, and no bias zero
                value.add_(torch.randn_like(value), alpha=0.1)
        if name.endswith("-bf16"):
            model = model.to(torch.bfloat16)
        how = {"max_shard_size": "40KB"} if name.endswith("-shards") else {}
        model.save_pretrained(os.path.join(parent, name), **how)
        if kind != "gpt2":
            for spelling in old, least:
                directory = os.path.join(others, f"{name}-{spelling.__name__}")
                model.save_pretrained(directory, **how)
                respell(os.path.join(directory, "config.json"), spelling)


def respell(path, spelling):
    with open(path) as file:
        keys = json.load(file)
    spelling(keys)
    with open(path, "w") as file:
        json.dump(keys, file, indent=1)


def old(keys):
    """As transformers 4 wrote it."""
    rope = keys.pop("rope_parameters")
    keys["rope_theta"] = rope.pop("rope_theta")
    kind = rope.pop("rope_type")
    keys["rope_scaling"] = None
    if kind != "default":
        keys["rope_scaling"] = {"rope_type" if kind == "llama3" else "type": kind, **rope}
    keys["torch_dtype"] = keys.pop("dtype")
    keys.pop("layer_types", None)
    if keys["model_type"] != "qwen3" and keys["model_type"] != "mistral":
        keys.pop("head_dim", None)


def least(keys):
    """Without the values that transformers takes if a key is missing."""
    fields = transformers.AutoConfig.for_model(keys["model_type"]).__dataclass_fields__
    if keys["model_type"] != "qwen3":
        keys.pop("head_dim", None)
    if keys["model_type"] == "llama" and keys["num_key_value_heads"] == keys["num_attention_heads"]:
        del keys["num_key_value_heads"]
    if keys["rope_parameters"] == {"rope_type": "default", "rope_theta": 10000.0}:
        del keys["rope_parameters"]
    for key in list(keys):
        if key != "model_type" and key in fields and keys[key] == fields[key].default:
            del keys[key]


def load(directory):
    """Return the model, in float32 whatever its file has."""
    model, info = transformers.AutoModelForCausalLM.from_pretrained(
        directory, dtype=torch.float32, output_loading_info=True)
    wrong = {key: value for key, value in info.items() if value}
    if wrong:
        sys.exit(f"{directory}: {wrong}")
    return model


def read_samples(path, length):
    """Return inputs and targets. The last target of a sample is also the first input of the next."""
    with open(path, "rb") as file:
        tokens = torch.tensor(list(file.read()))
    count = (len(tokens) - 1) // length
    inputs = tokens[:count * length].reshape(count, length)
    return inputs, tokens[1:count * length + 1].reshape(count, length)


def curve(directory, steps, inputs, targets):
    train(load(directory), os.path.join(directory, "curve"), steps, inputs, targets)


def train(model, path, steps, inputs, targets):
    model.train()
    trained = [value for value in model.parameters() if value.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-3, betas=(0.9, 0.95), eps=1e-8,
                                  weight_decay=0.1)
    with open(path, "w") as file:
        for step in range(1, steps + 1):
            optimizer.zero_grad()
            loss = loss_of(model(input_ids=inputs).logits, targets)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            file.write(f"{step} {loss.item():.9f} {norm.item():.9f}\n")


def loss_of(values, targets):
    return F.cross_entropy(values.float().flatten(0, 1), targets.flatten())


class Adapted(torch.nn.Module):
    """A linear layer, or GPT-2's Conv1D, with an adapter."""

    def __init__(self, base, a, b, scale):
        super().__init__()
        self.base = base
        self.a = torch.nn.Parameter(a)
        self.b = torch.nn.Parameter(b)
        self.scale = scale

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.a.T @ self.b.T)


def is_named(module, names):
    return any(module == name or module.endswith("." + name) for name in names)


def adapt(number, parent, directory):
    torch.manual_seed(1000 + number)
    name = os.path.basename(directory)
    keys = ADAPTERS[name]
    model = load(directory)
    tensors = {}
    for module, layer in model.named_modules():
        prefix = f"base_model.model.{module}"
        if is_named(module, keys["target_modules"]):
            out, in_ = layer.weight.shape if name != "gpt2" else reversed(layer.weight.shape)
            tensors[f"{prefix}.lora_A.weight"] = torch.randn(keys["r"], in_) * 0.1
            tensors[f"{prefix}.lora_B.weight"] = torch.randn(out, keys["r"]) * 0.1
        if is_named(module, keys.get("modules_to_save") or []):
            tensors[f"{prefix}.weight"] = layer.weight.detach() * 1.1
    os.makedirs(os.path.join(parent, name))
    save_file(tensors, os.path.join(parent, name, "adapter_model.safetensors"), {"format": "pt"})
    with open(os.path.join(parent, name, "adapter_config.json"), "w") as file:
        json.dump({"peft_type": "LORA", "task_type": "CAUSAL_LM", "bias": "none",
                   "lora_dropout": 0.0, "fan_in_fan_out": name == "gpt2", **keys}, file)


def load_adapted(adapter, directory):
    """Return the model with its adapter, of which all tensors are used."""
    with open(os.path.join(adapter, "adapter_config.json")) as file:
        keys = json.load(file)
    tensors = load_file(os.path.join(adapter, "adapter_model.safetensors"))
    model = load(directory).requires_grad_(False)
    scale = keys["lora_alpha"] / keys["r"] ** (0.5 if keys.get("use_rslora") else 1)
    for module, layer in list(model.named_modules()):
        prefix = f"base_model.model.{module}"
        if is_named(module, keys["target_modules"]):
            above, _, last = module.rpartition(".")
            setattr(model.get_submodule(above), last,
                    Adapted(layer, tensors.pop(f"{prefix}.lora_A.weight"),
                            tensors.pop(f"{prefix}.lora_B.weight"), scale))
        if is_named(module, keys.get("modules_to_save") or []):
            layer.weight.data.copy_(tensors.pop(f"{prefix}.weight"))
            layer.weight.requires_grad_(True)
    if tensors:
        sys.exit(f"{adapter}: tensors of no module: {list(tensors)}")
    return model


def tune(adapters, directory, steps, inputs, targets):
    adapter = os.path.join(adapters, os.path.basename(directory))
    train(load_adapted(adapter, directory), os.path.join(adapter, "curve"), steps, inputs, targets)


def logits(directory, inputs, targets):
    compare(load(directory).eval(), directory, inputs, targets)


def compare(model, directory, inputs, targets):
    """Compare its logits with DIR/logits."""
    with torch.no_grad():
        theirs = model(input_ids=inputs).logits
    with open(os.path.join(directory, "logits"), "rb") as file:
        ours = torch.frombuffer(bytearray(file.read()), dtype=torch.float32)
    if ours.numel() != theirs.numel():
        sys.exit(f"{directory}: {ours.numel()} logits, not {theirs.numel()}")
    difference = (ours.reshape(theirs.shape) - theirs).abs().max().item()
    print(os.path.basename(directory), f"{difference:.9f}", f"{theirs.std().item():.6f}",
          f"{loss_of(theirs, targets).item():.9f}")


def vectors(directory):
    """Print how much the sum of the losses and its gradients differ, as shares of the largest."""
    want = load_file(os.path.join(directory, "want.safetensors"))
    model = load(directory).double().eval()  # no dropout, which it does by default
    targets = want.pop("targets").long()
    values = model(input_ids=want.pop("tokens").long()).logits
    loss = F.cross_entropy(values.flatten(0, 1), targets.flatten(), ignore_index=-1,
                           reduction="sum")
    loss.backward()
    worst = (abs(loss.item() / want.pop("loss").item() - 1), "the loss")
    grads = {name: value.grad for name, value in model.named_parameters()}
    if want.keys() != grads.keys():
        sys.exit(f"{directory}: gradients of others: {want.keys() ^ grads.keys()}")
    largest = max(grad.abs().max().item() for grad in want.values())
    for name, grad in want.items():
        worst = max(worst, ((grad - grads[name]).abs().max().item() / largest, name))
    print(os.path.basename(directory), f"{worst[0]:.9f}", worst[1])


if __name__ == "__main__":
    main()
