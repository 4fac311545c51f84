#!/bin/sh
# What muster bcast and collect send of a tree, and how: links, hard links, paths that are left out,
# holes, access control lists; and names that would act on a terminal.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

bcast() {
    rm -rf to
    run muster bcast -H node1,node2 "$@" --to to
}

# no_line ARGUMENTS...: grep finds nothing.
no_line() {
    ! grep -q "$@"
}

in_to() {
    (cd to/src && find . ! -name . | sort | xargs)
}

# Links
mkdir -p src/sub other
echo 1 >src/file
echo 2 >other/file
ln -s file src/inside
ln -s ../file src/sub/up
ln -s sub/../file src/winding
ln -s "$PWD/other" src/absolute
ln -s ../other/file src/leaving
ln -s nothing src/dangling
bcast src
is "links are copied as they are: 0" "$rc" 0
is "... all of them" "$(cd to/src && readlink inside sub/up winding absolute leaving dangling | xargs)" \
    "file ../file sub/../file $PWD/other ../other/file nothing"
is "... what leads to nothing there, but not here, is named" "$(cat err)" \
    "muster: some links lead to nothing on the nodes; copy what they lead to, too
  node[1-2]  $PWD/to/src/leaving: leads to ../other/file, which is not there"
run muster bcast -H node1,node2 src other/file --to to --json end.json
ok "... in --json, too" json_says end.json "[d['exit_status'], [(f['nodes'], f['path'], f['text'])
    for f in d['dangling']]] == [0, [(['node1', 'node2'], '$PWD/to/src/leaving',
    'leads to ../other/file, which is not there')]]"
mkdir to/other
run muster bcast -H node1 other/file --to to/other
run muster bcast -H node1,node2 src --to to
is "... and no more once it is there" "$rc $(cat err)" "0 "

bcast src --links skip
is "--links=skip: none" "$rc $(in_to)" "0 ./file ./sub"
bcast src --links follow
is "--links=follow: one that leads to nothing is an error: 65" "$rc" 65
ok "... named" grep -q "src/dangling: a symbolic link to nothing" err
mkdir many
(cd many && seq 70 | while read -r i; do ln -s nothing "link$i"; done)
bcast src many --links follow
is "... all of them at once" "$(grep -c 'a symbolic link to nothing$' err) $(tail -n 1 err)" \
    "64 muster: error: ... and 7 more like these"
rm src/dangling
bcast src -L
is "--links=follow: 0" "$rc $(cat err)" "0 "
is "... there are files and directories instead" "$(find to -type l) $(cat to/src/leaving) \
$(cat to/src/absolute/file) $(cat to/src/sub/up)" " 2 2 1"
ln -s .. src/sub/around
bcast src --links follow
is "... that go in a circle: 65" "$rc" 65
ok "... named" grep -q "src/sub/around: a directory within itself" err
rm src/sub/around

run muster collect -H node1 "$PWD/src" --to from
is "collect: links that lead out of the folder are not made: 73" "$rc" 73
is "... they are named" "$(grep -c 'src/absolute: .* absolute path\|src/leaving: .* leaves the tree\|src/winding: ' err)" 3
is "... and all else is there" "$(cd from/node1/src && find . ! -name . | sort | xargs)" \
    "./file ./inside ./sub ./sub/up"
rm -rf from
(cd many && touch file)
run muster collect -H node1 "$PWD/many" --to from --links follow
ok "... as many bad links as there may be: the rest comes" test -f from/node1/many/file
rm -rf from
run muster collect -H node1 "$PWD/src" --to from --links copy --exclude sub
is "... --links=copy makes them: 0" "$rc $(readlink from/node1/src/absolute)" "0 $PWD/other"
ok "... --exclude leaves out" test ! -e from/node1/src/sub
rm -rf from
run muster collect -H node1 "$PWD/src" --to from --links follow
is "... --links=follow copies what they lead to: 0" "$rc $(cat from/node1/src/leaving)" "0 2"
run muster bcast -H node1,node2 "node1:$PWD/src" --to to2 --exclude sub
is "from a node: 0" "$rc $(readlink to2/src/absolute)" "0 $PWD/other"
ok "... --exclude leaves out" test ! -e to2/src/sub

