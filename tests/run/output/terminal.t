#!/bin/sh
# What a terminal would obey is made visible there, and only there.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

if command -v script >/dev/null; then
    export SHELL=/bin/sh
    script -qec "muster -H node1:1 printf 'a\\033[2Jb\\033[31mred\\033[0m\\a\\n'" typescript \
        >out 2>err </dev/null
    ok "terminal: escape sequences are made visible" grep -q 'a^\[\[2Jb' out
    ok "terminal: colours pass" grep -q "$(printf '\033\[31mred')" out
    ok "terminal: no bell" not grep -q "$(printf '\007')" out
    run muster -H node1:1 --label none printf '\033[2J'
    is "not a terminal: bytes are bytes" "$(od -An -tx1 out | tr -d ' ')" 1b5b324a
else
    skip "escape sequences on a terminal" "script(1) is missing (Debian: bsdutils)"
fi
finish
