#!/bin/sh
# [project] push of bootstrap.conf: a directory of this machine is copied to the nodes after the steps,
# then only what has changed; what somebody has changed there is neither replaced nor removed.
# SPDX-License-Identifier: Apache-2.0

. "$(dirname "$0")/../lib.sh"

own_namespaces

mkdir lib data work
mount --bind lib /var/lib

bootstrap() {
    run muster bootstrap -H localhost --only project "$@"
}

# about DIR: what is in it, besides muster's list.
about() {
    (cd "$1" && find . ! -name .muster-pushed ! -name . -printf '%P %y %m %s %TY-%Tm-%Td %TT %l\n' | sort)
}

mkdir work/lib "work/a b"
echo 'import lib' >work/train.py
echo one >"work/a b/one"
printf '%s' "$(printf 'name\377')" | xargs -I {} touch work/lib/{}
chmod 750 work/lib
chmod 700 work/train.py
ln -s train.py work/main.py
ln work/train.py work/lib/same.py
touch -d '2026-01-02 03:04:05.123456789' work/train.py
printf '[project]\npush = work\ndirectory = %s\n' "$PWD/data/train" >conf

bootstrap conf
is "a plan with a directory to copy succeeds" "$rc" 0 || sed 's/^/#   /' err
ok "it says how much will be copied, and where" grep -q \
    "^localhost  project: $PWD/data/train: copy 5 files, 26 bytes; 0 are there already (\[project\] push" out
is "it copies nothing" "$(ls -A data)" ""
bootstrap --apply conf
is "it is applied" "$rc" 0 || sed 's/^/#   /' err
about work >here
about data/train >there
ok "all of it is there: modes, times, links" cmp here there
is "hard links, too" "$(stat -c %h data/train/train.py)" 2
bootstrap --apply conf
is "a second apply changes nothing" "$rc $(cat out err)" "0 localhost: nothing needs to be changed"

echo two >work/two
echo 'import sys' >work/train.py
bootstrap conf
ok "what has changed is planned, and no more" grep -q "copy 3 files, 26 bytes; 3 are there already" out
rm work/main.py
bootstrap --apply conf
is "it is copied" "$rc $(cat data/train/train.py data/train/two)" "0 import sys
two" || sed 's/^/#   /' err
is "what is gone here stays there, as with muster bcast" "$(readlink data/train/main.py)" train.py

# Somebody works on the node.
echo mine >data/train/two
touch work/two
bootstrap --apply conf
is "a file that was changed there is not replaced" "$rc $(cat data/train/two)" "1 mine"
ok "which is said" grep -q "project: failed: $PWD/data/train/two has changed since muster copied it" err
ok "with what to do" grep -q '^ *muster collect fetches it; then remove it there' err
bootstrap --undo
is "undo does not remove it" "$rc $(cat data/train/two)" "1 mine"
ok "and says why" grep -q "project: failed: $PWD/data/train has a file .* or that has changed since: two" err
rm data/train/two
bootstrap --apply conf
is "without that it is copied again" "$rc $(cat data/train/two)" "0 two"
echo results >data/train/model
mkdir data/train/__pycache__
: >data/train/__pycache__/train.pyc
bootstrap --undo
is "undo does not remove a new file, either" "$rc $(cat data/train/model)" "1 results"
ok "and names it" grep -q 'project: failed: .* since: model' err
rm data/train/model
bootstrap --undo
is "undo removes what muster has copied, and what Python has made of it" "$rc $(ls -A data)" "0 " ||
    sed 's/^/#   /' err

# The copy is cut off: some files are old, some new, one is not whole.
bootstrap --apply conf
cp -a data/train old
echo newer >work/two
touch work/one
bootstrap --apply conf
rm data/train/one
cp -a old/two data/train/two
: >data/train/.muster-0123
bootstrap --apply conf
is "the next apply completes it" "$rc $(cat data/train/two) $(ls data/train/one)" "0 newer data/train/one" ||
    sed 's/^/#   /' err
bootstrap --undo
is "and undo removes all of it" "$rc $(ls -A data)" "0 "
is "and says so, of the directory alone" "$(sed 's/.*: //' out | tr '\n' '|')" \
    "removed (undo)|1 change was undone|"
rm -r old
mkdir data/train.muster-new
bootstrap --apply conf
is "a directory that was half made is made again" "$rc $(ls data)" "0 train"
bootstrap --undo

if command -v git >/dev/null; then
    git init -q work
    bootstrap --apply conf
    bootstrap --undo
    is "a checkout is a directory like others" "$rc $(ls -A data)" "0 " || sed 's/^/#   /' err
    rm -rf work/.git
fi

# What is in the way.
mkdir data/train
echo mine >data/train/two
bootstrap --apply conf
is "what somebody else has made is refused" "$rc $(cat data/train/two)" "1 mine"
ok "which is said" grep -q "failed: $PWD/data/train exists, and is not of muster" err
rm -r data/train
cp -a work data/train
bootstrap --apply conf
is "but the same files need no copy" "$rc $(cat out)" "0 localhost: nothing needs to be changed"
rm -r data/train
mkfifo work/pipe
bootstrap conf
is "what cannot be copied is an error before any node is asked" "$rc" 65
ok "which names it" grep -q '\[project\] push: .*/work/pipe: a named pipe, which cannot be sent' err
rm work/pipe
printf '[project]\npush = nowhere\n' >none
bootstrap none
ok "so is a directory that is not there" grep -q '\[project\] push: nowhere: No such file' err
printf '[data]\nmount = %s\n[project]\npush = work\n' "$PWD/data" >disk
bootstrap --apply disk
ok "nothing is copied to the system's disk" grep -q "nothing is mounted at $PWD/data, so $PWD/data/work would" err
is "... indeed" "$rc $(ls -A data)" "1 "
mount -t tmpfs tmpfs data
bootstrap --apply disk
is "but to the data disk, by its own name" "$rc $(cat data/work/two)" "0 newer"
bootstrap --undo
is "and undo removes it" "$rc $(ls -A data)" "0 "
umount data
printf '[project]\npush = work\ngit = /a\n' >both
bootstrap both
is "git and push at once are an error" "$rc" 65
ok "which says where" grep -q 'both:3: \[project\] has both git and push' err
ok "nothing is left" no_leftovers

finish
