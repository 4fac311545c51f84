#!/bin/sh
# Text as tokens: muster-train tokenize writes and shows them; a training takes them from shards, or makes
# them by the tokenizer of its model; and it refuses bytes for a model that has learnt other tokens.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/train/small.sh"

small=$top_srcdir/tests/unit/trainer/text/small
mkdir tokenizer
cp "$small/qwen.json" tokenizer/tokenizer.json
words=$(python3 -c 'import json; t = json.load(open("tokenizer/tokenizer.json"))
print(1 + max(list(t["model"]["vocab"].values()) + [a["id"] for a in t["added_tokens"]]))')

# ---- shown ----

# show TOKENIZER: the tokens of the strings in that file.
show() {
    rc=0
    muster-train tokenize --tokenizer "$1" --show <strings >out 2>err || rc=$?
}

python3 - "$small/texts.jsonl" <<'PYTHON'
import json, sys
with open('strings', 'w') as strings, open('want', 'w') as want:
    for line in open(sys.argv[1]):
        row = json.loads(line)
        print(json.dumps(row['text']), file=strings)
        print(json.dumps(row['qwen']), file=want)
PYTHON
show tokenizer
is "tokenize --show: 0" "$rc" 0
ok "... shows the tokens of each string" cmp -s out want
printf '"a"\n{}\n' >strings
show tokenizer/tokenizer.json
is "what is no string: 1" "$rc" 1
ok "... with its line" grep -q "line 2: is no JSON string" err

# ---- shards ----

# tokens_of FILE...: the tokens of shards, one a line.
tokens_of() {
    python3 -c 'import array, sys
for name in sys.argv[1:]:
    data = open(name, "rb").read()
    head = array.array("I", data[:1024])
    tokens = array.array({ 20240520: "H", 20240801: "I" }[head[0]], data[1024:])
    assert len(tokens) == head[2]
    print(*tokens, sep="\n")' "$@"
}
python3 -c 'import json, sys; print(json.dumps(open("text").read()))' >strings
show tokenizer
tr -d '[],' <out | xargs -n1 >want
run muster-train tokenize --tokenizer tokenizer --data text --output whole --end none
is "tokenize of a text: 0" "$rc" 0
count=$(wc -l <want)
is "... says what it did" "$(cat out)" "1 document, $count tokens of 2 bytes in 1 shard of whole"
tokens_of whole/tokens_000000.bin >got
ok "... the same tokens" cmp -s got want

mkdir texts
head -n 200 text >texts/a.txt
tail -n +201 text >texts/b.txt
: >texts/.hidden
run muster-train tokenize --tokenizer tokenizer --data texts --output parts --shard-tokens 1000 \
    --end 'word'
is "... of two documents, in small shards: 0" "$rc" 0
ok "... and says so" grep -q "2 documents, .* tokens of 2 bytes in [0-9]* shards of parts" out
end=$(echo '"word"' | muster-train tokenize --tokenizer tokenizer --show | tr -d '[],' | cut -d' ' -f2)
is "... each document ends in --end" \
    "$(tokens_of parts/*.bin | grep -cx "$end")" 2
is "... all shards but the last are full" \
    "$(for f in parts/*.bin; do stat -c %s "$f"; done | head -n -1 | sort -u)" 3024
run muster-train tokenize --tokenizer tokenizer --data text --output parts --end none
is "a directory that has shards: 1" "$rc" 1
ok "... and what to do" grep -q "parts: is not empty: remove it, or write to another directory" err
run muster-train tokenize --tokenizer tokenizer --data text --output none
is "no token for the end of a text is known, but the template adds one: 0" "$rc" 0
printf 'ok \377' >bad
run muster-train tokenize --tokenizer tokenizer --data bad --output other --end none
is "what is not UTF-8: 1" "$rc" 1
ok "... where" grep -q "bad: from byte 1 on: byte 4 is not UTF-8" err
is "... and nothing stays" "$(ls -d other* 2>/dev/null)" ""
run muster-train tokenize --tokenizer tokenizer
is "without --data: 2" "$rc" 2

# ---- training ----

shape="--vocabulary $words --positions 16 --width 32 --heads 2 --blocks 3 --length 16 --device cpu"
# learn DATA OPTION...
learn() {
    data=$1
    shift
    # shellcheck disable=SC2086
    run muster-train --deepspeed_config ds.json --model gpt2 $shape --data "$data" --steps 8 "$@"
}
learn whole
is "a training on shards: 0" "$rc" 0
losses >curve
learn text --tokenizer tokenizer
is "... on the text itself: 0" "$rc" 0
ok "... the same curve" alike curve 8
ok "... and says by what" grep -q "; tokenizer: tokenizer; data: text, " out
learn text
is "... on its bytes: 0" "$rc" 0
ok "... another curve" not alike curve 8 2>/dev/null
learn text --tokenizer tokenizer --vocabulary 100
is "a vocabulary that is too small: 1" "$rc" 1
ok "... both numbers" grep -q "tokenizer: has $words tokens, and the model only 100" err

learn whole --export model
is "an export: 0" "$rc" 0
# go_on OPTION...: with the weights that were exported.
go_on() {
    run muster-train --deepspeed_config ds.json --model model --length 16 --device cpu --steps 4 \
        --data text "$@"
}
go_on
is "loaded weights and text without a tokenizer: 1" "$rc" 1
ok "... what is missing" grep -q "text: the model has learnt $words tokens, and model has no tokenizer.json" err
cp tokenizer/tokenizer.json model/
go_on
is "... with the model's own: 0" "$rc" 0
ok "... which it names" grep -q "; tokenizer: model/tokenizer.json; data: text, " out
go_on --tokenizer bytes
is "... or bytes, if asked for: 0" "$rc" 0
cp "$small/llama2.json" model/tokenizer.json
go_on
is "... another model's, with more tokens: 1" "$rc" 1
ok "... says so" grep -q "model/tokenizer.json: has [0-9]* tokens, and the model only $words" err

ok "nothing is left" no_leftovers
finish
