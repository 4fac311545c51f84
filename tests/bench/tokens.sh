# tokens.sh - the part of run that is about text as tokens, beside Hugging Face's tokenizers
# SPDX-License-Identifier: Apache-2.0

tokens_bytes=${TOKENS_BYTES:-100000000}

# bench_tokens TOKENIZER...: each a directory with tokenizer.json, or that file.
bench_tokens() {
    rounds=${ROUNDS:-3}
    hugging=$top/tests/run/train/hugging_python
    "$hugging" || exit 1
    [ $# -gt 0 ] || {
        echo "usage: tests/bench/run tokens TOKENIZER... (directories with tokenizer.json)" >&2
        exit 2
    }
    work=$(mktemp -d "${TMPDIR:-/tmp}/muster-bench.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP PIPE
    cp "$top/tests/run/train/hugging_tokens.py" "$work"
    tokens_text
    printf '%-16s %7s %9s %9s %9s %11s %9s\n' tokenizer threads "start s" seconds MB/s tokenizers \
        "x faster"
    for tokenizer; do
        name=$(basename "${tokenizer%/tokenizer.json}")
        [ ! -d "$tokenizer" ] || tokenizer=$tokenizer/tokenizer.json
        cp "$tokenizer" "$work/tokenizer.json"
        for threads in 1 2; do
            rm -f "$work/times"
            tokens_rounds
            tokens_row
        done
    done
}

# Sources and documents of this machine, as far as they are UTF-8; again, if they are few.
tokens_text() {
    find /usr/share/doc /usr/include /usr/lib/python3* /usr/share/perl* -type f \
        \( -name '*.txt' -o -name '*.html' -o -name '*.md' -o -name copyright -o -name '*.h' \
        -o -name '*.py' -o -name '*.pm' \) -size -1000k | sort | xargs -d '\n' cat |
        iconv -c -f UTF-8 -t UTF-8 | head -c $tokens_bytes >"$work/some"
    while [ "$(stat -c %s "$work/some")" -lt $tokens_bytes ] && [ -s "$work/some" ]; do
        cat "$work/some" "$work/some" | head -c $tokens_bytes >"$work/more"
        mv "$work/more" "$work/some"
    done
    iconv -c -f UTF-8 -t UTF-8 <"$work/some" >"$work/text" # its end may be half a character
    bytes=$(stat -c %s "$work/text")
    echo "$bytes bytes of text"
}

# Seconds of the start, of all, and of tokenizers without its start; in turn.
tokens_rounds() {
    round=0
    while [ "$round" -lt "$rounds" ]; do
        echo '""' >"$work/empty"
        OMP_NUM_THREADS=$threads tokens_seconds --show <"$work/empty" >"$work/start"
        OMP_NUM_THREADS=$threads tokens_seconds --data "$work/text" --output "$work/shards" \
            --end none >"$work/ours"
        rm -r "$work/shards"
        (cd "$work" && RAYON_NUM_THREADS=$threads "$hugging" hugging_tokens.py speed tokenizer.json \
            text) >"$work/theirs"
        paste -d' ' "$work/start" "$work/ours" "$work/theirs" >>"$work/times"
        round=$((round + 1))
    done
}

# tokens_seconds OPTION...: how long muster-train tokenize took.
tokens_seconds() {
    python3 "$top/tests/bench/measure.py" "$top_builddir/trainer/muster-train" tokenize \
        --tokenizer "$work/tokenizer.json" "$@" 3>&1 >"$work/said" | cut -d' ' -f1
}

# The least of each: other work only ever adds.
tokens_row() {
    awk -v name="$name" -v threads="$threads" -v bytes="$bytes" '
        { for (i = 1; i <= 3; i++) if (NR == 1 || $i < best[i]) best[i] = $i }
        END { ours = best[2] - best[1]
              printf "%-16s %7d %9.2f %9.2f %9.1f %11.1f %9.2f\n", name, threads, best[1], ours,
                  bytes / ours / 1e6, bytes / best[3] / 1e6, best[3] / ours }' "$work/times"
}
