#!/bin/sh
# Output arrives whole, labelled, and all of it; or muster says that it did not.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

two="-H node1:1,node2:1"
# shellcheck disable=SC2086
{
run muster $two sh -c 'echo out; echo err >&2'
is "the label is host and rank" "$(sort out | tr '\n' ' ')" "node1:0: out node2:1: out "
is "stderr goes to stderr" "$(sort err | tr '\n' ' ')" "node1:0: err node2:1: err "
run muster $two --label host sh -c 'echo x'
is "--label host" "$(sort out | tr '\n' ' ')" "node1: x node2: x "
run muster $two --label rank sh -c 'echo x'
ok "--label rank" grep -q '^\[1\] x$' out
run muster $two --label none sh -c 'echo x'
is "--label none" "$(cat out)" "x
x"
run muster $two --show-ranks 1 sh -c 'echo rank $RANK'
is "--show-ranks" "$(cat out)" "node2:1: rank 1"
run muster $two --timestamps --show-ranks 0 sh -c 'echo x'
ok "--timestamps" grep -Eq '[0-9][0-9]:[0-9][0-9]:[0-9][0-9].*x$' out
run muster $two printf 'no newline'
is "a last line without newline gets one" "$(sort out | tr '\n' '|')" \
    "node1:0: no newline|node2:1: no newline|"
run muster -H node1:1 --label none python3 -c 'import sys
sys.stdout.buffer.write(bytes(range(256)) * 100)'
python3 -c 'import sys
sys.stdout.buffer.write(bytes(range(256)) * 100)' >wanted
ok "any bytes, unlabelled, are exactly the rank's" cmp out wanted
run muster $two sh -c 'printf "1%%\r"; printf "2%%\r"; echo done'
ok "a progress bar's redraws are kept" grep -q '2%' out
is "progress lines of muster are only for terminals" "$(grep -c connecting err)" 0

# 2 ranks x 10 MB of numbered lines.
script_file numbers <<'END'
#!/bin/sh
exec awk -v rank="$RANK" 'BEGIN { for (i = 0; i < 100000; i++)
    printf "%d %07d %s\n", rank, i, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghij" }'
END
run muster $two --label none ./numbers
is "20 MB: the run works" "$rc" 0
RANK=0 ./numbers >wanted0
RANK=1 ./numbers >wanted1
grep '^0' out >got0
grep '^1' out >got1
ok "20 MB: every byte of rank 0, in order" cmp got0 wanted0
ok "20 MB: every byte of rank 1, in order" cmp got1 wanted1
is "20 MB: not one line more" "$(wc -l <out)" 200000
run sh -c "muster $two ./numbers | (sleep 1; wc -l)"
is "a slow reader loses nothing" "$(cat out)" 200000

run sh -c "muster $two sh -c 'echo x' >/dev/full"
is "stdout on a full disk: 74" "$rc" 74
run sh -c "{ muster $two ./numbers; echo \$? >code; } | head -n 1 >/dev/null"
is "a reader that leaves ends the run: 74" "$(cat code)" 74
ok "... nothing is left" no_leftovers

# The document goes where the output goes, behind all of it.
run muster $two --label none --json - sh -c 'echo "{"'
is "--json -: first what the ranks say" "$(head -n 2 out)" "{
{"
sed 1,2d out >end.json
is "... then the document" "$(json end.json '[r["code"] for r in d["results"]]')" "[0, 0]"
ok "... and no file of that name" test ! -e -
run sh -c "muster $two --json - true >/dev/full"
is "--json - on a full disk: 74" "$rc" 74
ok "... and why" grep -q -e '--json -: No space left on device' err
run muster $two --json /dev/full true
is "--json FILE on a full disk: 74" "$rc" 74
ok "... and why" grep -q -e '--json /dev/full: No space left on device' err
for command in "clean -H node1:1" "bcast -H node1:1 --to $PWD/to numbers" status; do
    run muster $command --json -
    ok "${command%% *} --json -: the document and nothing else" python3 -m json.tool out /dev/null
done

# Per-rank files.
run muster $two --enable_each_rank_log logs sh -c 'echo out $RANK; echo err $RANK >&2'
is "each_rank_log: nothing on the console" "$(cat out)" ""
is "... a file a rank, called by the run" \
    "$(ls logs | sed 's/^[0-9]\{8\}-[0-9]\{6\}-[0-9a-f]\{4\}_//' | tr '\n' ' ')" "rank0.log rank1.log "
is "... with both streams" "$(sort logs/*rank1.log | tr '\n' ' ')" "err 1 out 1 "
for run in 1 2 3 4 5 6 7 8; do
    muster $two --enable_each_rank_log together true || echo "$run: $?"
done >failed 2>&1
is "runs of one second do not want the same files" "$(cat failed)" ""
run muster $two --enable_each_rank_log None sh -c 'echo x'
is "each_rank_log None is off" "$(wc -l <out)" 2
run muster $two --log-dir both sh -c 'echo out $RANK'
is "--log-dir: the console too" "$(sort out | tr '\n' ' ')" "node1:0: out 0 node2:1: out 1 "
is "... and the files" "$(cat both/*rank0.log)" "out 0"
: >plain
run muster $two --log-dir plain true
is "a log directory that is a file: 73" "$rc" 73
}

# With files the ranks do not wait for a reader that stalls.
mkfifo pipe
start sh -c 'exec 3<>pipe; exec muster -H node1:1 --log-dir files ./numbers >pipe'
ok "ranks with files do not wait for the reader" \
    wait_for 20 sh -c 'cat files/*rank0.log 2>/dev/null | wc -l | grep -qx 100000'
kill -KILL "$pid"
ok "nothing is left" wait_for 30 nothing_left

# On a terminal.
if command -v script >/dev/null; then
    export SHELL=/bin/sh
    script -qec "muster -H node1:1 printf 'a\\033[2Jb\\033[31mred\\033[0m\\a\\n'" typescript \
        >out 2>err </dev/null
    ok "terminal: escape sequences are made visible" grep -q 'a^\[\[2Jb' out
    ok "terminal: colours pass" grep -q "$(printf '\033\[31mred')" out
    ok "terminal: no bell" not grep -q "$(printf '\007')" out
    run muster -H node1:1 --label none printf '\033[2J'
    is "not a terminal: bytes are bytes" "$(od -An -tx1 out | tr -d ' ')" 1b5b324a
else
    skip "escape sequences on a terminal" "script(1) is missing (Debian: bsdutils)"
fi
finish
