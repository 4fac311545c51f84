#!/bin/sh
# Groups of hosts: -g, -a, -X and @GROUP, from a genders database, ClusterShell's groups.conf and
# dsh's files; regular expressions and files in filters.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

# on WORDS...: the hosts that muster exec would use, or its error
on() {
    run muster exec --dry-run --json=- "$@" true
    if [ "$rc" = 0 ]; then
        python3 -c 'import json, sys; print(*[n["host"] for n in json.load(sys.stdin)["nodes"]])' <out
    else
        echo "$rc $(tail -n 1 err)"
    fi
}

# Neither this machine's groups nor the examples in ClusterShell's package
export PDSH_GENDERS_DIR="$PWD" PDSH_GENDERS_FILE=genders CLUSTERSHELL_CFGDIR="$PWD/clustershell"
mkdir -p clustershell/groups.d
cat >clustershell/groups.conf <<'EOF'
[Main]
default: local
autodir: $CFGDIR/groups.d
[local]
map: sed -n 's/^$GROUP:\(.*\)/\1/p' $CFGDIR/flat
all: sed -n 's/^all:\(.*\)/\1/p' $CFGDIR/flat
[slow]
map: echo $$ >$CFGDIR/pid; exec sleep 1000
EOF
printf 'cpu: te[1-4]\nall: te[1-4],n9\n' >clustershell/flat
printf 'racks:\n    r1: te[1-2]\n    r2: "@local:cpu!@r1"\n' >clustershell/groups.d/racks.yaml

# dsh's files
mkdir -p "$HOME/.dsh/group" system
export DSHGROUP_PATH="$PWD/system"
printf 'te1 # the first\n\n  te[2-3]\t\r\n' >"$HOME"/.dsh/group/gpu
printf '# all of these\n#include gpu\nbob@x1\n#include %s\n' "$PWD/more" >system/mine
printf 'x2\nte1\n' >more
printf 'te1\nte2\n' >system/gpu
: >system/empty
printf '#include loop\n' >system/loop
printf 'te1\nte2:4\n' >system/slots
printf 'te1\n@netgroup\n' >system/netgroup
printf 'te1\nte2\nx9\n' >"$HOME"/.dsh/machines.list
is "-g: a file in ~/.dsh/group" "$(on -g gpu)" "te1 te2 te3"
is "... or in DSHGROUP_PATH, which may include others" "$(on -g mine)" "te1 te2 te3 x1 x2"
run muster exec --dry-run --json=- -g mine true
is "... with the user of a line" \
    "$(python3 -c 'import json, sys; print([n.get("user") for n in json.load(sys.stdin)["nodes"]])' <out)" \
    "[None, None, None, 'bob', None]"
is "-g is repeated and has commas: each host once" "$(on -g gpu,mine -g gpu)" "te1 te2 te3 x1 x2"
is "-w @GROUP" "$(on -w x5,@gpu,te2)" "x5 te1 te2 te3"
is "-a: machines.list" "$(on -a)" "te1 te2 x9"
is "-X" "$(on -w 'te[1-5]' -X gpu)" "te4 te5"
is "... of several, beside -x" "$(on -w 'te[1-5],x[1-3]' -X gpu,mine -x te5)" "te4 x3"
is "... whatever the order" "$(on -w 'te[1-5]' -X gpu --exclude te5)" "te4"
is "-x @GROUP, as clush has it" "$(on -w 'te[1-5]' -x te5,@gpu)" "te4"
is "--include @GROUP" "$(on -w 'te[3-5]' --include '@gpu@te5')" "te3 te5"
is "-g chooses among the hosts of -w" "$(on -w te5,te3,te1 -g gpu)" "te3 te1"
is "... and of a hostfile, in its order" "$(printf 'te9\nte3\nte1\n' >hosts; on --hostfile=hosts -g gpu)" "te3 te1"
is "-A" "$(on -A)" "te1 te2 x9"
is "dsh:NAME" "$(on -g dsh:gpu)" "te1 te2 te3"

