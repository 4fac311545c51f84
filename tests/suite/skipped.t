#!/bin/sh
# A unit test that is skipped is not a failed one, and a failed one is not hidden by that.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"

script_file like_cmocka <<'END'
#!/bin/sh
printf '1..3\nok 1 - a\nnot ok 2 # SKIP b\nnot ok 3 - c\n'
exit 7
END
rc=0
sh "$top_srcdir/tests/unit/run" ./like_cmocka >out || rc=$?
is "the exit status is the program's" "$rc" 7
ok "what was skipped is said in TAP's way" grep -q '^ok 2 - b # SKIP' out
ok "what failed has failed" grep -q '^not ok 3 - c$' out
is "the rest is as it was" "$(head -n 2 out | tr '\n' '|')" "1..3|ok 1 - a|"
finish
