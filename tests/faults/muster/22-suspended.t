#!/bin/sh
# Row 22: Ctrl-Z. muster refuses to be stopped, since its nodes would take it for dead; the run
# continues.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

ranks_wait
control 4 -H node1:2,node2:2 ./rank
faulty_start 4 --heartbeat "$(stretched 0.2)" --dead-after "$(stretched 1)" -H node1:2,node2:2 ./rank
kill -TSTP "$pid"
ok "it says why not" wait_for 5 grep -q 'Ctrl-Z ignored.*end the run after [0-9.]* s' err
is "it was not stopped" "$(sed -n 's/^State:.\(.\).*/\1/p' "/proc/$pid/status" | tr S R)" R
# Nor by a terminal that is not the background's (stty tostop).
kill -TTOU "$pid"
kill -TTIN "$pid"
# If it is stopped anyway, the nodes end the run after --dead-after: this is longer.
time_passes "$(stretched 1.5)"
: >go
finish_run 20
ended 0
says_not 'suspect|lost'
finish
