#!/bin/sh
# Beside the library tokenizers: random strings have the same tokens in muster-train, by two small
# tokenizers that the library makes, and by those in MUSTER_TEST_TOKENIZERS/NAME/tokenizer.json, if
# that is set: real ones. MUSTER_TEST_TRANSFORMERS is the system that has the library (hugging_python).
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need_transformers() {
    "$here/train/hugging_python"
}
need_tokenizer() {
    muster-train tokenize --help >/dev/null 2>&1 ||
        { echo "muster-train was built without oneDNN, PCRE2 or utf8proc"; return 1; }
}
need trainer
need transformers
need tokenizer
least=20000 real=200000 # strings: for each tokenizer, and for all real ones together
cp "$here/train/hugging_tokens.py" .

# some_tokens FILE: a dozen of its added tokens, each with a NUL after it.
some_tokens() {
    python3 -c 'import json, sys
tokens = [t["content"] for t in json.load(open(sys.argv[1], encoding="utf-8"))["added_tokens"]]
for token in tokens[::len(tokens) // 12 + 1]:
    sys.stdout.buffer.write(token.encode() + b"\0")' "$1"
}
# beside NAME COUNT SEED: the tokens of that many strings, and of the hard ones, by ./NAME.json.
beside() {
    some_tokens "$1.json" | xargs -0 python3 hugging_tokens.py strings "$2" "$3" >strings
    ok "$1: tokenizers encode $2 strings and more" \
        sh -c '"$1" hugging_tokens.py encode "$2.json" <strings >want && [ "$(wc -l <want)" -ge "$3" ]' \
        sh "$here/train/hugging_python" "$1" "$2"
    ok "... muster-train, too" sh -c 'muster-train tokenize --tokenizer "$1.json" --show <strings >got' \
        sh "$1"
    ok "... the same tokens" same_tokens
}
same_tokens() {
    paste strings want got | awk -F '\t' '
        $2 != $3 { print "# " $1 ": " $2 " by tokenizers, " $3 " by muster-train"; bad = 1; exit }
        END { if (!bad) print "# " NR " strings"; exit bad || NR == 0 }'
}

cat "$top_srcdir"/doc/*.[1-8] "$top_srcdir/HACKING" >text
for kind in qwen llama2; do
    ok "tokenizers make a tokenizer of the kind of $kind" \
        sh -c '"$1" hugging_tokens.py train "$2" "$2.json" <text' sh "$here/train/hugging_python" $kind
    beside $kind $least 1
done

seed=2
if [ -n "${MUSTER_TEST_TOKENIZERS:-}" ]; then
    set -- "$MUSTER_TEST_TOKENIZERS"/*/tokenizer.json
    ok "MUSTER_TEST_TOKENIZERS has tokenizers" test -e "$1"
    count=$((real / $#))
    [ "$count" -ge "$least" ] || count=$least
    for file; do
        name=$(basename "$(dirname "$file")")
        cp "$file" "$name.json"
        beside "$name" "$count" $seed
        rm "$name.json"
        seed=$((seed + 1))
    done
fi
ok "nothing is left" no_leftovers
finish
