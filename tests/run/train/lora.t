#!/bin/sh
# muster-train with adapters and frozen parameters: at one and four ranks, in each stage, wherever
# the frozen ones are, there is one loss curve; checkpoints have what is trained, and know the rest.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/train/small.sh"

mkdir shape nvme
cat >shape/config.json <<'CONFIG'
{ "model_type": "qwen2", "vocab_size": 257, "hidden_size": 32, "intermediate_size": 48,
  "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
  "max_position_embeddings": 32, "rms_norm_eps": 1e-6, "tie_word_embeddings": true }
CONFIG
in_files=", \"offload_optimizer\": { \"device\": \"nvme\", \"nvme_path\": \"$PWD/nvme\" },
    \"offload_param\": { \"device\": \"nvme\", \"nvme_path\": \"$PWD/nvme\" }"

# zero STAGE KEYS MORE: ds.json with that stage, more keys of zero_optimization, and others.
zero() {
    cat >ds.json <<DS
{ "train_batch_size": 8, "steps_per_print": 1, "gradient_clipping": 1.0,
  "optimizer": { "type": "AdamW", "params": { "lr": 1e-2 } }, $3
  "zero_optimization": { "stage": $1, "reduce_bucket_size": 9000 $2 } }
DS
}
# learn RANKS OPTION...: the base, or another --model.
learn() {
    ranks=$1
    shift
    set -- muster-train --deepspeed_config "$PWD/ds.json" --model "$PWD/base" --length 16 \
        --data "$PWD/text" --device cpu --timeout 60 "$@"
    case $ranks in
    1) run "$@" ;;
    4) run muster --label none --grace 2 --name lora-t -H node1:2,node2:2 "$@" ;;
    esac
}
# falls: the last loss is less than 0.97 of the first.
falls() {
    losses | awk 'NR == 1 { first = $1 } { last = $1 } END { exit !(last < 0.97 * first) }'
}

# A base that has learnt something, and one that has learnt something else.
zero 0
learn 1 --model "$PWD/shape" --steps 12 --export "$PWD/base"
is "a base: 0" "$rc" 0
learn 1 --model "$PWD/shape" --steps 12 --seed 7 --export "$PWD/other"
seq 1 400 | awk '{ printf "now %d is followed by %d.\n", $1, $1 + 1 }' >text

lora=r=4,alpha=8,dropout=0.1,targets=q_proj,v_proj,up_proj,down_proj
learn 1 --lora $lora --steps 16
is "adapters are trained: 0" "$rc" 0
losses >curve
ok "... and learn" falls
is "... they alone" "$(sed -n 's/ parameters are trained$//p' out)" "3264 of 34944"
is "... which is said in full" "$(sed -n 's/^LoRA: //p' out)" \
    "r=4,alpha=8,dropout=0.1,rslora=false,targets=q_proj,v_proj,up_proj,down_proj"
ok "... with what a rank holds" grep -q '^and frozen: .* of parameters, 0.00 of buffers$' out
for stage in 0 1 2 3; do
    zero $stage
    learn 4 --lora $lora --steps 16
    ok "four ranks, stage $stage: the same curve" alike curve 16
done
zero 3 "$in_files"
learn 4 --lora $lora --steps 16
ok "stage 3, in files: the same curve" alike curve 16
ok "... frozen ones, too" grep -q "^and frozen: .* of parameters in a file in $PWD/nvme" out
learn 1 --lora $lora --steps 16 --activation_checkpointing
ok "computed twice: the same curve" alike curve 16

# Frozen layers alone.
zero 0
freeze='embed_tokens|layers\.[01]\.|k_proj'
learn 1 --freeze "$freeze" --steps 16
losses >frozen
is "frozen by their names: 0" "$rc" 0
ok "... the others learn" falls
zero 3
learn 4 --freeze "$freeze" --steps 16
ok "... on four ranks, too" alike frozen 16

learn 4 --freeze "$freeze" --steps 4 --export "$PWD/whole"
is "... and all are exported: 0" "$rc" 0
# Which parameters of two models have other bytes.
changed() {
    python3 - "$1/model.safetensors" "$2/model.safetensors" <<'PY'
import json, struct, sys
def tensors(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + size])
    return {name: data[8 + size + at["data_offsets"][0]:8 + size + at["data_offsets"][1]]
            for name, at in head.items() if name != "__metadata__"}
