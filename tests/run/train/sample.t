#!/bin/sh
# muster-train sample: what was learnt by heart is continued, and its gaps are filled.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need trainer
export OMP_NUM_THREADS=1
# train MODEL STEPS OPTION...: exported to MODEL. The rate goes down to 0: it must not end where the
# loss has just gone up.
train() {
    model=$1 steps=$2
    shift 2
    cat >ds.json <<END
{ "train_batch_size": 8, "optimizer": { "type": "AdamW", "params": { "lr": 1e-2 } },
  "scheduler": { "type": "WarmupDecayLR", "params": {
    "warmup_max_lr": 1e-2, "warmup_num_steps": 10, "total_num_steps": $steps } } }
END
    run muster-train --deepspeed_config ds.json --model "$model" --vocabulary 257 --width 32 \
        --heads 2 --blocks 2 --length 32 --export "$model" --steps "$steps" "$@"
}
sample() {
    run muster-train sample --length 32 "$@"
}
# As long as a sample for BERT, so that it need only learn which byte stands where.
yes 'In autumn the leaves fall. ' | head -n 1000 | tr -d '\n' >turning
yes 'In autumn, trees shed leaves. .' | head -n 1000 >standing

train gpt2 250 --positions 32 --data turning
if grep -q 'built without oneDNN' err; then
    skip_all "muster-train was built without oneDNN"
fi
is "GPT-2 learns a sentence: 0" "$rc" 0
sample --model gpt2 --prompt "In autumn the" --bytes 12 --temperature 0
is "... and continues it" "$(cat out)" "In autumn the leaves fall"
sample --model gpt2 --prompt x --bytes 50 --temperature 9 --seed 1
is "a high temperature: 51 bytes" "$(head -c 51 out | wc -c) $rc" "51 0"
ok "... none that a terminal obeys" [ "$(tr -d '\n\t -~\200-\377' <out | wc -c)" = 0 ]
cp out first
sample --model gpt2 --prompt x --bytes 50 --temperature 9 --seed 1
ok "... the same again by the same seed" cmp -s first out
sample --model gpt2 --prompt x --bytes 50 --temperature 9 --seed 2
ok "... not by another" not cmp -s first out

train hello 100 --positions 34 --data standing
is "BERT learns one: 0" "$rc" 0
sample --model hello --prompt "In autumn, _____ shed leaves. ."
is "... and fills its gap" "$(cat out)" "In autumn, trees shed leaves. ."

# refused WORDS OPTION...: 1 or 2, and why.
refused() {
    words=$1
    shift
    sample "$@"
    ok "refused: $words" sh -c "[ $rc = $status ] && grep -q -e '$words' err"
}
status=2
refused "--model is missing" --prompt x
refused "--prompt is missing" --model gpt2
refused "--temperature: .hot. is not a number from 0 to 100" \
    --model gpt2 --prompt x --temperature hot
refused "unknown option --tokens" --model gpt2 --tokens 3
status=1
refused "nothing/config.json: No such file" --model nothing --prompt x
refused "--length 99: the model accepts at most 32 tokens" --model gpt2 --prompt x --length 99
refused "--prompt: no _ to fill" --model hello --prompt x
refused "--prompt: 33 bytes are more than --length 32" \
    --model hello --prompt "_23456789012345678901234567890123"
refused "--prompt is empty" --model gpt2 --prompt ""
finish
