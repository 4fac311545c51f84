#!/bin/sh
# Row 45: a directory is not mounted on one node. Found before any rank starts; node and path are
# named, also where only Python would have missed the script.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_nodes 2
ranks_sleep
mkdir data
mkdir empty
cp rank data/train
control 4 data/train
: >data/train.py
control 4 --python "$PWD/rank" data/train.py
on_node node2 mount --bind "$PWD/empty" "$PWD/data"
faulty data/train
within "muster returns" 3 "$began"
ended 127
says 'node2 .*data/train' 'nothing was started' 'hint: node2: .*; copy it with: muster bcast .*data/train'
ok "no rank was started" all_ran 0
mkdir data/deep
faulty --cwd "$PWD/data/deep" "$PWD/rank"
ok "a working directory that is not there: an error" test "$rc" != 0
ended "$rc"
says "node2 .*$PWD/data/deep"
ok "no rank was started" all_ran 0

faulty --python "$PWD/rank" data/train.py
within "muster returns" 3 "$began"
ended 127
says 'node2 .*cannot read the script data/train.py: No such file' 'nothing was started'
ok "no rank was started" all_ran 0
mkdir empty/train.py
faulty --python "$PWD/rank" data/train.py
ended 126
says 'node2 .*cannot read the script data/train.py: Is a directory'
ok "no rank was started" all_ran 0
control 4 --module --python "$PWD/rank" data/train.py
control 4 --no_python "$PWD/rank"
finish
