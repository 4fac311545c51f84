#!/bin/sh
# Beside rows 16 and 17: an agent or a guard that crashes writes no core file, which would have the
# secrets of --env-file in it. A rank has the limit of its login.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

ulimit -c unlimited 2>/dev/null || skip_all "the hard limit of core files is low here"
mkdir cores
(cd cores && sh -c 'kill -ABRT $$') 2>/dev/null
ls cores/core* >/dev/null 2>&1 || skip_all "core files do not go into the working directory here"
rm -r cores

rank_does <<'END'
ulimit -c >"limit-$RANK"
while [ ! -e go ]; do sleep 0.2; done
END
layers subreaper
: >go
control 4 -H node1:2,node2:2 ./rank

# crashes WHO PID
crashes() {
    rm -f go limit-*
    faulty_start 4 --cwd "$PWD" --grace 1 -H node1:2,node2:2 ./rank
    ok "every rank has said its limit" wait_for 10 test -s limit-3
    kill -ABRT "$(eval "$2")"
    finish_run 20
    ended 69
    is "$1: it has left no core file" "$(find . "$HOME" / -maxdepth 1 -name 'core*' -newer limit-0)" ""
    is "$1: the ranks' own limit" "$(sort -u limit-*)" unlimited
}

crashes "the agent" 'agent_of 0'
crashes "its guard" 'guard_of "$(agent_of 0)"'
finish
