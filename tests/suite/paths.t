#!/bin/sh
# The files that texts and comments name exist: a move or a new name is told there too.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"

rooms="agent|client|common|conf|contrib|doc|k8s|launcher|tests|trainer"

cd "$top_srcdir" || exit 1
# shellcheck disable=SC2046
find $(echo "$rooms" | tr '|' ' ') >"$tmp/tree"
sed 's|.*/||' "$tmp/tree" | sort -u >"$tmp/names"

words() {
    tr -c 'A-Za-z0-9_./-' '\n' | sed 's/[.-]*$//' | sort -u
}

# no_paths: of the words of standard input, those that begin in one of our folders and lead
# nowhere. What a build makes is no file of ours.
no_paths() {
    words | grep -E "^($rooms)/" | sed 's|/$||' | grep -vxFf "$tmp/tree" |
        grep -vE '^(launcher/muster|k8s/muster-(k8s|init)|(tests/run/)?agent/muster-agent|launcher/libmuster.a)$|\.log$'
}

# no_sources: C files of a name that is not there. Not ours: NCCL's, MPICH's, and the project llm.c.
no_sources() {
    words | grep -E '^[a-z][a-z0-9_]*\.[ch]$' | grep -vxFf "$tmp/names" |
        grep -vxE 'nccl\.h|pmi_v1\.c|llm\.c'
}

comments() {
    find "$@" -name '*.[ch]' -exec cat {} + | grep -oE '(/\*|^ \*).*'
}

is "README and HACKING name paths that exist" "$(cat README HACKING tests/*/README | no_paths)" ""
is "and sources" "$(cat README HACKING doc/PROTOCOL | no_sources)" ""
is "so do comments" "$(comments agent common launcher trainer k8s tests | no_sources)" ""
is "a path that leads nowhere is found" "$(echo "see agent/none/such.c and such.c." | no_paths)" "agent/none/such.c"
is "and a source" "$(echo "see agent/none/such.c, such.c" | no_sources)" "such.c"

# HACKING's walks: a line a file, with the functions to look at.
sed -n '/^[A-Z][a-z]* walks$/,/^How the code reads/p' HACKING >"$tmp/chapter"
grep -E "^ +($rooms)/" "$tmp/chapter" >"$tmp/walks"
ok "there are walks" test "$(wc -l <"$tmp/walks")" -gt 15
is "none is longer than ten files" "$(awk '
    /:$/ && !/^(then|and) / { walk = $0; files = 0 }
    /^ .*\// && ++files == 11 { print walk }' "$tmp/chapter")" ""
is "the functions that they name are there" "$(while read -r file text; do
    for name in $(echo "$text" | grep -oE '[a-z_]+\(\)' | tr -d '()'); do
        grep -q "\b$name(" "$file" || echo "$file: $name"
    done
done <"$tmp/walks")" ""
finish
