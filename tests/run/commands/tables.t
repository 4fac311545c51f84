#!/bin/sh
# The tables of status, clean, check and --dry-run fit a terminal of 80 columns.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

# fits: out has no line over 80 columns, and none that ends in a blank.
fits() {
    [ "$(tr -d '\r' <out | awk 'length > 80 || / $/')" = "" ]
}

long=$(printf '%0100d' 7)
run muster -H node1.example.org:2,node2.example.org:2 --name=a-name-for-a-run sh -c 'echo hello' \
    "$long"
is "labels leave out the common domain" "$(sort out)" "node1:0: hello
node1:1: hello
node2:2: hello
node2:3: hello"
run muster exec -b -H node1.example.org,node2.example.org true "$long"

run muster status a-name
is "status of a run: its names, too" \
    "$(awk '/^[0-3] / { print $2 }' out | uniq -c | xargs)" "2 node1 2 node2"
ok "... and who has launched it" grep -q "^nodes: 2, ranks: 4, launched on $(uname -n)\$" out
echo 'print("hello")' >shown.py
run muster -H node1:1 shown.py --epochs 3
run muster status
ok "status has a Python script without its Python" grep -Eq \
    ' 1 +1 +shown.py --local_rank=0 --epochs 3$' out
ok "in a file status cuts nothing" grep -q "$long" out

run muster --dry-run -H 'node[1-64].example.org:8' train.py
: >train.py
run muster --dry-run -H 'node[1-64].example.org:8' train.py
ok "--dry-run fits" fits
is "... and folds equal nodes" "$(grep -c '^node' out) $(grep -c '^  rank' out)" "1 1"
ok "... with all ranks" grep -q '^  ranks 0-511, 8 per node, CUDA_VISIBLE_DEVICES=0,1,2' out
ok "... without their common domain" grep -q '^node\[1-64\]: ' out
run muster --version
ok "--version fits" fits
run muster
is "without a script a short hint" "$(cat err)" \
    "muster: error: no script to run: muster [OPTIONS] SCRIPT [ARGS...]; see muster --help"
run muster --dry-run -v -H 'node[1-64].example.org:8' train.py
is "... which -v shows" "$(grep -c '^node' out) $(grep -c '^  rank' out)" "64 512"

if need_pty; then
    # on_terminal COMMAND...: its output on a terminal of 80 columns.
    on_terminal() {
        script -qec "stty cols 80; $*" typescript </dev/null >out
    }
    on_terminal muster status
    ok "status fits a terminal" fits
    ok "... and has its heading" grep -q '^RUN .*COMMAND' out
    start muster -H node1:1 --name=b-name-for-a-run sleep 1007 "$long"
    wait_for 10 sh -c 'muster status | grep -q "running .*sleep 1007"'
    on_terminal muster clean -H node1.example.org,node2.example.org
    ok "clean fits, too" fits
    ok "... and has its heading" grep -q '^NODE .*COMMAND' out
    kill "$pid"
    finish_run 10
    on_terminal muster -q -H node1:1,node2:1 --cwd /nowhere/$(printf '%030d' 7) sh
    sed -i "s/.*$(printf '\033')\[K//; /^  hint: /d" out # what was erased, and commands to copy
    ok "the causes of failed nodes fit" fits
    ok "... in their column" grep -q '^                      /nowhere/0' out
else
    for _ in 1 2 3 4 5 6; do skip "tables on a terminal" "script(1) is missing"; done
fi
if need_trainer; then
    run muster check -H node1.example.org:1,node2.example.org:1 -- -b 8 -e 1M -f 4
    ok "check fits" fits
else
    skip "check fits" "muster-train was not built"
fi
ok "nothing is left" no_leftovers
finish
