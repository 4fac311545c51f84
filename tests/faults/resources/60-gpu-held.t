#!/bin/sh
# Row 60: somebody else has a GPU of the run open. muster says before the start who that is, and
# with --require-idle-gpus starts nothing. A file stands for a GPU here.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

mkdir dev
: >dev/nvidia0
: >dev/nvidia1
MUSTER_TEST_GPU_GLOB="$PWD/dev/nvidia[0-9]*"
MUSTER_AGENT=$test_agent
export MUSTER_TEST_GPU_GLOB MUSTER_AGENT
rank_does <<'END'
exit 0
END
control 2 -H node1:2 --require-idle-gpus ./rank
sleep 1000 <dev/nvidia0 &
holder=$!
test_pids="$test_pids $holder"
wait_for 5 grep -qsx sleep "/proc/$holder/comm"
who="GPU 0 is in use by pid $holder of $(id -un), for [0-9]+ s: sleep 1000"

faulty -H node1:2 ./rank
is "a GPU in use: 0" "$rc" 0
ok "... all ranks ran" all_ran 2
says "warning: node1: $who"

faulty --require-idle-gpus -H node1:2 ./rank
within "--require-idle-gpus: muster returns" 3 "$began"
ended 73
says "node1 +gpus +$who"
ok "... nothing was started" all_ran 0

faulty --require-idle-gpus -H node1:2 -i node1:1 ./rank
is "another GPU is idle: 0" "$rc $(cat err)" "0 "
run muster exec -H node1:1 true
is "muster exec does not look" "$rc $(cat err)" "0 "
ok "nobody has touched who has the GPU" test -e "/proc/$holder"
finish
