#!/bin/sh
# Beside row 17: a guard that is stopped, or that one of its own ranks holds as a debugger would.
# The agent continues the one, also when the stop comes meanwhile, and kills the other and takes
# its place. Without an agent, another one does.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

ranks_wait
control 4 -H node1:2,node2:2 ./rank

guard_is_stopped() {
    layers_missing "$1" && return
    layers "$1"
    rm -f go
    faulty_start 4 --grace 1 --heartbeat 0.5 --dead-after 4 -H node1:2,node2:2 ./rank
    kill -STOP "$(guard_of "$(agent_of 0)")"
    since=$(now_ms)
    : >go
    finish_within "$1: it is continued, and muster returns" 8
    ended 0
}

guard_is_stopped pidns,userns
guard_is_stopped subreaper

rm -f go

# Its agent is killed meanwhile, and nobody is there to take its place.
faulty_start 4 --grace 1 -H node1:2,node2:2 ./rank
agent=$(agent_of 0)
guard=$(guard_of "$agent")
kill -STOP "$guard"
kill -KILL "$agent"
since=$(now_ms)
finish_within "without its agent: muster returns" 4
says "cleaned up: node1: [0-9]+ processes of the run had to be killed: pid $guard \\(muster-agent "
ended 69

faulty_start 4 --grace 1 --dead-after 60 -H node1:2,node2:2 ./rank
kill -STOP "$(guard_of "$(agent_of 0)")"
kill -INT "$pid"
since=$(now_ms)
finish_within "Ctrl-C: muster returns" 7
ended 130

# PTRACE_ATTACH and PTRACE_TRACEME, by their numbers. A debugger keeps what it holds.
cat >attach.py <<'END'
import ctypes, os, time
if os.environ.get("FAULT") and os.environ["RANK"] == "1":
    assert ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0) == 0, "not allowed here"
    time.sleep(100)
END
layers pidns,userns,cgroup,subreaper
faulty --grace 1 --heartbeat 0.5 --dead-after 4 --no_local_rank -H node1:2,node2:2 attach.py
if grep -q 'not allowed here' err; then
    skip "a rank that holds its guard" "ptrace is restricted here"
else
    ended 69
    says "node1 +running +muster's guard process was stopped by a debugger"
fi

cat >traceme.py <<'END'
import ctypes, os, signal
signal.signal(signal.SIGUSR1, lambda *_: print("heard", flush=True))
assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0
os.kill(os.getpid(), signal.SIGUSR1)
os._exit(8)
END
faulty --no_local_rank -H node1:1 traceme.py
ended 8
is "a rank that wants to be traced by its guard gets its signals" "$(cat out)" heard
finish
