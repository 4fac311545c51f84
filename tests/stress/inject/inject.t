#!/bin/sh
# Launcher and agent with the n-th allocation or system call failing: a sample that fits in some
# seconds. tests/stress/inject/walk does all of them.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

command -v python3 >/dev/null || skip_all "python3 is missing"
[ -e "$top_builddir/tests/stress/inject/fail.so" ] ||
    skip_all "not built: a sanitizer has its own malloc"

walk() {
    "$top_srcdir/tests/stress/inject/walk" --build "$top_builddir" "$@" >walk.out 2>&1
    walked=$?
    sed 's/^/# /' walk.out
    return "$walked"
}

ok "a call that fails is a clean error, whichever it is" walk --budget 30
ok "... some of them did fail, and the status says so" grep -Eq ' [1-9][0-9]*: ' walk.out
finish
