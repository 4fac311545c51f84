#!/bin/sh
# Beside row 11: a rank that is root mounts something over /proc. In a PID namespace that is its
# own affair; elsewhere nobody sees any more what to end, and nobody may say that nothing is left.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

need world
rank_does <<'END'
mount -t tmpfs none /proc
exec sleep 600
END
control 1 -H node1:1 ./rank

# The rank, not one of the run before that is still on its way out.
sleeps() {
    pgrep -x sleep | grep -qvxF "${slept:-none}"
}

# hidden_start LAYERS: with mounts of its own, so that we keep our /proc.
hidden_start() {
    layers "$1"
    slept=$(pgrep -x sleep)
    ran_reset
    # The leak check of a sanitizer looks at /proc, too.
    start env ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" unshare --mount muster --env FAULT=yes --grace 1 -H node1:1 ./rank
    ok "$1: the rank has begun" wait_for 20 sleeps
}

for layers in pidns,userns subreaper; do
    layers_missing "$layers" && continue
    hidden_start "$layers"
    kill -INT "$pid"
    finish_run 30
    is "$layers: exit status" "$rc" 130
    [ "$layers" = subreaper ] || ok "$layers: nothing is left" clean
done
says 'node1: the agent could not verify that all processes are gone'
pkill -x sleep

hidden_start subreaper
agent=$(agent_of 0)
# shellcheck disable=SC2046
kill -STOP "$agent" $(guard_of "$agent")
# shellcheck disable=SC2046
kill -KILL "$agent" $(guard_of "$agent")
finish_run 30
is "its agent is killed: exit status" "$rc" 69
says 'cleaned up: node1: not checked: /proc shows no processes'
finish
