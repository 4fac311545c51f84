#!/bin/sh
# Commit subjects are "module: do this", of at most 60 characters, as HACKING asks.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"

# The rule is tested for commits after this one.
since=c28a8c59

# bad_subjects: the lines of standard input that break the rule, as far as a pattern can tell.
bad_subjects() {
    awk 'length > 60 { print; next }
        !/^[^ ]+( [^ ]+)?: [a-z0-9.-]/ { print; next }
        /[.]$/ { print; next }
        /: (the|an?|what|which|nothing|no|of|(add|fix|remov|chang|mov|renam)(ed|ing)) / { print }'
}

is "a long, a capital, a full stop, no module and no verb are found" "$(bad_subjects <<'END' | wc -l
agent: keep the lock of a name for as long as the guard of the run lives
agent: Keep the lock
agent: keep the lock.
keep the lock
agent: what is told of a rank
agent: fixed the lock
agent: keep the lock
tests/suite: list the commits that break the rule
END
)" 6
cd "$top_srcdir" || exit 1
if git -c safe.directory='*' cat-file -e "$since^{commit}" 2>/dev/null; then
    is "the last 50 subjects keep the rule" \
        "$(git -c safe.directory='*' log --no-merges -50 --format=%s "$since..HEAD" | bad_subjects)" ""
else
    skip "the last 50 subjects keep the rule" "this tree is no checkout with that commit"
fi
finish