a, b = map(tensors, sys.argv[1:])
assert a.keys() == b.keys() and len(a) > 1
for name in sorted(a):
    if a[name] != b[name]:
        print(name)
PY
}
changed base whole >changed
is "... the frozen ones as they were" "$(grep -Ec "$freeze" changed)" 0
is "... the others changed" "$(wc -l <changed)" 11

# A checkpoint has what is trained: three numbers for each of 3264 parameters.
zero 3
learn 4 --lora $lora --steps 8 --checkpoint_dir "$PWD/save"
is "a checkpoint: 0" "$rc" 0
size=$(cat save/global_step8/shard-* | wc -c)
ok "... has no frozen parameter ($size bytes)" [ "$size" -lt $((12 * 3264 + 4 * 4096)) ]
cp -r save again
learn 4 --lora $lora --steps 16 --checkpoint_dir "$PWD/save"
tail -n 8 curve >rest
ok "... goes on" alike rest 8
zero 0
learn 1 --lora $lora --steps 16 --checkpoint_dir "$PWD/again"
ok "... on another number of ranks, too" alike rest 8
learn 1 --model "$PWD/other" --lora $lora --steps 17 --checkpoint_dir "$PWD/save"
is "another base: 1" "$rc" 1
ok "... by its weights" grep -q 'save/global_step16: it was trained with other frozen parameters' err
learn 1 --lora r=8 --steps 17 --checkpoint_dir "$PWD/save"
is "another rank of adapters: 1" "$rc" 1
ok "... belongs to another model" grep -q 'save/global_step16: .* another model' err

# An adapter is exported as PEFT has it, goes on from there, and is merged.
zero 3
learn 4 --lora r=4,rslora,targets=q_proj,v_proj,down_proj,modules_to_save=embed_tokens --steps 8 \
    --export "$PWD/adapter"
is "an adapter is exported: 0" "$rc" 0
is "... as two files" "$(cd adapter && echo *)" "adapter_config.json adapter_model.safetensors"
ok "... of the names that PEFT gives them" grep -q \
    'base_model.model.model.layers.2.mlp.down_proj.lora_B.weight' adapter/adapter_model.safetensors
# Eight samples, which are each step's.
head -c 129 text >short
cp text long
cp short text
zero 0
learn 1 --lora "$PWD/adapter" --steps 1
is "an adapter is read again: 0" "$rc" 0
losses >adapted
run muster-train merge --model base --adapter adapter --export merged
is "it is merged with its base: 0" "$rc" 0
is "... to a whole model" "$(cd merged && echo *)" "config.json model.safetensors"
learn 1 --model "$PWD/merged" --steps 1
ok "... whose loss is that of the adapter" alike adapted 1
cp long text
changed base merged >changed
is "... in which what has an adapter is other, and the embeddings" "$(wc -l <changed)" 10
cp -r adapter adapter.3
printf x | dd of=adapter.3/adapter_model.safetensors bs=1 conv=notrunc status=none \
    seek=$(($(wc -c <adapter.3/adapter_model.safetensors) - 100))
cat >each <<'EACH'
#!/bin/sh
case $RANK in 3) last=.3 ;; *) last= ;; esac
exec muster-train "$@" --lora "$PWD/adapter$last"
EACH
chmod +x each
run muster --label none --grace 2 --name lora-t -H node1:2,node2:2 "$PWD/each" \
    --deepspeed_config "$PWD/ds.json" --model "$PWD/base" --length 16 --data "$PWD/text" \
    --device cpu --timeout 60 --steps 1
is "a node with another adapter: 1" "$rc" 1
ok "... is named" grep -q "adapter.3 on this rank differs from rank 0's" err
learn 1 --lora "$PWD/adapter/adapter_config.json" --steps 1
is "its configuration alone, for a new adapter: 0" "$rc $(sed -n 's/^LoRA: //p' out)" \
    "0 r=4,alpha=8,dropout=0,rslora=true,targets=q_proj,v_proj,down_proj,modules_to_save=embed_tokens"
