#!/bin/sh
# A unit test that is skipped is not a failed one, and a failed one is not hidden by that. A script
# for which no time is left is skipped as a whole, and says so.
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
script_file a.t <<END
. "$top_srcdir/tests/run/lib.sh"
ok "has run" true
finish
END
# a_t UNTIL: what the script says if that is its last second to begin in.
a_t() {
    env top_srcdir="$top_srcdir" top_builddir="$top_builddir" MUSTER_TEST_UNTIL="$1" sh ./a.t
}
is "a script that begins in time runs" "$(a_t $(($(date +%s) + 1000)) | head -n 1)" "ok 1 - has run"
is "one that does not is skipped" "$(a_t "$(date +%s)")" "1..0 # SKIP there is no time left for it"
is "the rest is as it was" "$(head -n 2 out | tr '\n' '|')" "1..3|ok 1 - a|"
finish
