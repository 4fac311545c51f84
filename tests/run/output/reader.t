#!/bin/sh
# When the nodes are done, muster waits for the reader of its output as any filter does: until it has
# read everything, until it is gone, or until the user leaves.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/complaints.sh"

# 3 MB: more than a pipe holds, and less than muster takes from a node before anybody reads.
awk 'BEGIN { for (i = 0; i < 70000; i++) printf "%07d a line that somebody may read later\n", i }' >text
size=$(wc -c <text)
script_file says <<'END'
#!/bin/sh
: >begun
cat text
exit "${1:-0}"
END
script_file resting <<'END'
#!/bin/sh
kill -STOP $$
exec cat
END
one="-H node1:1 --label none --grace 1 --heartbeat 0.2"

# piped COMMAND...: its output goes to a reader that rests, and then into `shown`.
piped() {
    rm -f pipe begun
    mkfifo pipe
    ./resting <pipe >shown &
    reader=$!
    test_pids="$test_pids $reader"
    start sh -c 'exec "$@" >pipe' sh "$@"
}

# The rank has begun, and no agent is left.
nodes_are_done() {
    [ -e begun ] && [ -z "$(cat "/proc/$pid/task/$pid/children" 2>/dev/null)" ]
}

reader_reads() {
    kill -CONT "$reader"
    finish_run 20
    wait "$reader"
}

# told SIGNAL: it has come, and muster has said what is unread.
told() {
    kill -"$1" "$pid"
    wait_for 10 grep -Eq 'the reader has not read [0-9]+ bytes of output \(repeat to drop' err
}

# left_within SECONDS SIGNAL WHAT: after that signal.
left_within() {
    since=$(now_ms)
    kill -"$2" "$pid"
    finish_run 20
    took_at_most "$3" "$1" $(($(now_ms) - since))
}

# What was counted as lost and what was read is everything, but for what one write() holds.
loss_is_counted() {
    kill -CONT "$reader"
    wait "$reader"
    lost=$(sed -n 's/^muster: \([0-9]*\) bytes of output were lost.*/\1/p' err)
    more=$((lost + $(wc -c <shown) - size))
    [ "$more" -ge 0 ] && [ "$more" -le 65536 ] && head -c "$(wc -c <shown)" text | cmp - shown
}

# shellcheck disable=SC2086
{
# ---- it reads later ----
piped muster $one ./says
ok "the nodes are done, whoever reads" wait_for 20 nodes_are_done
rests_s=1
[ "${MUSTER_TEST_WIDE:-}" != yes ] || rests_s=90
sleep "$rests_s"
ok "muster waits for the reader" not is_gone "$pid"
reader_reads
is "... which then gets everything" "$rc $(cmp text shown && echo all)" "0 all"
# But of a machine that is busy.
is "... and nobody complains" "$(grep -v -e ': suspect:' -e ': heard again' err)" ""

piped muster exec $one --json - ./says
wait_for 20 nodes_are_done
ok "one Ctrl-C says what is unread" told INT
kill -TSTP "$pid"
ok "Ctrl-Z stops muster, which has no nodes any more" \
    wait_for 10 grep -q '^State:.T' "/proc/$pid/status"
kill -CONT "$pid"
reader_reads
is "... neither loses anything" "$rc $(head -c "$size" shown | cmp - text && echo all)" "0 all"
tail -c +$((size + 1)) shown >end.json
is "... nor the document of --json -" "$(json end.json 'd["exit_status"]')" 0

# ---- the user leaves ----
for signal in INT:130 TERM:143 HUP:129; do
    piped muster $one ./says
    wait_for 20 nodes_are_done
    ok "${signal%:*}: muster says what is unread" told ${signal%:*}
    left_within 2 ${signal%:*} "${signal%:*} again: muster leaves"
    is "... with the status of that signal" "$rc" ${signal#*:}
    ok "... and counts what it has dropped" loss_is_counted
done
piped muster $one --json end.json ./says 3
wait_for 20 nodes_are_done
told INT
left_within 2 INT "a rank that failed: muster leaves"
is "... with the status of the rank" "$rc" 3
ok "... which the report names" grep -q '^muster: rank 0 on node1 failed first: exit 3' err
ok "... and counts what it has dropped" loss_is_counted
ok "... also in --json FILE" json_says end.json "d['lost_bytes'] == $lost"
piped muster $one ./says
wait_for 20 nodes_are_done
kill -INT "$pid" # three different ones: two of a kind may become one
kill -TERM "$pid"
left_within 3 HUP "three in a row: muster leaves"

# ---- the report and the document have readers, too ----
mkfifo full
exec 8<>full
head -c 65536 /dev/zero >&8
rm -f begun
start sh -c 'exec "$@" >/dev/null 2>full' sh muster $one ./says 3
ok "the report has no reader: the nodes are done" wait_for 20 nodes_are_done
kill -INT "$pid"
kill -TERM "$pid"
left_within 3 HUP "... and the third signal leaves"
is "... with the status of the rank" "$rc" 3
rm -f begun
start muster $one --json full ./says
wait_for 20 nodes_are_done
wait_for 10 sh -c "[ \$(wc -c <out) = $size ]"
ok "--json has no reader: Ctrl-C says so" told INT
left_within 2 INT "... and the second one leaves"
is "... with the status of that signal" "$rc" 130
exec 8<&-

# ---- the reader rests while the rank is still writing ----
script_file endless <<'END'
#!/bin/sh
: >begun
exec yes "$1: a line of which there are too many to be kept by anybody"
END
# It writes nothing for a while.
rank_waits() {
    rank=$(pgrep -f "^yes $tag") && wrote=$(grep wchar "/proc/$rank/io") && sleep 0.5 &&
        [ "$(grep wchar "/proc/$rank/io")" = "$wrote" ]
}
piped muster $one ./endless "$tag"
if ok "the rank waits for the reader" wait_for 20 rank_waits; then
    ok "... and muster needs no more than 64 MiB" test \
        "$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status")" -le $((65536 * slowness_build))
fi
kill -INT "$pid"
ok "Ctrl-C: muster says what it waits for" \
    wait_for 20 grep -Eq 'waiting for the reader: .* [0-9]+ bytes of output wait here' err
reader_reads
is "... and the reader gets all of it" "$rc $(grep -c lost err)" "130 0"

# ---- the reader goes ----
# With files a reader that is slow to go has missed lines, too, and muster says so.
one="-H node1:1 --label none"
for command in "muster $one" "muster exec $one" "muster $one --json -" "muster $one --log-dir logs"; do
    { $command ./says 2>err; echo $? >code; } | head -n 1 >shown
    is "$command, into head: 74 and one line" "$(cat code) $(complaints |
        grep -vc 'were not shown here, but are in the log files')" "74 1"
done
}
ok "nothing is left" wait_for 10 nothing_left
finish
