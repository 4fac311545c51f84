#!/bin/sh
# Row 70: muster bcast, where the receiving tree has symbolic links that lead elsewhere, and where
# the sender is not muster: absolute names, "..", files below a link that it has just sent. It is
# refused, and nothing outside the directory that was named changes. Once with openat2, once with
# the walk for kernels without it.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

# What must stay as it is: with names, modes, times and contents.
mkdir -p outside/d
echo precious >outside/f
echo precious >outside/d/f
outside() {
    (cd outside && find . -exec stat -c '%n %f %i %Y %Z %s' {} + | sort && cat f d/f)
}
untouched=$(outside)

fresh() {
    rm -rf there
    mkdir there
}

# bcast ARGUMENTS...: from ./tree to ./there
bcast() {
    run muster bcast -H node1 tree --to there "$@"
}

# sender CASE: refused as it should be.
sender() {
    timeout 60 python3 "$here/hostile/tree_sender.py" "$1" >out 2>err
}

mkdir -p tree/d/e
echo new >tree/f
echo new >tree/d/f
echo new >tree/d/e/f

# Without the fault.
fresh
bcast
is "without the fault: 0" "$rc" 0
ok "... and all of it is there" diff -r tree there/tree
is "... and nobody complains" "$(cat err)" ""

for way in openat2 walk; do
    MUSTER_TEST_OPENAT=$way
    MUSTER_AGENT=$test_agent
    export MUSTER_TEST_OPENAT MUSTER_AGENT

    # The receiver's tree is hostile.
    for link in tree tree/d tree/d/e; do
        fresh
        mkdir -p "there/$link"
        rmdir "there/$link"
        ln -s "$PWD/outside" "there/$link"
        bcast
        is "$way: a link where a directory should be, $link: 73" "$rc" 73
        ok "... is named" grep -q "node1  $PWD/there/$link: cannot make the directory: .*link" err
        is "... and leads nowhere" "$(outside)" "$untouched"
    done
    ok "$way: what does not go through it arrives" test -e there/tree/f -a -e there/tree/d/f
    fresh
    mkdir there/tree
    ln -s "$PWD/outside/f" there/tree/f
    bcast
    is "$way: a link where a file should be: it is replaced, not followed" \
        "$rc $(cat there/tree/f)" "0 new"
    is "... and leads nowhere" "$(outside)" "$untouched"

    # The sender is.
    for case in $(python3 "$here/hostile/tree_sender.py" list) file-unspoken sum-unspoken \
        sum-of-another sum-not-next sum-twice sum-behind sum-cut sums-without-end file-too-long \
        file-in-file data-alone other-contents link-key link-port link-number listen-callers \
        listen-address no-tree relative-root dir-is-link link-on-the-way swapped-before \
        swapped-meanwhile links-outside hard-link-to-swapped finish-first; do
        fresh
        mkdir there/real
        ln -s ../outside there/link
        ln -s ../../outside there/real/link
        ok "$way: $case" sender "$case"
        is "... and nothing outside has changed" "$(outside)" "$untouched"
        is "... and nothing half is left" "$(find there -name '.muster*')" ""
    done
done
for case in no-blob open-end links many twice list-first hash-first hash-unlisted hash-cut hash-many \
    need-unlisted; do
    ok "an agent that gives files: $case" sender "give-$case"
done
unset MUSTER_TEST_OPENAT MUSTER_AGENT
rc=0
ended 0
finish
