#!/bin/sh
# The first rank that fails decides how the run ends; everything else is stopped.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/complaints.sh"

four="-H node1:2,node2:2"

# shellcheck disable=SC2086
{
run muster --json end.json $four sh -c 'test $RANK != 2 || exit 3; exec sleep 1000'
is "rank 2 exits 3: so does muster" "$rc" 3
ok "the report names rank, node and code" grep -q 'rank 2 on node2.*exit 3' err
ok "the report comes last" sh -c "tail -n 3 err | grep -q 'rank'"
is "first failure in --json" "$(json end.json 'd["first_failure"]["rank"]')" 2
timed "the others were stopped within 1 s" json_says end.json \
    'max(r["end"] for r in d["results"]) - d["results"][2]["end"] < slow'
ok "nothing is left" no_leftovers

run muster --json end.json $four sh -c 'test $RANK != 2 || { sleep 1000 & exit 3; }; exec sleep 1000'
is "rank 2 exits 3, but a child of it holds its output: 3" "$rc" 3
timed "... and the others were stopped within 1 s" json_says end.json \
    'max(r["end"] for r in d["results"]) - d["results"][2]["end"] < slow'

# Ranks fail while others are just being started: TERM must reach those too.
for turn in 1 2 3 4 5 6 7 8 9 10; do
    run timeout 400 muster --grace 1000 $four sh -c 'test $RANK != 2 || exit 3; exec sleep 1000'
    [ "$rc" = 3 ] || break
done
is "a rank that fails at once, ten times: nobody waits for the grace" "$turn $rc" "10 3"

run muster $four sh -c 'test $RANK != 1 || { echo "Traceback: it broke" >&2; exit 4; }; exec sleep 1000'
ok "the report shows the rank's last words" sh -c "sed -n '/rank 1/,\$p' err | grep -q 'Traceback: it broke'"
run muster $four sh -c 'test $RANK != 3 || kill -SEGV $$; exec sleep 1000'
is "killed by SIGSEGV: 139" "$rc" 139
ok "... in words" grep -q 'rank 3 on node2.*SIGSEGV' err
run muster $four sh -c 'exit $((RANK + 5))'
ok "all fail: one of their codes" sh -c "[ $rc -ge 5 ] && [ $rc -le 8 ]"
run muster $four true
is "all well: 0" "$rc" 0
is "... and not a word" "$(cat out; complaints)" ""
run env MUSTER_TEST_CONTAIN=subreaper muster --agent "$test_agent" $four \
    sh -c 'test $RANK != 2 || kill -KILL $PPID; exec sleep 1000'
ok "a rank that kills what started it, at once: nobody says that nothing was started" \
    sh -c "[ $rc = 69 ] && grep -q '1 of 2 nodes failed:' err"
run muster $four sh -c 'test $RANK = 0 || exec sleep 0.3'
is "a rank may end early" "$rc" 0
}
finish
