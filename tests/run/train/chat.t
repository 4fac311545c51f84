#!/bin/sh
# Records in JSON: a conversation becomes text by a chat template, its answers are learnt, and several
# records are in a sample, each for itself; on any number of ranks, from the file or from shards.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/train/small.sh"

mkdir model
cp "$top_srcdir/tests/unit/trainer/text/small/qwen.json" model/tokenizer.json
echo '{ "eos_token": { "content": "<|endoftext|>" } }' >model/tokenizer_config.json
cat >model/config.json <<'CONFIG'
{ "model_type": "llama", "vocab_size": 608, "hidden_size": 32, "intermediate_size": 48,
  "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
  "max_position_embeddings": 1024, "rms_norm_eps": 1e-6, "tie_word_embeddings": false,
  "rope_theta": 10000 }
CONFIG
# Forty questions and answers, in forms of which each has ten.
seq 1 40 | awk '{
    q = "What is " $1 " and " $1 * 3 % 17 "?"; a = "It is " $1 + $1 * 3 % 17 "."
    if ($1 % 4 == 0)
        printf "{\"messages\": [{\"role\": \"user\", \"content\": \"%s\"}, {\"role\": \"assistant\", \"content\": \"%s\"}]}\n", q, a
    if ($1 % 4 == 1)
        printf "{\"conversations\": [{\"from\": \"human\", \"value\": \"%s\"}, {\"from\": \"gpt\", \"value\": \"%s\"}]}\n", q, a
    if ($1 % 4 == 2)
        printf "{\"instruction\": \"%s\", \"input\": \"\", \"output\": \"%s\"}\n", q, a
    if ($1 % 4 == 3)
        printf "{\"prompt\": \"%s\", \"completion\": \"%s\", \"id\": %d}\n", q, a, $1
}' >pairs.jsonl

# ---- shards ----

run muster-train tokenize --tokenizer model --data pairs.jsonl --output shards --chat-template chatml
is "records as shards: 0" "$rc" 0
ok "... says what it did" grep -q '^40 documents, [0-9]* tokens of 4 bytes in 1 shard of shards$' out
ok "... and by which template" grep -qx 'chat template: chatml' out
cat >look.py <<'PYTHON'
# The documents of a shard: their tokens, and which are learnt, beside the tokens of texts.
import array, json, subprocess, sys
data = open('shards/tokens_000000.bin', 'rb').read()
tokens = array.array('i', data[1024:])
documents = []
for token in tokens:
    if token & 1 << 29:
        documents.append([])
    documents[-1].append((token & (1 << 28) - 1, not token & 1 << 28))
def tokens_of(text):
    said = subprocess.run(['muster-train', 'tokenize', '--tokenizer', 'model', '--show'],
                          input=json.dumps(text) + '\n', capture_output=True, text=True)
    return json.loads(said.stdout)[1:-1] # without what the post-processor adds
for number in (1, 2, 3, 4, 40):
    question = f'What is {number} and {number * 3 % 17}?'
    answer = f'It is {number + number * 3 % 17}.<|im_end|>'
    before = f'<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n'
    document = documents[number - 1]
    assert [t for t, _ in document] == tokens_of(before + answer + '\n'), number
    assert [t for t, learnt in document if learnt] == tokens_of(answer), number
PYTHON
ok "... whose tokens are those of the text, and the answer is learnt" python3 look.py
run muster-train tokenize --tokenizer model --data pairs.jsonl --output all --chat-template chatml \
    --learn all --shard-tokens 300
is "... learning all, in small shards: 0" "$rc" 0
is "... each begins with a record" "$(for f in all/*.bin; do
    python3 -c 'import sys; print(open(sys.argv[1], "rb").read()[1027] >> 5)' "$f"; done | sort -u)" 1

# ---- training ----

