#!/bin/sh
# Row 37: a host that never answers: no refusal, nothing. It is named after --connect-timeout, and no
# rank is started anywhere.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_control 2 sleep --connect-timeout "$(stretched 2)"
# It gets our packets, but knows no way back.
on_node node2 ip route add blackhole "$(ip -4 -o addr show bridge0 | sed 's/.*inet \([^/]*\).*/\1/')/32"
faulty --connect-timeout "$(stretched 2)" ./rank
within "muster returns" 3 "$began"
ended 68
says 'node2 +connect +' '1 of 2 nodes failed; nothing was started'
ok "no rank was started" all_ran 0
finish