# What is wrong
is "an empty file" "$(on -g dsh:empty)" "65 muster: error: no group 'empty': $PWD/system/empty lists no host"
is "files that include each other" "$(on -g dsh:loop)" \
    "65 muster: error: no group 'loop': $PWD/system/loop: more than 64 files include each other"
is "a port or slots" "$(on -g slots)" "65 muster: error: group slots:5: a group has only the names of hosts"
is "a netgroup" "$(on -g netgroup)" "65 muster: error: group netgroup:1: the user name is empty"
is "no name" "$(on -w te1,@)" "65 muster: error: the name of a group must follow '@'"
is "... of -g" "$(on -g '')" "2 muster: error: -g: is empty; it should name a group"
is "... of -X" "$(on -w te1 -X '')" "2 muster: error: -X: is empty; it should name a group"
is "no host of -g in a hostfile" "$(echo x5 >hosts; on --hostfile=hosts -g gpu)" \
    "65 muster: error: -g gpu: none of its hosts is among the 1 of the hostfile or -H"
printf '#include none\n' >system/lost
is "a file that is not there" "$(on -g dsh:lost)" \
    "65 muster: error: no group 'lost': $PWD/system/lost: #include none: not in $HOME/.dsh/group or $PWD/system"
echo 'echo te1' | script_file d.sh
run muster --dry-run -g gpu --host-discovery-script ./d.sh true
is "-g and a script" "$rc $(cat err)" \
    "2 muster: error: hosts are given twice, by --host-discovery-script and by a group; use only one"

# Regular expressions and files
is "-x /RE/" "$(on -w 'te[1-12]' -x '/[2-9]$/')" "te1 te10 te11"
is "... with a comma in it, and another host" "$(on -w 'te[1-4]' -x '/te[1,2]/,te3')" "te4"
is "... without the last slash" "$(on -w 'te[1-4]' -x te1,/[23])" "te4"
is "-i /RE/" "$(on -w 'te[1-4]' -i '/[23]/')" "te2 te3"
is "--include=/RE/:SLOTS" "$(run muster --dry-run --json=- -H 'te[1-3]:4' --include='/[12]/:0,3@te3:1' --no_python true
    python3 -c 'import json, sys; print(*[n["slots"] for n in json.load(sys.stdin)["nodes"]])' <out)" "[0, 3] [0, 3] [1]"
is "@GROUP:SLOTS" "$(run muster --dry-run --json=- -H 'te[1-3]:4,x1:4' --include=@gpu:2 --no_python true
    python3 -c 'import json, sys; print(*[n["slots"] for n in json.load(sys.stdin)["nodes"]])' <out)" "[2] [2] [2]"
is "-x ^FILE" "$(on -w 'te[1-4],x2' -x "^$PWD/more")" "te2 te3 te4"
is "a regular expression that is none" "$(on -w te1 -x '/(/')" \
    "2 muster: error: --exclude: /(/: Unmatched ( or \\("
is "... that no host matches" "$(on -w te1 -x /x/)" "2 muster: error: --exclude: no host matches /x/"
is "... with more behind it" "$(on -w te1 -x /t/x)" \
    "2 muster: error: --exclude: 'x' follows /t/; slots are written /RE/:0,1"
is "... in -w" "$(on -w te1,/t/)" \
    "65 muster: error: -H:5: '/' is not allowed in a host name; to choose hosts by a regular expression write --include=/RE/ or --exclude=/RE/"
is "ClusterShell's operators without a group" "$(on -w 'te1!te2')" \
    "65 muster: error: -H:4: '!' is not allowed in a host name; ClusterShell's operators belong behind a group: @GROUP!te1"

# A run: a group has no slots, so the nodes' GPUs are counted
mkdir -p root/dev
: >root/dev/nvidia0 >root/dev/nvidia1
run env MUSTER_TEST_ROOT="$PWD/root" muster --agent="$test_agent" -g gpu --no_python --no_local_rank true
is "a run on a group" "$rc $(cat err)" \
    "0 muster: warning: hosts without slots=N: using the GPUs found as slots: te[1-3] 2"
