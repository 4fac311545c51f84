#!/bin/sh
# Fifty launches with faults drawn at random, a launcher that lives long, and the same over SSH
# a few times. MUSTER_SOAK_SEED repeats a seed that a log has named.
# SPDX-License-Identifier: Apache-2.0
seed=${MUSTER_SOAK_SEED:-}
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

command -v python3 >/dev/null || skip_all "python3 is missing"
command -v bash >/dev/null || skip_all "bash is missing (the ranks that speak PMI by hand need it)"
[ -n "$seed" ] || seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')

slowness
soak() {
    MUSTER_SOAK_SLOW_PERCENT=$slowness_percent "$top_srcdir/tests/stress/soak/soak" --build "$top_builddir" --seed "$seed" "$@" >soak.out 2>&1
}
tell() {
    sed 's/^/# /' soak.out
}

ok "50 launches, each with a fault: all end as promised" soak --count 50 --long 3
tell
ok "... and 50 were done" grep -q '0 of 50 launches' soak.out
if why=$(need_sshd); then
    ok "10 over SSH" soak --count 10 --long 0 --sshd
    tell
else
    skip "10 over SSH" "$why"
fi
finish
