#!/bin/sh
# tests/layers: the tree keeps to its table of rooms, and an include that does not is named.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"

run "$top_srcdir/tests/layers"
is "the tree keeps to the table" "$rc $(cat out err)" "0 "

# A copy of the sources, to break.
mkdir tree
(cd "$top_srcdir" && find launcher agent trainer common \
    -name '*.[ch]' -o -name '*.cc' -o -name '*.cu') >files
tar -cf - -C "$top_srcdir" -T files | tar -xf - -C tree

# breaks FILE INCLUDE SAYS: with that include at its end the file is named, with the line.
breaks() {
    mkdir -p "tree/$(dirname "$1")"
    [ ! -e "tree/$1" ] || cp "tree/$1" as_it_was
    echo "#include \"$2\"" >>"tree/$1"
    run "$top_srcdir/tests/layers" tree
    is "$1 includes $2: 1" "$rc" 1
    ok "... it says where, and why" grep -qxF "$1:$(wc -l <"tree/$1"): $3" out
    rm "tree/$1"
    [ ! -e as_it_was ] || mv as_it_was "tree/$1"
}

breaks launcher/plan/hostfile.c course/launch.h "launcher/plan may not include course/launch.h"
breaks launcher/transport/conn.c transport/ssh/conn_ssh.h \
    "launcher/transport may not include transport/ssh/conn_ssh.h"
breaks agent/node/process.c guard/guard.h "agent/node may not include guard/guard.h"
breaks trainer/comm/comm.h check/check.h "trainer/comm may not include check/check.h"
breaks common/frame.c node/node.h "common may not include node/node.h"
breaks launcher/plan/hostfile.c hostlist.h "launcher/plan may not include hostlist.h"
breaks launcher/plan/hostfile.c attic/old.h "launcher/plan may not include attic/old.h"
breaks launcher/attic/old.c err.h "launcher/attic is not in the table"

sed 's|^launcher/options .*|& run|' "$top_srcdir/tests/layers" >table
run sh table tree
is "a table that lets a room include what is above it: 1" "$rc" 1
ok "... it says so" grep -qx \
    "table:[0-9]*: launcher/options may not include what is above it: run" out
finish
