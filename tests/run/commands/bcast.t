#!/bin/sh
# muster bcast: files and directories to all nodes, byte for byte, and a word about each that
# cannot be had.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/complaints.sh"

bcast() {
    run muster bcast "$@"
}

# tree DIR: names, modes, contents, what links lead to; of files the time to the nanosecond, too.
tree() {
    (cd "$1" && find . -type d -exec stat -c '%n %F %a' {} + &&
        find . -type f -exec stat -c '%n %F %a %s %y' {} + -exec sha256sum {} + &&
        find . -type l -exec stat -c '%N' {} +) | sort
}

# same_tree DIR: as src was when its tree was kept in ./wanted.
same_tree() {
    tree "$1" | diff wanted - | head -n 5 >differs
    [ ! -s differs ] || { sed 's/^/# /' differs; return 1; }
}

half() {
    find . -name '.muster-*'
}

# Names that shells, terminals and people stumble over.
mkdir -p src/pkg/sub src/empty
echo 'print("hello")' >src/train.py
chmod 755 src/train.py
: >src/pkg/empty
head -c 300001 /dev/urandom >src/pkg/sub/data
chmod 600 src/pkg/sub/data
touch -d '2001-02-03 04:05:06.789012345' src/pkg/empty
# shellcheck disable=SC2016
for name in ' leading' '-rf' 'new
line' 'back\slash' "quote'\"" '$(touch evil)' '*' 'ä' '...' '.hidden'; do
    echo "$name" >"src/$name"
done
printf 1 >"src/$(printf 'not-utf8-\377\376')"
printf 2 >"src/$(printf 'terminal-\033[2J\007')"
long=$(printf '%255s' '' | tr ' ' n)
echo long >"src/$long"
ln -s ../train.py src/pkg/up
ln -s sub/data src/pkg/down
ln -s nowhere src/dangling
files=$(find src -type f -printf x | wc -c)
tree src >wanted

# Nodes that are this machine
bcast -H node1 src --to to
is "exit status 0" "$rc" 0
ok "the tree is there, below --to" same_tree "to/src"
ok "it says what was sent" grep -q "^node1: $files of $files files sent, 293.1 KiB" out
is "nobody complains" "$(complaints)" ""
is "nothing half is left" "$(half)" ""
bcast -H node1,node2 src --to to
is "again: nothing is sent" "$rc $(cat out)" "0 node[1-2]: nothing sent: everything is already there"

before=$(stat -c %i to/src/train.py)
touch -d yesterday to/src/pkg/empty
echo longer >>to/src/.hidden
chmod 700 to/src/train.py
echo mine >to/src/mine
bcast -H node1 src --to to
is "only what differs is sent" "$(cat out)" \
    "node1: 2 of $files files sent, 0 bytes; the others are already there"
is "... and of it what is not there: a longer file begins like this one" "$(cat to/src/.hidden)" .hidden
is "... a mode is set without that" "$(stat -c %a to/src/train.py) $(stat -c %i to/src/train.py)" \
    "755 $before"
is "... and nothing is removed" "$(cat to/src/mine)" mine
rm to/src/mine
ok "... then the trees are equal" same_tree "to/src"

cp src/train.py sh
chmod 6755 sh
bcast -H node1 sh --to to
is "what is set-uid is not so elsewhere" "$(stat -c %a to/sh)" 755
mkdir rewritten
ln src/train.py rewritten/train.py
exec 9<to/src/train.py
echo 'print("new")' >src/train.py
bcast -H node1 src/train.py --to to/src
is "a file is replaced, not written over" "$(cat to/src/train.py) $(cat <&9)" \
    'print("new") print("hello")'
exec 9<&-

# Where things go
mkdir -p a/deep b
echo 1 >a/one
echo 2 >b/two
echo 3 >a/deep/three
bcast -H node1 --to many a/one b/two a/deep/ ./src//pkg/sub/.
is "several paths go side by side" "$rc $(cd many && echo *)" "0 deep one sub two"
bcast -H node1 a/one b/none --to many
is "one that is not there: 65" "$rc" 65
ok "... is named" grep -q "b/none: No such file" err
cp a/one b/one
bcast -H node1 a/one b/one --to many
is "two of one name: 65" "$rc" 65
ok "... are named" grep -q "b/one: another path with the same name" err
bcast -H node1 a/one --json end.json
is "on this machine, where it is: skipped" "$rc $(cat out)" \
    "0 node1: skipped: this is the source"
