#!/bin/sh
# Who calls muster, or its agent, may ignore or block any signal, and may have closed standard
# input, output and error: a run goes as always, and its ranks know nothing of that.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

env --block-signal --ignore-signal true 2>/dev/null ||
    skip_all "env(1) knows no --block-signal (coreutils 8.31)"

script_file rank <<'END'
#!/bin/sh
grep -E '^Sig(Blk|Ign)' /proc/self/status
exit 3
END
printf 'SigBlk:\t%016d\nSigIgn:\t%016d\n' 0 0 >clear

# The rank's signals, as the kernel has them.
rank_is_clear() {
    sed 's/^node1:0: //' out | cmp - clear
}

for way in --block-signal --ignore-signal; do
    run env "$way" muster -H node1:1 ./rank
    is "$way: the rank's exit status" "$rc" 3
    ok "$way: nothing is blocked or ignored in the rank" rank_is_clear
    ok "$way: nothing is left" no_leftovers
done

run env --ignore-signal MUSTER_TEST_CONTAIN=subreaper muster --agent "$test_agent" -H node1:1 \
    sh -c 'kill -KILL $(ps -o ppid= -p $PPID)'
ok "--ignore-signal: how an agent has ended is known" \
    grep -q 'muster-agent was killed by SIGKILL' err
ok "... and nothing is left" no_leftovers

for pair in INT:130 TERM:143; do
    signal=${pair%:*}
    start env --block-signal --ignore-signal="$signal" muster -H node1:2 \
        sh -c 'echo on; exec sleep 1000'
    wait_for 20 lines out 2
    kill -"$signal" "$pid"
    finish_run 20
    is "$signal is heard" "$rc" "${pair#*:}"
    ok "... and nothing is left" no_leftovers
done

# run_closed REDIRECTIONS: how muster exits then.
run_closed() {
    rm -f ran-*
    rc=0
    eval 'MUSTER_TEST_TAG=$tag timeout --foreground -k 10 60 muster -H node1:2 \
        sh -c "echo said; echo told >&2; : >ran-\$RANK"' "$1" || rc=$?
    ok "$1: every rank runs" test -e ran-0 -a -e ran-1
    ok "$1: nothing is left" no_leftovers
}
run_closed '<&- >out 2>err'
is "no standard input: 0, and all is there" "$rc $(grep -c said out) $(grep -c told err)" "0 2 2"
run_closed '>&- 2>err'
is "no standard output: 74, and the rest is there" "$rc $(grep -c told err)" "74 2"
run_closed '2>&- >out'
is "no standard error: 74, and the rest is there" "$rc $(grep -c said out)" "74 2"
run_closed '<&- >&- 2>&-'
is "none at all: 74" "$rc" 74

# What a login shell does to the agent.
if need_sshd >/dev/null; then
    use_sshd 1
    echo "trap '' CHLD INT TERM HUP PIPE" >"$nodes_dir/node1/home/.bashrc"
    run muster -H node1:1 ./rank
    is "a login shell that ignores signals: the rank's exit status" "$rc" 3
    ok "... nothing is ignored in the rank" rank_is_clear
    ok "... and nothing is left" wait_for 10 nothing_left
else
    skip "a login shell that ignores signals" "sshd is missing"
fi
finish
