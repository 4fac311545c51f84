#!/bin/sh
# Row 16: SIGKILL to an agent. Its node has nothing left at once, and muster says which it was.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

machinery_ranks
machinery_dies pidns,userns 100 'echo $agent'
ok "pidns: nothing is left" clean
machinery_dies cgroup,subreaper 2000 'echo $agent'
ok "cgroup: nothing is left" clean
machinery_dies subreaper 2000 'echo $agent'
ok "subreaper: nothing is left" clean
finish
