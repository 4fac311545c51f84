#!/bin/sh
# muster is nowhere laxer than ssh: random configurations, known_hosts files and logins, both are
# asked. By hand: tests/differential/compare --configs 20000 --known-hosts 2000 --logins 1000.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"

need sshd
seed=$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')
run_limit=300
run python3 "$top_srcdir/tests/differential/compare" --build "$top_builddir" --seed "$((seed + 1))" \
    --configs 1000 --known-hosts 60 --logins 40
ok "1000 configurations, 60 known_hosts files and 40 logins" test "$rc" = 0 || sed 's/^/# /' out
ok "... of which our own reader has understood many" \
    sh -c "sed -n \"s/.*configurations: {'same': \([0-9]*\).*/\1/p\" out | grep -Eq '^[0-9]{2,}$'"
ok "... and muster has accepted and refused keys as ssh does" \
    sh -c "sed -n \"s/.*known_hosts: {'same': \([0-9]*\).*/\1/p\" out | grep -Eq '^[0-9]{2,}$'"
ok "... and has logged in where ssh has" grep -Eq "logins: .*'in': [1-9]" out
finish
