#!/bin/sh
# Row 17: SIGKILL to a guard. The kernel ends its namespace; without one the agent takes its place.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

machinery_ranks
machinery_dies pidns,userns 100 'guard_of $agent'
ok "pidns: nothing is left" clean
machinery_dies cgroup,subreaper 2000 'guard_of $agent'
ok "cgroup: nothing is left" clean
machinery_dies subreaper 2000 'guard_of $agent'
ok "subreaper: nothing is left" clean
finish
