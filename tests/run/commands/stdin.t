#!/bin/sh
# Standard input for ranks: muster exec gives what is piped to all, --stdin gives it to one rank.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/reconnect/reconnect.sh"

# fed FILE COMMAND...: run with this standard input.
fed() {
    from=$1
    shift
    # shellcheck disable=SC2016
    run sh -c 'from=$1; shift; exec "$@" <"$from"' sh "$from" "$@"
}
# shellcheck disable=SC2016
two="muster exec -H node1,node2"
seq 1 200000 >numbers
sum=$(sha256sum <numbers)
printf 'one\ntwo\nthree\n' >words

# shellcheck disable=SC2086
{
fed numbers $two --label none sha256sum
is "a file goes to every host" "$(cat out)" "$sum
$sum"
run sh -c "cat numbers | $two --label none sha256sum"
is "and a pipe" "$(cat out)" "$sum
$sum"
run sh -c "printf 'half a line' | $two cat"
is "a line without an end" "$(sort out | tr '\n' '|')" "node1: half a line|node2: half a line|"
run $two wc -c
is "/dev/null: its end" "$(sort out | tr '\n' '|')" "node1: 0|node2: 0|"
mkfifo line
start sh -c "exec $two -- sh -c 'read -r x; echo \"\$x\"' <line"
exec 9>line
echo one >&9
finish_run 60
is "a command that reads one line ends, though its input has not" "$(sort out | tr '\n' '|')" \
    "node1: one|node2: one|"
ok "... and nothing is left" no_leftovers
exec 9>&-
}
run sh -c 'yes | muster exec -H node1 -- sh -c "exec <&-; echo closed"'
is "a command that closes its input" "$(cat out)" "node1: closed"
run sh -c 'yes | muster exec -H node1,node2 -- sh -c "head -n 2; echo over"'
is "an endless input" "$(grep -c over out)" 2

# What is not for a rank is left for the next program.
for command in 'muster exec --stdin=none -H node1 true' 'muster exec --transport=ssh -H nosuch9.invalid true' \
    'muster exec -H node1 --cwd=/nosuch true' 'muster exec --dry-run -H node1 true' \
    'muster -H node1:2 true' 'muster bcast -H node1 words'; do
    fed words sh -c "$command >/dev/null 2>&1; cat"
    is "$command: reads nothing" "$(cat out)" "$(cat words)"
done

fed / muster exec -H node1 wc -c
is "what cannot be read is said, and the rank has an end" \
    "$rc $(cat out) $(grep -c 'standard input: Is a directory' err)" "0 node1: 0 1"

# A rank that is slow holds up the others, and memory stays small: no more than 256 KiB and two full
# pipes are between the file and the command.
script_file takes <<END
#!/bin/sh
if mkdir '$PWD/is_slow' 2>/dev/null; then
    until [ -e '$PWD/go' ]; do sleep 0.05; done
    sha256sum
else
    tee '$PWD/fast' | sha256sum
fi
END
head -c 40000000 /dev/zero >much
# shellcheck disable=SC2016
start sh -c 'exec muster exec --label none -H node1,node2 -- "$PWD/takes" <much'
reader_is_full() {
    now=$(stat -c %s fast 2>/dev/null || echo 0)
    [ "$now" = "$last" ] && [ "$now" -gt 0 ] && same=$((same + 1)) || same=0
    last=$now
    [ "$same" -ge 5 ]
}
last='' same=0
wait_for 20 reader_is_full
ok "the slowest decides: the other has $(stat -c %s fast) of 40000000 bytes" \
    [ "$(stat -c %s fast)" -lt 1000000 ]
peak=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$pid/status")
ok "... muster has taken $peak KiB" [ "$peak" -lt $((64 * 1024)) ]
touch go
finish_run 60
is "... all of it comes" "$(sort -u out)" "$(sha256sum <much)"

