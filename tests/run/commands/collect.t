#!/bin/sh
# muster collect: files of all nodes into a folder a node, byte for byte, and a word about each that
# does not come.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

# came NODE: what came from it is what is there.
came() {
    diff -r --no-dereference src "got/$1/src" && [ "$(about src)" = "$(about "got/$1/src")" ]
}
about() {
    (cd "$1" && find . -type f -exec stat -c '%n %a %y' {} + | sort)
}

mkdir -p src/deep src/empty-dir
head -c 3000001 /dev/urandom >src/large
truncate -s 20M src/sparse
for i in $(seq 600); do
    echo "$i" >"src/deep/$i"
done
: >src/empty
echo odd >"src/$(printf 'new\nline\377')"
ln -s large src/link
chmod 600 src/deep/1
touch -d '2001-02-03 04:05:06.789012345' src/deep/2
files=$(find src -type f -printf x | wc -c)

run muster collect -H node1,node2 src --to got --json end.json
is "two nodes: exit status 0" "$rc" 0
ok "... all of the first one is here" came node1
ok "... and of the second one" came node2
is "... it says so" "$(cat out)" "node[1-2]: $files files copied, 2.9 MiB"
ok "... of zeros nothing is stored" test "$(du -k got/node1/src/sparse | cut -f 1)" -lt 1024
ok "... --json has it" json_says end.json \
    "[(n['complete'], n['files_sent']) for n in d['nodes']] == [(True, $files)] * 2"
printf more >>src/large
rm src/deep/3
run muster collect -H node1,node2 src --to got --json end.json
is "again: only what differs" "$rc $(cat out)" "0 node[1-2]: 1 file copied, 881.7 KiB"
is "... and nothing is removed" "$(cat got/node2/src/deep/3)" 3

# What does not come
mkfifo src/pipe
run muster collect -H node1 src none src/deep --to got --json end.json
is "things that cannot come: 73" "$rc" 73
ok "... a pipe is named" grep -q "node1  $PWD/src/pipe: a named pipe" err
ok "... and a path that is not there" grep -q "node1  $PWD/none: No such file" err
ok "... the others come" cmp src/deep/600 got/node1/deep/600
rm src/pipe
run muster collect -H node1 src --to src/deep/here
is "into itself: 65" "$rc" 65
run muster collect -H node1
is "no path: 2" "$rc" 2

# Cut off, over SSH
use_sshd 2
unset MUSTER_HOSTFILE
head -c 100000000 /dev/urandom >src/large
part() {
    find got -name '.muster-*' -exec du -k {} + | awk '{ n += $1 } END { print n + 0 }'
}
half_there() {
    [ "$(part)" -gt 20000 ]
}
start muster collect -H node1,node2 src --to got
ok "SSH: it is under way" wait_for 20 half_there
kill -KILL "$pid"
finish_run 20
nothing_left_but_sshd() {
    ! leftovers | grep -v sshd | grep -q .
}
ok "... muster is killed: its agents end" wait_for 20 nothing_left_but_sshd
kept=$(part)
run muster collect -H node1,node2 src --to got --json end.json
is "... the next one: exit status 0" "$rc" 0
ok "... brings all of it" cmp src/large got/node1/src/large
ok "... of both" cmp src/large got/node2/src/large
ok "... but only what was missing" json_says end.json \
    "sum(n['bytes_sent'] for n in d['nodes']) <= 200000000 - ($kept - 8192) * 1024"
is "... and nothing half is left" "$(part)" 0
ok "nothing is left" wait_for 20 nothing_left_but_sshd
finish