# Hard links
rm -rf src
mkdir -p src/deep
head -c 2000000 /dev/urandom >src/one
ln src/one src/deep/two
ln src/one src/three
head -c 100 /dev/urandom >src/small
ln src/small src/small2
inodes() {
    (cd to/src && stat -c '%i %h' one deep/two three small small2 | sort | uniq -c | awk '{ print $1, $3 }' | sort | xargs)
}
bcast src --json end.json
is "hard links are kept" "$rc $(inodes)" "0 2 2 3 3"
# Both nodes write to one folder: what the first one has, the second one may find.
ok "... and sent once" json_says end.json "max(n['bytes_sent'] for n in d['nodes']) == 2000100"
echo more >>src/one
rm to/src/three
cp src/small to/src/small2.new
mv to/src/small2.new to/src/small2
run muster bcast -H node1 src --to to
is "... after a change, too" "$rc $(inodes)" "0 2 2 3 3"
ok "... with the same contents" cmp src/one to/src/three
# Nodes with the same disk make the same links at the same time.
mkdir many_links
echo x >many_links/0
for i in $(seq 400); do ln many_links/0 "many_links/$i"; done
run muster bcast -H node1,node2,node3,node4 --to shared "$PWD/many_links"
is "... to a disk that nodes share: no temporary link is left" "$rc $(find shared -type f | wc -l)" "0 401"
# One of them gives the file its name anew while another one links to it.
cat >replace.py <<'END'
import os, sys
while True:
    with open("new", "w") as new:
        new.write("x\n")
    os.rename("new", sys.argv[1])
END
start python3 replace.py shared/many_links/0
replacer=$pid
for round in 1 2 3; do
    rm shared/many_links/[1-9]*
    run muster bcast -H node1 --to shared "$PWD/many_links"
    is "... that is replaced meanwhile, round $round" "$rc" 0
done
kill "$replacer"
rm to/src/deep/two to/src/one
mkdir to/src/deep/two
run muster bcast -H node1 src --to to
is "the file itself cannot be written: 73" "$rc" 73
ok "... its other names are named, too" \
    grep -q "src/one: cannot make the hard link: the file itself did not arrive" err
rm -rf from
run muster collect -H node1 "$PWD/src" --to from
is "collect keeps hard links, too" "$rc $(stat -c %h from/node1/src/one)" "0 3"

# Modes and times of directories
rm -rf src
mkdir -p src/a/b
echo 1 >src/a/b/file
chmod 750 src/a
touch -d '2001-02-03 04:05:06.7' src/a/b src/a src
touch -h -d '2001-02-03 04:05:06.7' src/a/b/file
bcast src
dated() {
    (cd "$1" && find . -exec stat -c '%n %A %y' {} + | sort)
}
is "directories have modes and times" "$(dated to/src)" "$(dated src)"
chmod 700 to/src/a
echo 2 >to/src/a/b/other
run muster bcast -H node1 src --to to
rm to/src/a/b/other
touch -d '2001-02-03 04:05:06.7' to/src/a/b
is "... those that were there, too" "$(dated to/src)" "$(dated src)"

# Paths that are left out
rm -rf src
mkdir -p src/.git src/pkg/__pycache__ src/build/x src/pkg/build src/data src/pkg/data src/cache src/node2
for file in .git/config pkg/__pycache__/a.pyc pkg/a.py pkg/b.pyc build/x/1 pkg/build/x data/1 \
    pkg/data/1 cache/1 pkg/cache node2/1; do
    echo 1 >"src/$file"
done
bcast src --exclude .git --exclude '*.pyc' --exclude /data --exclude build/x --exclude cache/ \
    --exclude __pycache__
is "--exclude: by name, by pattern, from the top, by two names, directories only" "$rc $(in_to)" \
    "0 ./build ./node2 ./node2/1 ./pkg ./pkg/a.py ./pkg/build ./pkg/cache ./pkg/data ./pkg/data/1"
is "... without a word" "$(cat err)" ""
bcast src --exclude '**/1' --exclude typo
is "... a pattern that matches nothing is named" "$(cat err)" \
    "muster: warning: --exclude typo: no path matches"
is "... '**/' is at any depth" "$(find to -name 1) $(ls -d to/src/data to/src/build/x | xargs)" \
    " to/src/build/x to/src/data"
bcast src --exclude node2
is "... the name of a host: 2" "$rc" 2
ok "... with what to write" grep -q "write --exclude-host=node2, or for paths .* \*\*/node2" err
bcast src --exclude 'node[1-2]:0'
is "... or several: 2" "$rc" 2
bcast src --exclude '**/node2'
ok "... for a path of this name" test ! -e to/src/node2 -a -e to/src/data
for option in -x -e --exclude-host; do
    bcast src "$option" node2
    is "$option leaves out a host" "$(cat out)" "node1: 11 of 11 files sent, 22 bytes"
done
bcast src --exclude /
is "... an empty pattern: 2" "$rc" 2
run muster --push src --push-exclude .git --push-exclude node2 -H node1 --no_python true
is "--push-exclude, also of a host's name" "$rc $(cat err)" "0 "
for option in -a -r -z --delete; do
    bcast "$option" src
    ok "$option is rsync's: it says what to do" grep -Eq "it is (scp's and )?rsync's[;,] " err