# A run
script_file says <<'END'
#!/bin/sh
echo "$RANK $(cat)"
END
printf 'node1 slots=2\nnode2 slots=2\n' >hosts
fed words muster --hostfile hosts --label none --stdin=2 "$PWD/says"
is "--stdin 2: that rank, the others have none" "$(sort out | tr '\n' '|')" \
    "0 |1 |2 one|3 |three|two|"
fed words muster --hostfile hosts --label none --stdin all sh -c 'echo "$RANK $(tr "\n" " ")"'
is "--stdin all: every rank" "$(sort out | tr '\n' '|')" \
    "0 one two three |1 one two three |2 one two three |3 one two three |"
for word in '-stdin=0' '--input=0'; do
    fed words muster -H node1:2 --label none "$word" sh -c 'echo "$RANK $(head -n 1)"'
    is "mpirun's and srun's $word" "$(sort out | tr '\n' '|')" "0 one|1 |"
done
run muster -H node1:2 --label none --dry-run --stdin=1 true
ok "--dry-run shows it" grep -q '^standard input: to rank 1' out

# What a generation has not been sent is for the next one. The first one is sent all that there is
# when it reads, so the second line comes later.
script_file fails_once <<END
#!/bin/sh
read -r x
echo "\$MUSTER_GENERATION \$x"
[ "\$MUSTER_GENERATION" = 1 ] || exit 7
END
start sh -c 'exec muster -H node1 --label none --max-restarts 1 --restart-delay 0 --restart-on 7 \
    --stdin=0 "$PWD/fails_once" <line'
exec 9>line
echo first >&9
wait_for 20 lines out 1
wait_for 20 grep -q 'restart' err
echo second >&9
finish_run 60
exec 9>&-
is "the next generation gets what comes then" "$(cat out)" "0 first
1 second"

# An elastic run that shrinks: to all ranks that there are, and to one that is no longer there.
script_file find <<'END'
#!/bin/sh
cat hosts
END
script_file reads <<'END'
#!/bin/sh
echo "$MUSTER_GENERATION: rank $RANK"
while read -r word && [ "$word" != end ]; do echo "$MUSTER_GENERATION: rank $RANK $word"; done
END
# shrinks RANK: with --stdin=RANK, from four ranks to two.
shrinks() {
    printf 'node1:2\nnode2:2\n' >hosts
    start sh -c "exec muster --host-discovery-script ./find --nnodes 1:2 --grow-interval 0 --grace 1 \
        --label none --stdin=$1 ./reads <line"
    exec 9>line
    wait_for 20 grep -q '^0: rank 3$' out
    echo first >&9
    wait_for 20 grep -q '^0: rank 3 first$' out
    echo node1:2 >hosts
    wait_for 30 grep -q '^1: rank 1$' out
}
shrinks all
echo second >&9
echo end >&9
finish_run 60
exec 9>&-
is "an elastic run: what comes then goes to the ranks that there are" \
    "$rc $(grep -h ' second$' out | sort | tr '\n' '|')" "0 1: rank 0 second|1: rank 1 second|"
shrinks 3
exec 9>&-
finish_run 60
ok "... that the one rank is gone is said" grep -q \
    'warning: standard input: there is no rank 3 now, with a world size of 2; it waits for one' err

# Over SSH, by a connection that breaks.
use_sshd 2
# shellcheck disable=SC2016
start sh -c 'seq 1 3000000 | (head -c 4000000; until [ -e again ]; do sleep 0.05; done; cat) |
    muster exec --label none --reconnect 20 --dead-after 30 -H node1,node2 -- \
    sh -c "tee $PWD/came.\$(cat /proc/sys/kernel/random/uuid) | sha256sum"'
has_come() {
    [ "$(cat came.* 2>/dev/null | wc -c)" -ge 7000000 ]
}
wait_for 30 has_come
break_connection node1
touch again
finish_run 60
is "a connection that broke: all came once" "$(sort -u out)" "$(seq 1 3000000 | sha256sum)"
ok "... it did break" grep -q 'node1: reconnected after' err
ok "nothing is left" wait_for 5 nothing_left
finish