learn 1 --model "$PWD/other" --lora "$PWD/adapter" --steps 1
is "an adapter of another base: 1" "$rc" 1
ok "... is told by its weights" grep -q \
    'adapter/adapter_model.safetensors: this adapter was trained with another base' err
run muster-train merge --model other --adapter adapter --export merged2
is "... by merge, too: 1" "$rc" 1
ok "... likewise" grep -q 'this adapter was trained with another base' err
run muster-train merge --model base --adapter adapter --export base
is "a merge over its base: 1" "$rc" 1
ok "... is refused" grep -q -- '--export: base: is the directory of the model, too' err
run muster-train merge --model base --adapter base --export x
is "a merge without an adapter: 1" "$rc" 1
ok "... names the file" grep -q 'base/adapter_config.json: No such file' err
run muster-train merge --model base --adapter adapter
is "a merge to nowhere: 2" "$rc" 2
ok "... names the option" grep -q -- '--export is missing' err

# Quantized.
zero 3
for type in int8 nf4; do
    learn 4 --lora $lora --quantize $type --steps 16
    losses >quantized.$type
    is "$type: 0" "$rc" 0
    ok "... it learns" falls
    ok "... from other weights" sh -c '! cmp -s curve quantized.'$type
    ok "... which is said" grep -q "^frozen weights of blocks are in $type; 0.03 MiB" out
    learn 1 --lora $lora --quantize $type --steps 16
    ok "... one rank: the same curve" alike quantized.$type 16
done
learn 4 --lora $lora --quantize nf4 --steps 4 --checkpoint_dir "$PWD/nf4"
learn 4 --lora $lora --steps 5 --checkpoint_dir "$PWD/nf4"
is "a checkpoint of quantized weights goes on with those alone: 1" "$rc" 1
ok "... for they are others" grep -q 'trained with other frozen parameters' err
learn 4 --freeze "$freeze" --quantize nf4 --steps 1 --export "$PWD/rounded"
is "weights that are rounded are exported: 0" "$rc" 0
changed base rounded >changed
is "... of layers that are frozen" "$(grep -Ec 'layers.[01].*proj.weight|layers.2.*k_proj.weight' changed)" 15
is "... not their other parameters" "$(grep -Ec 'embed|layers.[01].*(norm|bias)' changed)" 0
learn 1 --model "$PWD/rounded" --freeze "$freeze" --steps 1
losses >next
learn 1 --model "$PWD/rounded" --freeze "$freeze" --quantize nf4 --steps 1
ok "... and are the same when they are rounded again" alike next 1

# In 16 bits the masters of adapters are floats, and the frozen parameters have 16 bits.
zero 3 "" '"bf16": { "enabled": true },'
learn 4 --lora $lora --steps 16
is "in 16 bits: 0" "$rc" 0
ok "... they learn" falls

# bad STATUS TEXT OPTION...
bad() {
    status=$1 text=$2
    shift 2
    learn 1 --steps 1 "$@"
    is "$*: $status" "$rc" "$status"
    ok "... $text" grep -qF -e "$text" err
}
zero 0
bad 1 '--lora: r, the rank, is missing' --lora alpha=8
bad 1 '--lora: targets: no linear layer of a block of this model is named c_attn' \
    --lora r=4,targets=c_attn
bad 1 "--freeze '(': " --freeze '('
bad 1 '--freeze: no parameter is frozen: no name has a match' --freeze wte
bad 1 '--freeze: every parameter is frozen: there is nothing to train' --freeze .
bad 1 "--no-decay '(': " --no-decay '('
bad 1 "--no-decay 'wte': no name of a trained parameter has a match" --no-decay wte
bad 1 '--quantize int4: must be int8 or nf4' --quantize int4 --lora r=4
bad 1 '--quantize: no parameter is frozen: int8 is for those that are not trained' --quantize int8
bad 1 "--lora: $PWD/none/x: No such file or directory" --lora "$PWD/none/x"
bad 2 '--freeze: with --lora, all but the adapters is frozen already' --freeze x --lora r=4
is "nothing is left of the files" "$(ls -A nvme)" ""
ok "nothing is left" no_leftovers
finish
