#!/bin/sh
# The parts of a run in one direction: no two modules of launcher/run and launcher/course call each
# other, but deadline and phase; and only elastic/membership.c writes the records of hosts.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"

# pairs TOP: the modules there that call each other, "one other" a line.
pairs() {
    python3 - "$1"/launcher/run "$1"/launcher/course <<'END'
import glob, os, re, sys

files = {os.path.basename(name)[:-2]: name
         for room in sys.argv[1:] for name in glob.glob(room + '/*.c')}
declared = re.compile(r'^(?:\w[\w *]*[ *])?(\w+)(?:\([^;{]*\)|\[\]| =)|^extern .*?(\w+)(?:\[\])?;', re.M)

def text(name):
    return re.sub(r'/\*.*?\*/', '', open(name, encoding='utf-8').read(), flags=re.S)
owner = {word: module for module, file in files.items()
         for words in declared.findall(text(file[:-1] + 'h')) for word in words if word}
calls = {module: {owner[word] for word in re.findall(r'\w+', text(file)) if word in owner}
         for module, file in files.items()}
for one in sorted(calls):
    for other in sorted(calls[one]):
        if one < other and one in calls[other]:
            print(one, other)
END
}

# writers TOP: the lines that write a member, outside membership.c.
writers() {
    fields='state|is_listed|departure|is_announced|announced_s|is_silent|failures|taken_down'
    fields="$fields|failed_first|free_s"
    grep -rnE "item\[[^]]*\]\.($fields)(\[[^]]*\])?(\.\w+)? *(=[^=]|\+\+|\+=)" \
        "$1/launcher" --include='*.c' | grep -v 'elastic/membership\.c:' | sed "s|^$1/||"
}

is "no two modules of a run call each other, but deadline and phase" \
    "$(pairs "$top_srcdir")" "deadline phase"
is "only membership.c writes the records of hosts" "$(writers "$top_srcdir")" ""

mkdir tree
cp -r "$top_srcdir/launcher" tree
echo 'void back(struct run *run) { generation_end(run); }' >>tree/launcher/run/pool.c
is "a call back is found" "$(pairs tree)" "deadline phase
generation pool"
echo 'members->item[which].state = MEMBER_IN;' >>tree/launcher/run/pool.c
is "a second writer is found" "$(writers tree | grep -c '^launcher/run/pool.c:.*MEMBER_IN')" 1
finish
