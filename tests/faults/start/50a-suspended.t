#!/bin/sh
# Beside row 50: machines that are suspended for longer than the lease. Where muster slept on the
# same machine, its run continues, and so it does when all were stopped or frozen. An agent whose
# muster was awake has long been given up: it does not wait another lease.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

inject=$top_builddir/tests/stress/inject
[ -e "$inject/clock.so" ] || skip_all "clock.so was not built: a sanitizer has to be the first library"
ranks_wait
preload="env LD_PRELOAD=$inject/clock.so BOOT_AHEAD=$PWD/suspended"

# suspendable: like faulty_start, with the dynamic agent and clocks that can jump.
suspendable() {
    rm -f suspended go
    ran_reset
    # shellcheck disable=SC2086
    start $preload muster --json end.json --agent "$inject/muster-agent" --env FAULT=yes \
        --grace 1 --heartbeat 0.5 --dead-after 10 -H node1:2 ./rank
    ok "every rank runs" wait_for 30 all_ran 2
}

control 2 -H node1:2 ./rank
faulty_start 2 --heartbeat 0.5 --dead-after 2 -H node1:2 ./rank
agent=$(agent_of 0)
sleepers="$pid $agent $(guard_of "$agent")"
# shellcheck disable=SC2086
{
kill -STOP $sleepers
time_passes 4
kill -CONT $sleepers
}
time_passes 3
ok "all were stopped: the run continues" not is_gone "$pid"
: >go
finish_run 20
ended 0
says 'muster itself did not run for [34] s'

suspendable
echo 3600 >suspended
time_passes 3
ok "both slept: the run continues" not is_gone "$pid"
: >go
finish_run 20
ended 0
says 'muster itself did not run for 3600 s'

suspendable
ranks=$(pgrep -P "$(guard_of "$(agent_of 0)")")
kill -STOP "$pid"
echo 3600 >suspended
since=$(now_ms)
for rank in $ranks; do
    wait_for 20 is_gone "$rank"
done
now_ms >ended_ms
within "the agent slept, muster is silent: its ranks have ended" 5 "$since"
kill -CONT "$pid"
finish_run 20
ended 69
finish
