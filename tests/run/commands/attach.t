#!/bin/sh
# muster attach shows what a run writes, to whoever asks: all of it, or the end.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/commands/detach.sh"

# shellcheck disable=SC2086
{
detach $four ./rank
start muster attach
ok "attach shows it from the beginning" wait_for 10 grep -q 'begun 3' out
ok "... on both streams" wait_for 10 grep -q 'begun 3' err
kill -INT "$pid"
finish_run 10
is "Ctrl-C ends attach with 130" "$rc" 130
ok "... and says that the run continues" grep -q "^muster: $id is still running" err
ok "... which it does" status_says 'd["state"] == "running"'

# One reader is stopped from before the output comes until the run is over.
: >still.out
muster attach "$id" >>still.out 2>>still.err &
still=$!
test_pids="$test_pids $still"
ok "one attach is stopped" wait_for 10 grep -q 'begun 3' still.out
kill -STOP "$still"
start muster attach "$id"
: >go
ok "the run does not wait for it" wait_for 60 is_over
finish_run 30
is "the other one ends with the status of the run" "$rc" 0
ok "... and has every byte" cmp -s out "$kept/stdout"
is "... of every rank" "$(for i in 0 1 2 3; do numbers_of $i; done | sort -u)" \
    "$(seq 1000000 1400000 | cksum)"
kill -CONT "$still"
ok "the one that was stopped gets the rest" wait_for 30 is_gone "$still"
ok "... to the last byte" cmp -s still.out "$kept/stdout"
is "a run that is over leaves these" "$(ls "$kept" | tr '\n' ' ')" \
    "log plan.json result.json stderr stdout "
ok "nothing is left" no_leftovers
run muster attach "$id"
is "a run that is over can be seen again" "$rc $(cksum <out)" "0 $(cksum <"$kept/stdout")"
detach $four --env CODE=5 ./rank
: >go
run muster attach "$id"
is "attach ends as the run did" "$rc" 5
ok "... with its report" grep -q 'failed first: exit 5' err

if need_pty >/dev/null; then
    detach -H node1:1 printf 'a\033[2Jb\033[31mred\033[0m\n'
    ok "it is over" wait_for 10 is_over
    script -qec "muster attach $id" typescript </dev/null >/dev/null 2>&1
    ok "a terminal gets no escapes but colours" grep -qF "a^[[2Jb$(printf '\033')[31mred" typescript
    ok "the file has them" grep -qF "$(printf 'a\033[2Jb')" "$kept/stdout"
else
    skip "a terminal gets no escapes but colours" "script(1) is missing (Debian: bsdutils)"
fi

# Files whose lines are known, some of them longer than what is read at once.
detach -q -H node1:1 true
ok "it is over" wait_for 10 is_over
line=$(printf '%070000d' 0)
printf '%s\n' one "$line" three "$line" five >"$kept/stdout"
printf 'err1\nerr2' >"$kept/stderr"
tail_is() {
    run muster attach --tail "$1" "$id"
    is "--tail $1" "$rc $(cksum <out) $(cat err)" "0 $(tail -n "$1" "$kept/stdout" | cksum) $2"
}
tail_is 0 ""
tail_is 1 err2
tail_is 2 "$(cat "$kept/stderr")"
tail_is 3 "$(cat "$kept/stderr")"
tail_is 4 "$(cat "$kept/stderr")"
tail_is 9 "$(cat "$kept/stderr")"
detach -H node1:1 sh -c 'seq 10; until [ -e go ]; do sleep 0.2; done; echo end'
ok "its first lines are kept" wait_for 10 grep -q 10 "$kept/stdout"
start muster attach --tail 2 "$id"
ok "--tail of a run that is running: what is there" wait_for 10 grep -q 10 out
: >go
finish_run 10
is "... and what comes" "$(tr '\n' ' ' <out)" "9 10 end "
detach -q -H node1:1 true
is "-q: the id alone" "$rc $(cat err)" "0 "
ok "... which attach knows" muster attach "$id"
}
finish
