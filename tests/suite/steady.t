#!/bin/sh
# tests/suite/steady lists every test that fails once, keeps its log, and then fails itself.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"

# In place of a build: make check in which ./sh.t fails in the second round only, ./ends.t always.
mkdir -p build/tests/unit
cat >build/tests/Makefile <<'END'
check:
	@[ -n "$(TESTS)" ] || exit 0; \
	echo "PASS: fine.t 1 - it says FAIL: other.t"; \
	if [ -e second ]; then echo "FAIL: sh.t 2 - a claim"; echo why >sh.log; fi; \
	echo "ERROR: unit/ends.t - exited with status 1"; echo end >unit/ends.log; \
	: >second; exit 1
END
run "$top_srcdir/tests/suite/steady" --build build --times 3 --jobs 1 --load 0 any.t
is "a test that fails is a failure" "$rc" 1
is "rounds name what failed in them" "$(sed 's/.*failed://' out | head -n 3)" " unit/ends
 sh unit/ends
 sh unit/ends"
is "the end counts" "$(grep '^unsteady' out)" "unsteady: unit/ends: failed 3 of 3 times
unsteady: sh: failed 2 of 3 times"
is "the logs are kept" "$(cat build/tests/steady/2/sh.log build/tests/steady/1/unit-ends.log | tr '\n' ' ')" "why end "

cat >build/tests/Makefile <<'END'
check:
	@[ -z "$(TESTS)" ] || echo "PASS: fine.t 1 - it works"
END
run "$top_srcdir/tests/suite/steady" --build build --times 2 --jobs 1 --load 0 any.t
is "and where none fails, it succeeds" "$rc" 0

finish
