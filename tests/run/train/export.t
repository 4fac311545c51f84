#!/bin/sh
# muster-train --export: a model that came from a directory leaves as one that transformers loads,
# with its config.json and its tokenizer.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/train/small.sh"

mkdir from
cat >from/config.json <<'CONFIG'
{
  "vocab_size": 257,
  "hidden_size": 32,
  "architectures": [
    "Qwen2ForCausalLM"
  ],
  "model_type": "qwen2",
  "intermediate_size": 48,
  "num_hidden_layers": 2,
  "num_attention_heads": 4,
  "num_key_value_heads": 2,
  "eos_token_id": [
    3,
    5
  ],
  "torch_dtype": "bfloat16"
}
CONFIG
for name in tokenizer.json tokenizer_config.json tokenizer.model vocab.json merges.txt \
    special_tokens_map.json added_tokens.json generation_config.json chat_template.jinja; do
    printf '%s\0\377 has any bytes' "$name" >"from/$name"
done
echo "is not copied" >from/README.md
# tune OPTION...
tune() {
    run muster-train --deepspeed_config ds.json --model "$PWD/from" --length 16 --data text --tokenizer bytes \
        --steps 2 --device cpu "$@"
}

tune --export to
is "a model from a directory is exported: 0" "$rc" 0
sed 's/"bfloat16"/"float32"/' from/config.json >wanted
ok "config.json is the same, but for the type" cmp wanted to/config.json
rm to/config.json to/model.safetensors
ls from | grep -v -e README -e config.json >wanted
ls from | grep '_config.json$' >>wanted
sort -o wanted wanted
is "the files of the tokenizer are there, and no others" "$(ls -A to | sort)" "$(cat wanted)"
ok "... the same bytes" sh -c 'while read -r name; do cmp "from/$name" "to/$name" || exit; done <wanted'

# Options have changed the shape.
tune --export changed --dropout 0.5 --blocks 3
is "another shape: 0" "$rc" 0
sed 's/"bfloat16"/"float32"/; s/_layers": 2/_layers": 3/' from/config.json >wanted
ok "config.json says what is different" sh -c 'grep -q "\"attention_dropout\": 0.5" changed/config.json &&
    grep -q "\"num_hidden_layers\": 3" changed/config.json &&
    grep -q "\"eos_token_id\"" changed/config.json'
run muster-train --deepspeed_config ds.json --model "$PWD/changed" --length 16 --data text --tokenizer bytes \
    --steps 1 --device cpu --export "$PWD/changed"
is "... and fits the weights, which may go where they came from: 0" "$rc" 0
ok "... with the same config.json" grep -q '"num_hidden_layers": 3' changed/config.json

rm from/merges.txt
mkfifo from/merges.txt
tune --export part
is "a file that cannot be copied: 1" "$rc" 1
ok "... is named, and the weights are there" grep -q \
    'from/merges.txt: .*(the weights in part are complete)' err
ok "... with all else" test -s part/model.safetensors -a -s part/config.json -a \
    -s part/vocab.json -a ! -e part/merges.txt
is "nothing unfinished is left" "$(find to changed part -name '*.partial')" ""

train 1 --export named
is "a model with a name is exported: 0" "$rc" 0
is "... without a tokenizer" "$(ls -A named | tr '\n' ' ')" "config.json model.safetensors "
ok "... with the type of its weights" grep -q '"torch_dtype": "float32"' named/config.json
for dir in nowhere/to text; do
    train 1 --export $dir
    is "$dir cannot take an export: 1" "$rc" 1
    ok "... is said before the first step" sh -c '! grep -q "^step " out &&
        grep -q -e "--export: $1: No such file" -e "--export: $1: not a directory" err' sh $dir
done
ok "nothing is left" no_leftovers
finish
