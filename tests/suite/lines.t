#!/bin/sh
# HACKING's table of what each feature costs is that of tests/suite/lines: the same features, and no
# number that is off by more than 300 lines and a tenth.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"

git -C "$top_srcdir" rev-parse --git-dir >/dev/null 2>&1 || skip_all "not a git checkout"

# table: FEATURE:CODE:TESTS of each row of the table in standard input.
table() {
    sed -nE 's/^    ([a-zA-Z][^:]{0,23}[^ ]) +([0-9]+) +([0-9]+)( .*)?$/\1:\2:\3/p' | sort
}

# off_rows TABLE: the rows of TABLE that differ from those of $tmp/now.
off_rows() {
    join -t : -a 1 -a 2 -e 0 -o 0,1.2,1.3,2.2,2.3 "$1" now | awk -F : '
        function is_off(old, new) {
            off = old > new ? old - new : new - old
            return off > 300 && off > new / 10
        }
        is_off($2, $4) || is_off($3, $5) { print $1 ": " $2 " " $3 ", now " $4 " " $5 }'
}

run "$top_srcdir/tests/suite/lines"
is "tests/suite/lines: 0" "$rc $(cat err)" "0 "
table <out >now
ok "it has many features" test "$(wc -l <now)" -gt 15
sed -n '/^What each feature costs/,/^Eight walks/p' "$top_srcdir/HACKING" | table >hacking
is "HACKING has the same table" "$(off_rows hacking)" ""
sed 's/^output:/output:9/' hacking >wrong
is "a wrong number is found" "$(off_rows wrong | sed 's/ .*//')" "output:"
grep -v '^output:' hacking >wrong
is "and a row that is missing" "$(off_rows wrong | sed 's/ .*//')" "output:"
finish