run muster --dry-run -g gpu --num_gpus 4 --no_python true
ok "... with --num_gpus" grep -q '12 ranks on 3 nodes' out
run muster shell --dry-run --json=- -g gpu te2 true
is "muster shell -g" "$(python3 -c 'import json, sys; print(*[n["host"] for n in json.load(sys.stdin)["nodes"]])' <out)" te2
run muster bcast -g gpu -a x
ok "muster bcast -a is answered" grep -q -- "-a: it is rsync's, .*--all-hosts" err

# A genders database
if python3 -c 'import ctypes; ctypes.CDLL("libgenders.so.0")' 2>/dev/null; then
    printf 'te[1-4] gpu,rack=1\nn[5-6] gpu,rack=2,altname=%%n-ib\nlogin pdsh_all_skip\n' >genders
    is "genders come before dsh" "$(on -g gpu)" "te1 te2 te3 te4 n5-ib n6-ib"
    is "... attribute=value" "$(on -g rack=1)" "te1 te2 te3 te4"
    is "... a query" "$(on -g 'gpu&&~rack=2')" "te1 te2 te3 te4"
    is "... several" "$(on -g rack=2,pdsh_all_skip)" "n5-ib n6-ib login"
    is "... -X" "$(on -g gpu -X rack=1)" "n5-ib n6-ib"
    is "... -a leaves out pdsh_all_skip" "$(on -a)" "te1 te2 te3 te4 n5-ib n6-ib"
    is "... -A does not" "$(on -A | wc -w)" 7
    is "... genders:NAME" "$(on -g genders:mine)" "65 muster: error: no group 'mine': no node in $PWD/genders has it"
    is "dsh has what genders do not" "$(on -g mine)" "te1 te2 te3 x1 x2"
    if command -v nodeattr >/dev/null; then
        is "as nodeattr reads it" "$(on -g '(gpu--rack=1)||pdsh_all_skip' | xargs -n1 | sort)" \
            "$(nodeattr -f genders -n '(gpu--rack=1)||pdsh_all_skip' | sed 's/^n.*/&-ib/' | sort)"
    fi
    printf 'te1 gpu=\nx y z\n' >genders
    is "a database that is wrong" "$(on -g gpu)" \
        "65 muster: error: group 'gpu': $PWD/genders: genders file parse error; nodeattr -f $PWD/genders -k says where"
    rm genders
    is "no database" "$(on -g genders:gpu)" "65 muster: error: no group 'gpu': there is no $PWD/genders"
else
    skip "genders" "no libgenders"
fi

# ClusterShell
if command -v nodeset >/dev/null; then
    is "ClusterShell: an upcall" "$(on -g cpu)" "te1 te2 te3 te4"
    is "... a file" "$(on -w @racks:r1)" "te1 te2"
    is "... a group of groups" "$(on -g racks:r2)" "te3 te4"
    is "... its operators" "$(on -w '@cpu!@racks:r1,x1')" "te3 te4 x1"
    is "... in a filter" "$(on -w 'te[1-9]' -X racks:r1,cpu)" "te5 te6 te7 te8 te9"
    is "... all" "$(on -g nodeset:'*')" "n9 te1 te2 te3 te4"
    is "... an unknown source" "$(on -g nodeset:no:x)" \
        "65 muster: error: no group 'no:x': nodeset failed: nodeset: Unknown group source: \"no\""
    is "no group anywhere" "$(on -g nope)" \
        "65 muster: error: no group 'nope': there is no $PWD/genders; there is no nope in $HOME/.dsh/group or $PWD/system; nodeset finds no such group"
    start muster exec --dry-run -g slow:x true
    wait_for 30 test -s clustershell/pid
    kill -INT "$pid"
    wait "$pid" || :
    ok "what muster asks ends when muster is interrupted" wait_for 30 \
        sh -c '! kill -0 "$(cat clustershell/pid)" 2>/dev/null'
    run env PATH=/nonexistent "$top_builddir/launcher/muster" exec --dry-run -g nodeset:cpu true
    is "without nodeset" "$rc $(cat err)" \
        "65 muster: error: no group 'cpu': nodeset, which reads ClusterShell's groups.conf, is not installed"
else
    skip "ClusterShell" "no nodeset"
fi

ok "nothing is left" no_leftovers
finish
