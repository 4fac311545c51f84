#!/bin/sh
# Row 25: the sshd process behind a connection is killed on the node. muster makes another one, and
# the run continues with every byte of its output.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_control 2 count
# By default the node waits for two logins; the next one may take longer on a busy machine.
faulty_start 4 --grace 1 --reconnect 10 ./rank
session_kill node1
ok "muster has found its node again within 10 s" wait_for 10 grep -q 'node1: reconnected' err
ok "every rank continues" wait_for 10 all_count_to 4 100
: >go
finish_run 20
ended 0
says 'node1: connection lost, reconnecting'
ok "every rank's lines are there: once, in order" all_counted 4
finish