done
run muster bcast -H node1 src to/elsewhere
is "a target as scp has it" "$rc $(cat err)" "65 muster: error: $PWD/to/elsewhere: No such file or directory
muster: error: all paths are sent; if to/elsewhere is where they go, write --to=to/elsewhere"
run muster bcast -H node1 src node1:to/elsewhere
ok "... or with a node" grep -q 'where they go is --to=DIR' err

# What git ignores
if command -v git >/dev/null; then
    (cd src && rm -rf .git && git init -q . && printf '*.pyc\nbuild/\n/data\n' >.gitignore &&
        git add -f pkg/b.pyc)
    bcast src --gitignore
    is "--gitignore: what git ignores is not sent" "$rc $(in_to)" \
        "0 ./.gitignore ./cache ./cache/1 ./node2 ./node2/1 ./pkg ./pkg/a.py ./pkg/b.pyc ./pkg/cache ./pkg/data ./pkg/data/1"
    bcast src/pkg --gitignore
    is "... in a directory of the repository, too" "$rc $(ls to/pkg | xargs)" "0 a.py b.pyc cache data"
    run env GIT_CEILING_DIRECTORIES="$PWD" muster bcast -H node1 other --gitignore --to to
    is "... outside a repository: 65" "$rc" 65
    ok "... is said" grep -q "error: --gitignore: $PWD/other: git failed: .*not a git repository" err
    run env PATH=/nonexistent "$top_builddir/launcher/muster" bcast -H node1 other --gitignore --to to
    is "... without git: 65" "$rc" 65
    ok "... is said" grep -q "error: --gitignore: cannot run git: No such file" err
    run muster bcast -H node1,node2 "node1:$PWD/src" --gitignore --to to
    is "... on a node: 2" "$rc" 2
else
    skip "--gitignore" "no git"
fi

# Holes are not read: SHA-256 of 200 GB takes more than a minute everywhere.
truncate -s 200G holes
printf end >>holes
cpu_limited() {
    (ulimit -t 20 && run "$@" && exit "$rc")
}
if [ "$(stat -c %b holes)" -lt 100 ]; then
    cpu_limited muster bcast -H node1 holes --to to --json end.json
    is "a hole of 200 GB: 0" "$?" 0
    ok "... is not sent" json_says end.json "d['nodes'][0]['bytes_sent'] <= 4096"
    is "... and not stored" "$(stat -c '%s' to/holes) $(tail -c 3 to/holes)" "$((200 * 1073741824 + 3)) end"
    ok "... at all" test "$(stat -c %b to/holes)" -lt 100
    printf more >>holes
    cpu_limited muster bcast -H node1 holes --to to --json end.json
    is "... nor read to look for a change" "$? $(tail -c 7 to/holes)" "0 endmore"
else
    skip "a hole of 200 GB" "this file system has none"
fi
rm -f holes to/holes

# An ACL's mask is no right of the group.
rm -rf src
mkdir src
echo 1 >src/file
chmod 640 src/file
if python3 - src/file <<'END'
import os, struct, sys
acl = [(1, 6, -1), (2, 7, 12345), (4, 0, -1), (16, 7, -1), (32, 0, -1)]
os.setxattr(sys.argv[1], 'system.posix_acl_access', struct.pack('<I', 2) + b''.join(
    struct.pack('<HHi', *entry) for entry in acl))
END
then
    is "the mask of an ACL looks like the group's rights" "$(stat -c %a src/file)" 670
    bcast src
    is "... the group gets its own" "$rc $(stat -c %a to/src/file)" "0 600"
else
    skip "the mask of an ACL" "this file system has no ACLs"
fi

# Names that act on a terminal
rm -rf src
evil=$(printf 'e\033[31mred\033[8mhidden\007')
mkdir "$evil" src
mkfifo "src/pipe$evil"
ln -s /etc "src/link$evil"
echo 1 >"src/file$evil"
mkdir -p "from/node1/src/file$evil"
harmless() {
    ok "$1: its escape sequences do not reach the terminal" no_line "$(printf '[\033\007]')" out err
    ok "... they are shown" grep -q '\^\[\[31mred\|?\[31mred' err
}
run muster collect -v -H node1 "$PWD/src" "$PWD/no$evil" --to from
harmless "collect"
run muster bcast -v -H node1 src --to to
harmless "bcast of a pipe"
rm "src/pipe$evil"
mkdir -p "to/src/file$evil"
ln -s "../$evil/file" src/gone
touch "$evil/file"
run muster bcast -v -H node1,node2 src --to to
harmless "bcast with things in the way"
run muster bcast -v -H node1,node2 "node1:$PWD/no$evil" --to to
harmless "bcast from a node"
ok "nothing is left" no_leftovers
finish
