#!/bin/sh
# Output arrives whole, and all of it; or muster says that it did not.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

two="-H node1:1,node2:1"
# shellcheck disable=SC2086
{
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
}
finish
