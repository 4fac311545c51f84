#!/bin/sh
# Row 50: a node's monotonic clock is a day ahead; another one's wall clock is an hour off, and jumps
# during the run, as muster's own does. Leases do not notice, and times in the report and in front of
# lines are those of this machine.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

# Every muster-agent on node2 that takes preloaded libraries gets a wall clock that is so far ahead
# as a file says.
shim=$top_builddir/tests/stress/inject/clock.so
mkdir -p "$nodes_dir/node2"
[ ! -e "$shim" ] || cat >"$nodes_dir/node2/sshd_extra" <<END
SetEnv HOME=$nodes_dir/node2/home MUSTER_TEST_TAG=$tag LD_PRELOAD=$shim INJECT_IN=muster-agent CLOCK_AHEAD=$PWD/node2_ahead
END
world_nodes 2

# Spans know nothing of jumps, and nothing happens outside of the run.
times_make_sense() {
    json_says end.json 'all(d["start"] - 0.1 * slow <= r["start"] <= r["end"] <= d["end"] + 0.1 * slow
                            for r in d["results"]) and 2 < d["end"] - d["start"] < 60'
}

# Rank 2 runs for longer than the lease.
short_lease() {
    echo "--heartbeat $(stretched 0.3) --dead-after $(stretched 1) --env LONG=$(stretched 2)"
}

# ---- the monotonic clock ----

# shellcheck disable=SC2046
{
rank_does <<'END'
[ "$RANK" != 2 ] || { sleep "$LONG"; exit 5; }
exec sleep 100
END
if why=$(need_time_namespaces); then
    node_ahead node3 3
    control 4 -H node1:2,node3:2 ./rank
    faulty $(short_lease) -H node1:2,node3:2 ./rank
    ended 5
    says 'rank 2 on node3 failed first: exit 5 \([1-9][0-9]?\.[0-9] s after its start\)'
    says_not 'suspect|lost'
    ok "the times in --json make sense" times_make_sense
else
    skip "a monotonic clock that is a day ahead" "$why"
fi

# ---- the wall clock ----

[ -e "$shim" ] || skip_all "clock.so was not built: a sanitizer has to be the first library"
real=$(command -v muster)
mkdir bin
script_file bin/muster <<END
#!/bin/sh
exec env LD_PRELOAD="$shim" INJECT_IN=muster CLOCK_AHEAD="$PWD/here_ahead" "$real" "\$@"
END
PATH=$PWD/bin:$PATH
MUSTER_AGENT=$top_builddir/tests/stress/inject/muster-agent
export MUSTER_AGENT

rank_does <<'END'
echo begun
while [ ! -e jumped ]; do sleep 0.2; done
echo after
[ "$RANK" != 2 ] || { sleep "$LONG"; exit 5; }
exec sleep 100
END

# stamped WORD AHEAD: the time in front of every rank's line is that of a clock so far ahead of
# ours, within a minute.
stamped() {
    python3 - "$1" "$2" <<'END'
import re, sys, time
stamps = re.findall(r'^\S+ (\d\d):(\d\d):(\d\d)\.\d+ ' + sys.argv[1], open('out').read(), re.M)
now = time.localtime(time.time() + int(sys.argv[2]))
apart = [(int(h) - now.tm_hour) * 3600 + (int(m) - now.tm_min) * 60 + int(s) - now.tm_sec
         for h, m, s in stamps]
sys.exit(len(stamps) != 4 or any(60 < a % 86400 < 86340 for a in apart))
END
}

# clock_is_off SECONDS WORD: node2's, from the start; then it jumps to the other side, and ours
# jumps too.
clock_is_off() {
    rm -f jumped
    echo "$1" >node2_ahead
    echo 0 >here_ahead
    faulty_start 4 -H node1:2,node2:2 --timestamps $(short_lease) ./rank
    ok "$1 s: all have written" wait_for 10 lines out 4
    ok "$1 s: lines have the time of this machine" stamped begun 0
    echo "$((-$1))" >node2_ahead
    echo "$1" >here_ahead
    : >jumped
    finish_run 20
    ended 5
    says "node2: the clock is up to 3600\\.[0-9] s $2 this machine's" \
        'rank 2 on node2 failed first: exit 5 \([1-9][0-9]?\.[0-9] s after its start\)'
    says_not 'suspect|lost|node1:'
    ok "$1 s: ... also after a jump" stamped after "$1"
    ok "$1 s: the times in --json make sense" times_make_sense
}

echo 0 >node2_ahead
echo 0 >here_ahead
control 4 -H node1:2,node2:2 ./rank
clock_is_off 3600 "ahead of"
clock_is_off -3600 behind
}
finish