# zero STAGE KEYS
zero() {
    cat >ds.json <<DS
{ "train_batch_size": 4, "steps_per_print": 1, "gradient_clipping": 1.0,
  "optimizer": { "type": "AdamW", "params": { "lr": 1e-2 } },
  "zero_optimization": { "stage": $1 } }
DS
}
# learn RANKS DATA OPTION...
learn() {
    ranks=$1 data=$2
    shift 2
    set -- muster-train --deepspeed_config "$PWD/ds.json" --model "$PWD/model" --data "$PWD/$data" \
        --chat-template chatml --device cpu --timeout 60 "$@"
    case $ranks in
    1) run "$@" ;;
    4) run muster --label none --grace 2 --name chat-t -H node1:2,node2:2 "$@" ;;
    esac
}
zero 0
learn 1 pairs.jsonl --length 160 --steps 30
is "a training on records: 0" "$rc" 0
ok "... says what it reads" grep -q "; tokenizer: .*/model/tokenizer.json; chat template: chatml; data: .*/pairs.jsonl, [0-9]* samples of 160 tokens, from 40 records$" out
losses >curve
ok "... learns" awk 'NR == 1 { first = $1 } { last = $1 } END { exit !(last < 0.5 * first) }' curve
learn 1 shards --length 160 --steps 30
ok "on shards: the same curve" alike curve 30
zero 3
learn 4 pairs.jsonl --length 160 --steps 30
is "on four ranks, in stage 3: 0" "$rc" 0
ok "... the same curve" alike curve 30

# A record is for itself: what else is in its sample makes no difference.
zero 0
sed -i 's/1e-2/0/' ds.json
for length in 64 160 400; do
    learn 1 pairs.jsonl --length $length --steps 1 --eval-data "$PWD/pairs.jsonl"
    sed -n 's/.*evaluation after step 1: loss \([0-9.]*\).*/\1/p' out
done >evaluated
is "evaluated in samples of three lengths" "$(wc -l <evaluated)" 3
ok "... the same loss" awk 'NR == 1 { first = $1 }
    { if ($1 - first > 2e-5 || first - $1 > 2e-5) bad = 1 } END { exit bad }' evaluated

learn 1 pairs.jsonl --length 48 --steps 1
ok "records that are cut are counted, and those that are left out" \
    grep -q "from 6 records, 6 of them cut by [0-9]* tokens, without 34 of which nothing is learnt$" out
learn 1 pairs.jsonl --length 20 --steps 1
is "no answer is within the length: 1" "$rc" 1
ok "... says so" grep -q "pairs.jsonl: has no record of which anything is learnt" err

# ---- broken ones ----

cp pairs.jsonl broken.jsonl
sed -i '7s/.*/{"messages": [{"role": "user", "content": 7}]}/; 9s/.*/{"messages":/' broken.jsonl
learn 1 broken.jsonl --length 160 --steps 1
is "a broken line: 1" "$rc" 1
ok "... by its number, and what to do" \
    grep -q "/broken.jsonl:7: .*messages\[0\].content.* (--bad-lines N leaves out up to N such lines)" err
learn 1 broken.jsonl --length 160 --steps 1 --bad-lines 1
is "one more than may be: 1" "$rc" 1
ok "... by its number" grep -q "/broken.jsonl:9: .*(2 bad lines, more than --bad-lines allows)" err
learn 1 broken.jsonl --length 160 --steps 1 --bad-lines 2
is "as many as may be: 0" "$rc" 0
ok "... are named" grep -q "/broken.jsonl:7: .*: left out" err
ok "... and counted" grep -q "from 38 records, without 2 broken lines$" out

mkdir mixed
cp pairs.jsonl mixed
cp text mixed/text.txt
learn 1 mixed --length 64 --steps 1
is "records and text together: 1" "$rc" 1
ok "... by name" grep -q "mixed/pairs.jsonl has records, and .*/mixed/text.txt has not" err
run muster-train --deepspeed_config ds.json --model model --data pairs.jsonl --length 64 --steps 1
is "a conversation without a template: 1" "$rc" 1
ok "... what to say" grep -q "pairs.jsonl:1: .*--chat-template" err
learn 1 pairs.jsonl --length 64 --steps 1 --chat-template cahtml
is "a template that is not known: 1" "$rc" 1
ok "... which are" grep -q "chatml, qwen2, qwen2.5, qwen3, llama3" err
train 1 --tokenizer bytes --data pairs.jsonl
is "records without a tokenizer: 1" "$rc" 1
ok "... says so" grep -q "pairs.jsonl: records in JSON need a tokenizer" err

ok "nothing is left" no_leftovers
finish
