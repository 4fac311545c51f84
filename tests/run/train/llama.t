#!/bin/sh
# muster-train with Llama's family: at one and four ranks, in each stage, wherever the parameters
# are, each model has one loss curve; what it exports goes on where it stopped.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/train/small.sh"

# model NAME TYPE KEYS: a directory with a shape, as Hugging Face's config.json has it.
model() {
    mkdir "$1"
    cat >"$1/config.json" <<CONFIG
{ "model_type": "$2", "vocab_size": 257, "hidden_size": 32, "intermediate_size": 48,
  "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
  "max_position_embeddings": 32, "rms_norm_eps": 1e-6, $3 }
CONFIG
}
model llama llama '"tie_word_embeddings": false, "attention_bias": true, "mlp_bias": true,
    "rope_theta": 10000, "rope_scaling": { "rope_type": "llama3", "factor": 4,
    "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 8 }'
model mistral mistral '"tie_word_embeddings": false, "sliding_window": 6'
model qwen2 qwen2 '"tie_word_embeddings": true, "use_sliding_window": true, "sliding_window": 5,
    "max_window_layers": 1'
model qwen3 qwen3 '"tie_word_embeddings": true, "head_dim": 16'

# zero STAGE KEYS: ds.json with that stage, and more keys of zero_optimization.
zero() {
    cat >ds.json <<DS
{ "train_batch_size": 8, "steps_per_print": 1, "gradient_clipping": 1.0,
  "optimizer": { "type": "AdamW", "params": { "lr": 3e-3 } },
  "zero_optimization": { "stage": $1, "reduce_bucket_size": 9000 $2 } }
DS
}
mkdir nvme
in_files=", \"offload_optimizer\": { \"device\": \"nvme\", \"nvme_path\": \"$PWD/nvme\" },
    \"offload_param\": { \"device\": \"nvme\", \"nvme_path\": \"$PWD/nvme\" }"

# learn RANKS MODEL OPTION...
learn() {
    ranks=$1 model=$2
    shift 2
    set -- muster-train --deepspeed_config "$PWD/ds.json" --model "$model" --length 16 \
        --data "$PWD/text" --device cpu --timeout 60 "$@"
    case $ranks in
    1) run "$@" ;;
    4) run muster --label none --grace 2 --name llama-t -H node1:2,node2:2 "$@" ;;
    esac
}
# falls: the last loss is less than 0.8 of the first.
falls() {
    losses | awk 'NR == 1 { first = $1 } { last = $1 } END { exit !(last < 0.8 * first) }'
}

for name in llama mistral qwen2 qwen3; do
    zero 0
    learn 1 "$PWD/$name" --steps 24
    is "$name, one rank: 0" "$rc" 0
    losses >"curve.$name"
    ok "... learns" falls
    zero 3 "$in_files"
    learn 4 "$PWD/$name" --steps 24
    is "$name, four ranks, stage 3, in files: 0" "$rc" 0
    ok "... the same curve" alike "curve.$name" 24
done
for stage in 0 1 2 3; do
    zero $stage
    learn 4 "$PWD/llama" --steps 24
    ok "llama, four ranks, stage $stage: the same curve" alike curve.llama 24
done
zero 0
learn 1 "$PWD/qwen3" --steps 24 --activation_checkpointing
ok "qwen3, computed twice: the same curve" alike curve.qwen3 24

# Eight samples, which are each step's: the next loss is what the exported model begins with.
head -c 129 text >short
mv short text
zero 3
learn 4 "$PWD/qwen2" --steps 10 --checkpoint_dir "$PWD/save" --export "$PWD/learnt"
is "what it learnt is exported: 0" "$rc" 0
learn 4 "$PWD/qwen2" --steps 11 --checkpoint_dir "$PWD/save"
losses >next
zero 0
learn 1 "$PWD/learnt" --steps 1
ok "... and goes on where it stopped" alike next 1
run muster-train sample --model "$PWD/learnt" --prompt "line " --length 16 --bytes 8
is "it continues a text: 0" "$rc" 0
is "... by as many bytes as asked for" "$(head -c 5 out) $(wc -c <out)" "line  14"

# What changes the mathematics and is not known is refused.
model bad llama '"tie_word_embeddings": false, "rope_scaling": { "rope_type": "longrope" }'
learn 1 "$PWD/bad" --steps 1
is "a scaling that is not known is refused: 1" "$rc" 1
ok "... by name" grep -q 'bad/config.json: .*longrope' err
is "nothing is left of the files" "$(ls -A nvme)" ""
ok "nothing is left" no_leftovers
finish