ok "... --json says so" json_says end.json \
    "d['exit_status'] == 0 and d['nodes'][0]['skipped'] and d['nodes'][0]['files_sent'] == 0"
ln -s a/one link-to-one
bcast -H node1 link-to-one --to many
is "a link that was named is followed" "$(cat many/link-to-one) $(stat -c %F many/link-to-one)" \
    "1 regular file"
bcast -H node1 -- -nothing
is "nothing to copy: 65" "$rc" 65
bcast -H node1
is "no path: 2" "$rc" 2
bcast -H node1 /
is "/ is refused: 65" "$rc" 65

# What cannot be sent is said before anything is
for what in fifo socket unreadable; do
    rm -rf odd to-odd
    mkdir odd
    echo 1 >odd/first
    case $what in
    fifo) mkfifo odd/x ;;
    socket) python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("odd/x")' ;;
    unreadable) : >odd/x && chmod 0 odd/x ;;
    esac
    [ "$what" != unreadable ] || [ "$(id -u)" != 0 ] || continue
    bcast -H node1 odd --to to-odd
    is "$what: 65" "$rc" 65
    ok "... is named" grep -q "odd/x: " err
    ok "... and nothing is sent" test ! -e to-odd
done

# It changes after muster has looked at it: before the agent starts.
script_file agent <<END
#!/bin/sh
cd "$PWD" && eval "\$CHANGE" && cd /
exec "$top_builddir/agent/muster-agent" "\$@"
END
changes() {
    rm -rf move to-move
    mkdir move
    head -c 1000000 /dev/zero >move/x
    echo 1 >move/y
    run env CHANGE="$1" muster bcast --agent ./agent -H node1 move --to to-move
    is "$2: 73" "$rc" 73
    ok "... is named" grep -q "node1  $PWD/to-move/move/x: cannot read: $3" err
    is "... and the others arrive" "$(cat to-move/move/y)" 1
    ok "... and it does not, not even half" test ! -e to-move/move/x -a -z "$(half)"
}
changes 'rm move/x' "a file that is removed" 'was removed'
changes 'echo >>move/x' "a file that has changed" 'has changed'
changes 'rm move/x; ln -s /etc/passwd move/x' "a file that became a link" 'has become a symbolic link'
changes 'rm move/x; mkfifo move/x' "a file that became a pipe" 'has changed'

# What a node cannot have
mkdir -p to-bad/src/train.py to-bad/src/pkg
echo file >to-bad/src/pkg/sub
bcast -H node1,node2 src --to to-bad --json end.json
is "things in the way: 73" "$rc" 73
ok "... a directory" grep -q "node\[1-2\]  $PWD/to-bad/src/train.py: cannot replace: a directory is in the way" err
ok "... a file" grep -q "node\[1-2\]  $PWD/to-bad/src/pkg/sub: cannot make the directory: a file is in the way" err
is "... each once" "$(grep -c cannot err)" 2
is "... and the others arrive" "$(cat to-bad/src/-rf)" "-rf"
ok "... --json says so" json_says end.json \
    "d['exit_status'] == 73 and [f['nodes'] for f in d['failures']] == [['node1', 'node2']] * 2"
echo file >in-the-way
bcast -H node1 src --to in-the-way/deep
is "--to cannot be made: 73" "$rc" 73
ok "... is named" grep -q "in-the-way" err
if [ "$(id -u)" = 0 ]; then
    mkdir full
    head -c 3000000 /dev/urandom >large
    # shellcheck disable=SC2016
    run unshare --mount sh -c 'mount -t tmpfs -o size=1m tmpfs full &&
        muster bcast -H node1 a large --to full; rc=$?; find full -type f; exit $rc'
    is "a full disk: 73" "$rc" 73
    ok "... is named" grep -q "node1  $PWD/full/large: cannot write: No space left" err
    is "... and nothing half is left" "$(grep '^full' out | sort | tr '\n' ' ')" \
        "full/a/deep/three full/a/one "
    rm large
else
    skip "a full disk" "needs root"
