#!/bin/sh
# reader_random.t [SEED [TRIAL]] - from the end of the last node to the end of muster, with signals at
# random moments and readers of every kind, muster ends as it must: see random_readers.py
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

seed=${1:-$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')}
trials=32
[ "${MUSTER_TEST_WIDE:-}" != yes ] || trials=2000
echo "# $trials trials of seed $seed; to repeat one: $0 $seed TRIAL"
slowness
run_limit=600
run python3 "$here/output/random_readers.py" "$seed" "$trials" "$slowness_percent" ${2:+"$2"}
grep '^#' out
is "signals and readers of every kind" "$rc" 0
ok "nothing is left" wait_for 10 nothing_left
finish
