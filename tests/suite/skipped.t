#!/bin/sh
# A unit test that is skipped is not a failed one, and a failed one is not hidden by that. And every
# test says how long it took, and has an end; a script does not begin when it is too late.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"

script_file like_cmocka <<'END'
#!/bin/sh
printf '1..3\nok 1 - a\nnot ok 2 # SKIP b\nnot ok 3 - c\n'
exit 7
END
rc=0
sh "$top_srcdir/tests/suite/one" ./like_cmocka >out || rc=$?
is "the exit status is the program's" "$rc" 7
ok "what was skipped is said in TAP's way" grep -q '^ok 2 - b # SKIP' out
ok "what failed has failed" grep -q '^not ok 3 - c$' out
is "the rest is as it was" "$(head -n 2 out | tr '\n' '|')" "1..3|ok 1 - a|"
ok "its last line is how long it took" \
    sh -c 'tail -n 1 out | grep -Eqx "# took [0-9.]+ s, [0-9.]+ s of CPU"'
script_file a.t <<'END'
#!/bin/sh
exec sleep 100
END
rc=0
MUSTER_TEST_LIMIT=1 sh "$top_srcdir/tests/suite/one" ./a.t >out || rc=$?
is "one that hangs is ended" "$rc" 124

script_file b.t <<'END'
#!/bin/sh
echo "ok 1 - x"
END
read -r up _ </proc/uptime
is "when it is too late a script does not begin" \
    "$(MUSTER_TEST_UNTIL=${up%.*} sh "$top_srcdir/tests/suite/one" ./b.t)" "1..0 # SKIP too late"
ok "before that it does" sh -c \
    "MUSTER_TEST_UNTIL=$((${up%.*} + 1000)) sh '$top_srcdir/tests/suite/one' ./b.t | grep -qx 'ok 1 - x'"
mv b.t b
ok "a unit test begins at any time" sh -c \
    "MUSTER_TEST_UNTIL=${up%.*} sh '$top_srcdir/tests/suite/one' ./b | grep -qx 'ok 1 - x'"
finish
