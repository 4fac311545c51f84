#!/bin/sh
# How runs end: the first failure decides, everything else is stopped, nothing is left.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

four="-H node1:2,node2:2"

# Everything a run may leave behind: children, daemons of their own session, deaf ones.
script_file stubborn <<'END'
#!/bin/sh
trap '' TERM
setsid sh -c 'trap "" TERM; while :; do sleep 100; done' &
(sleep 1000 &)
echo ready
while :; do sleep 100; done
END

all_ready() {
    lines out 4
}

# shellcheck disable=SC2086
{
run muster --json end.json $four sh -c 'test $RANK != 2 || exit 3; exec sleep 60'
is "rank 2 exits 3: so does muster" "$rc" 3
ok "the report names rank, node and code" grep -q 'rank 2 on node2.*exit 3' err
ok "the report comes last" sh -c "tail -n 3 err | grep -q 'rank'"
is "first failure in --json" "$(json end.json 'd["first_failure"]["rank"]')" 2
ok "the others were stopped within 1 s" json_says end.json \
    'max(r["end"] for r in d["results"]) - d["results"][2]["end"] < slow'
ok "nothing is left" no_leftovers

run muster --json end.json $four sh -c 'test $RANK != 2 || { sleep 1000 & exit 3; }; exec sleep 60'
is "rank 2 exits 3, but a child of it holds its output: 3" "$rc" 3
ok "... and the others were stopped within 1 s" json_says end.json \
    'max(r["end"] for r in d["results"]) - d["results"][2]["end"] < slow'

# Ranks fail while others are just being started: TERM must reach those too.
for turn in 1 2 3 4 5 6 7 8 9 10; do
    run timeout 20 muster $four sh -c 'test $RANK != 2 || exit 3; exec sleep 60'
    [ "$rc" = 3 ] || break
done
is "a rank that fails at once, ten times: nobody waits for the grace" "$turn $rc" "10 3"

run muster $four sh -c 'test $RANK != 1 || { echo "Traceback: it broke" >&2; exit 4; }; exec sleep 60'
ok "the report shows the rank's last words" sh -c "sed -n '/rank 1/,\$p' err | grep -q 'Traceback: it broke'"
run muster $four sh -c 'test $RANK != 3 || kill -SEGV $$; exec sleep 60'
is "killed by SIGSEGV: 139" "$rc" 139
ok "... in words" grep -q 'rank 3 on node2.*SIGSEGV' err
run muster $four sh -c 'exit $((RANK + 5))'
ok "all fail: one of their codes" sh -c "[ $rc -ge 5 ] && [ $rc -le 8 ]"
run muster $four true
is "all well: 0" "$rc" 0
is "... and not a word" "$(cat out err)" ""
run env MUSTER_TEST_CONTAIN=subreaper muster --agent "$test_agent" $four \
    sh -c 'test $RANK != 2 || kill -KILL $PPID; exec sleep 60'
ok "a rank that kills what started it, at once: nobody says that nothing was started" \
    sh -c "[ $rc = 69 ] && grep -q '1 of 2 nodes failed:' err"
run muster $four sh -c 'test $RANK = 0 || exec sleep 0.3'
is "a rank may end early" "$rc" 0

run muster $four ./nothing-here
is "no such program: 127" "$rc" 127
ok "... is named" grep -q nothing-here err
echo x >plain
run muster $four ./plain
is "not executable: 126" "$rc" 126
cat >strict.py <<'END'
import argparse
argparse.ArgumentParser().parse_args()
END
run muster $four strict.py
is "a script that does not take --local_rank: its own status" "$rc" 2
ok "... and what to do" grep -q 'hint: .*: give muster --no_local_rank' err
run muster --no_local_rank $four strict.py --epochs 3
ok "... not for other arguments" not grep -q hint: err
: >secret.py
chmod 0 secret.py
if [ "$(id -u)" != 0 ]; then # root reads everything; see nonroot.t
    run muster $four secret.py
    is "a script that cannot be read: 126" "$rc" 126
    ok "... is named" grep -q 'cannot read the script secret.py: Permission denied' err
fi
run muster -H node1:1 --cwd /no/such/place true
ok "no such directory: not 0" test "$rc" != 0
ok "... is named" grep -q /no/such/place err
run muster --json /no/such/place/end.json $four sh -c ': >ran'
is "no such directory for --json: 73" "$rc" 73
ok "... before anything is started" not test -e ran

run muster --timeout 1 --grace 1 $four sleep 60
is "--timeout: 124" "$rc" 124
ok "... nothing is left" no_leftovers

start muster --grace 20 $four sh -c 'trap "echo stopping; exit 0" TERM; echo ready; while :; do sleep 0.1; done'
wait_for 20 all_ready
kill -INT "$pid"
finish_run 15
is "Ctrl-C: 130" "$rc" 130
is "... every rank got TERM and time for it" "$(grep -c stopping out)" 4
ok "... nothing is left" no_leftovers

start muster --grace 600 $four ./stubborn
wait_for 20 all_ready
kill -INT "$pid"
ok "the user is told what a second Ctrl-C does" wait_for 5 grep -qi 'again' err
is "deaf ranks stay during the grace" "$(leftovers | grep -c 'sh ./stubborn')" 4
kill -INT "$pid"
finish_run 15
is "second Ctrl-C kills: 130" "$rc" 130
ok "... nothing is left, daemons included" no_leftovers

start muster --grace 1 $four ./stubborn
wait_for 20 all_ready
kill -TERM "$pid"
finish_run 15
is "SIGTERM to muster: 143" "$rc" 143
ok "... nothing is left" no_leftovers

start muster --grace 1 $four ./stubborn
wait_for 20 all_ready
kill -KILL "$pid"
ok "kill -9 of muster: everything ends" wait_for 30 nothing_left
wait "$pid" 2>/dev/null

start muster --grace 1 $four ./stubborn
wait_for 20 all_ready
agent=$(leftovers | sed -n 's/ .*muster-agent.*//p' | head -n 1)
ok "an agent is found" test -n "$agent" && kill -KILL "$agent"
finish_run 30
is "kill -9 of an agent: 69" "$rc" 69
ok "... its node is named" grep -Eq 'node[12]' err
ok "... everything ends" wait_for 30 nothing_left

}
finish
