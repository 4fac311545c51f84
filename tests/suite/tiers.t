#!/bin/sh
# Each script stands in one tier (tests/tiers.am). What fails is run once more, alone, and whether it
# passes then is told (tests/suite/again).
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"

suite=$top_srcdir/tests/suite
"$suite/tier" gate wide cluster wide_cluster | sort >listed
(cd "$top_srcdir/tests" && find . -name '*.t' | sed 's|^\./||' | sort) >there
is "every script stands in one tier" "$(diff listed there)" ""
"$suite/tier" sanitized | sort >sanitized
"$suite/tier" gate | sort >gate
is "what runs with sanitizers belongs to the gate" "$(comm -23 sanitized gate)" ""
run "$suite/tier" none
is "a tier that is not there: 2" "$rc $(cat err)" "2 tier: tests/tiers.am has no none_tests"

# A build with two tests that have failed: one passes if it runs alone.
mkdir -p build/tests
cat >build/tests/Makefile <<'END'
check:
	test $(TESTS) = chance && echo '# took 1.0 s, 0.5 s of CPU' >chance.log
END
for name in chance broken; do
    printf 'ok 1 - begins\nnot ok 2 - %s goes well\n# failed: false\n' $name >build/tests/$name.log
    echo ':recheck: yes' >build/tests/$name.trs
done
echo ':recheck: no' >build/tests/fine.trs
run "$suite/again" build
is "one test has failed twice: 1" "$rc" 1
is "what failed, and how, both times" "$(cat out)" "failed twice: broken
  with others:
    not ok 2 - broken goes well
    # failed: false
  alone:
    not ok 2 - broken goes well
    # failed: false
unsteady: chance
  with others:
    not ok 2 - chance goes well
    # failed: false
  alone:
    passed: # took 1.0 s, 0.5 s of CPU"
run env MUSTER_TEST_UNTIL=0 "$suite/again" build
is "when it is too late none is run again, and that is 1" "$rc $(grep -c '^failed, and too late' out)" "1 2"
rm build/tests/broken.*
printf 'not ok 2 - chance goes well\n' >build/tests/chance.log
run "$suite/again" build
is "none has failed twice: 0" "$rc $(grep -c '^unsteady: chance' out)" "0 1"
rm build/tests/chance.trs
run "$suite/again" build
is "none has failed, and yet make has: 1" "$rc" 1
printf 'ok 1 - x\n# took 12.5 s, 0.5 s of CPU\n' >build/tests/long.log
is "what took longest is told" "$("$suite/slowest" 1 build)" "   12.5 s,    0.5 s of CPU  build/tests/long"

# Scripts run beside each other, and a machine has one run of a name.
(cd "$top_srcdir/tests" && grep -roE --include='*.t' -- "--name[= ]'?[a-zA-Z][a-zA-Z0-9_-]*" run faults programs stress |
    grep -v ^run/kubernetes/ | tr -d "'" | sed -E 's/:--name[= ]/ /' | sort -u) >names
ok "scripts give names to runs" test "$(wc -l <names)" -ge 30
is "no two give the same one" "$(sed 's/.* //' names | sort | uniq -d)" ""
finish