fi

# Large, and killed
truncate -s 100M big
printf end >>big
run python3 -c '
import resource, subprocess, sys
rc = subprocess.call(sys.argv[1:])
open("peak", "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(rc)' muster bcast -H node1 big --to to
ok "100 MiB arrive" cmp big to/big
if ! grep -q __asan_init "$top_builddir/launcher/muster"; then
    ok "... through 32 MiB of memory at most" test "$(cat peak)" -lt 32768 || cat peak
fi
ok "... and of zeros nothing is stored" test "$(du -k to/big | cut -f 1)" -lt 8192
rm to/big

# A bcast that is cut off is continued by the next one.
head -c 300000000 /dev/urandom >big
part() {
    half | xargs -r du -k | awk '{ n += $1 } END { print n + 0 }'
}
half_there() {
    [ "$(part)" -gt 20000 ]
}
stops() {
    start muster bcast -H node1 big --to to
    ok "it is under way" wait_for 20 half_there
    kill "-$1" "$pid"
    finish_run 20
    is "$1: exit status" "$rc" "$2"
    ok "... ends the agent" wait_for 20 nothing_left
    ok "... what is there has a name of its own" test -n "$(half)" -a ! -e to/big
}
stops INT 130
kept=$(part)
bcast -H node1 big --to to --json end.json
is "the next one: 0" "$rc" 0
ok "... brings all of it" cmp big to/big
ok "... but sends only what was missing" json_says end.json \
    "d['nodes'][0]['bytes_sent'] <= 300000000 - ($kept - 2048) * 1024"
is "... and nothing half is left" "$(half)" ""
ok "... and no note" test -z "$(ls "$HOME/.cache/muster/partial")"
rm to/big
stops KILL 137
# Where it meets no other script's processes and files, since it would end them.
script_file alone <<'END'
#!/bin/sh
mount -t tmpfs tmpfs /dev/shm && mount -t tmpfs tmpfs /sys/fs/cgroup && exec "$@"
END
if need_namespaces >/dev/null; then
    run unshare --pid --fork --kill-child --mount --mount-proc ./alone muster clean -H node1 --kill
    ok "muster clean finds what nobody continues" \
        grep -q "$(half | head -n 1 | sed 's/.*muster-//')" out
    is "... and removes it" "$(half)$(ls "$HOME/.cache/muster/partial")" ""
else
    skip "muster clean finds what nobody continues" "no namespaces of its own"
    half | xargs -r rm
fi

# Somebody else's file has that name.
stops INT 130
name=$(half)
rm "$name"
ln -s "$PWD/a/one" "$name"
if need_pty >/dev/null; then
    script -qec "muster bcast -H node1 big --to to" typescript </dev/null >/dev/null
    is "a link has the name of the part: 0" "$?" 0
    ok "... and a terminal shows progress" grep -q '0/1 nodes done; node1: .* MB/s' typescript
else
    bcast -H node1 big --to to
    is "a link has the name of the part: 0" "$rc" 0
fi
is "... it is not followed" "$(cat a/one)" 1
ok "... and all of it arrives" cmp big to/big
rm "$name" big to/big

# Over SSH
head -c 20000000 /dev/urandom >src/large
tree src >wanted
use_sshd 2
unset MUSTER_HOSTFILE
for node in node1 node2; do
    bcast -H "$node" src --to "at-$node"
    is "SSH, $node: 0" "$rc" 0
    ok "... the tree is there" same_tree "at-$node/src"
done
bcast -H node1 src
is "SSH to a machine that has the same disk: nothing sent" "$rc $(cat out)" \
    "0 node1: nothing sent: everything is already there"
cat >>"$nodes_dir/ssh_config" <<END
Host nowhere
    HostName 127.0.0.1
    Port 1
END
rm -rf at-node1
bcast -H node1,nowhere src --to at-node1 --json end.json
is "a node that cannot be reached: 68" "$rc" 68
ok "... is named" grep -Eq 'nowhere +connect' err
ok "... and the other one has the tree" same_tree "at-node1/src"
ok "... --json says so" json_says end.json \
    "[n['complete'] for n in d['nodes']] == [True, False] and d['nodes'][1]['error'] is not None"
ok "nothing is left" no_leftovers
finish
