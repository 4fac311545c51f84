#!/bin/sh
# Twenty runs that go on while their nodes are lost, come back, are told to go and are lied to, as
# drawn at random. MUSTER_ELASTIC_SEED repeats a seed that a log has named.
# SPDX-License-Identifier: Apache-2.0
seed=${MUSTER_ELASTIC_SEED:-}
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

command -v python3 >/dev/null || skip_all "python3 is missing"
need sshd
need namespaces
[ -n "$seed" ] || seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')

elastic() {
    "$top_srcdir/tests/stress/elastic/elastic" --build "$top_builddir" --seed "$seed" "$@" >elastic.out 2>&1
    went=$?
    sed 's/^/# /' elastic.out
    return "$went"
}

ok "20 schedules: all end as promised" elastic --count 20 --patience 0
ok "... and 20 were done" grep -q '0 of 20 schedules' elastic.out
finish
