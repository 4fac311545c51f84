#!/bin/sh
# --health-check: a program that must find each node fit before each generation. A node that it
# refuses gets no ranks; a spare takes its place. The program may do anything.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

unset MUSTER_HOSTFILE MUSTER_SSH_CONFIG
limit=$(stretched 2) # of what must time out, and of what must not
two=node1:1,node2:1
three=$two,node3:1

# --- what it gets, and a fixed world

script_file facts <<'END'
#!/bin/sh
echo "$MUSTER_HOST $MUSTER_NODE_RANK $MUSTER_GENERATION ${MUSTER_RUN_ID:+id} ${RANK-no rank} $# $(wc -c)" >>facts.said
END
run muster -v -H $two --health-check "$PWD/facts" true
is "it finds both nodes fit" "$rc" 0
is "it has the facts of its node, no arguments, an empty input" "$(sort facts.said)" \
    "node1 0 0 id no rank 0 0
node2 1 0 id no rank 0 0"
is "-v says how long that took" "$(sed -En 's/^.* (node.: fit for ranks: program) \([0-9.]+ ms\)$/\1/p' err | sort)" \
    "node1: fit for ranks: program
node2: fit for ranks: program"

script_file refuses <<'END'
#!/bin/sh
case $MUSTER_HOST:$MUSTER_GENERATION in
$ILL) ;;
*) exit 0 ;;
esac
echo "on stderr" >&2
echo
echo "GPU 1 is ill"
echo "and more"
exit 3
END
refuses=$PWD/refuses
# refused: the table row of a node, and what follows it.
refused() {
    sed -En 's/^ +(node[^ ]*) +health +/\1: /p' err
}
ILL='node2:*' run muster -H $two --health-check "$refuses" sh -c 'echo started'
is "a fixed world: the run ends" "$rc $(cat out)" "73 "
is "... with node, status and first line" "$(refused)" \
    "node2: health check $refuses: exit status 3: GPU 1 is ill"
cp refuses "$HOME/refuses"
ILL='node2:*' PATH=$HOME:$PATH run muster -H $two --health-check refuses true
is "a name on PATH" "$rc $(refused)" "73 node2: health check refuses: exit status 3: GPU 1 is ill"
printf '[muster]\nhealth-check = %s\n' "$refuses" >muster.conf
ILL='node1:*' run muster --config muster.conf -H $two true
is "from the settings" "$rc $(refused)" "73 node1: health check $refuses: exit status 3: GPU 1 is ill"
ILL='node2:*' run muster exec --config muster.conf -H $two true
is "muster exec: no check" "$rc" 0
ILL='node2:*' run muster --health-check "$refuses" -H $two --role a:1 true : --role b:1 true
is "the nodes of each role" "$rc $(refused)" "73 node2: health check $refuses: exit status 3: GPU 1 is ill"
run muster --health-check "$refuses" -H $two --dry-run true
ok "--dry-run shows it" grep -qx "health check on each node: $refuses" out

# --- another node takes its place

# Rank 0 of the first generation fails once the other one runs and the spare waits.
script_file once <<'END'
#!/bin/sh
echo "generation $MUSTER_GENERATION on $MUSTER_HOST"
[ "$MUSTER_GENERATION" = 0 ] || exit 0
[ "$RANK" = 0 ] || { : >runs; exec sleep 1000; }
until [ -e runs ] && grep -q 'node3: checked; it waits for a place' err; do sleep 0.02; done
exit 1
END
ILL=node2:1 run muster -v -H $three --spares 1 --max-restarts 1 --restart-delay 0 --grace 1 --label none \
    --health-check "$refuses" ./once
is "refused before the second generation: a spare takes its place" "$rc $(sort out | tr '\n' ' ')" \
    "0 generation 0 on node1 generation 0 on node2 generation 2 on node1 generation 2 on node3 "
ok "... one line says so" grep -q \
    'generation 2: node node2 not fit (health check .*/refuses: exit status 3: GPU 1 is ill); node3 takes its place' err
ILL='node2:*' run muster -v -H $three --spares 1 --grace 1 --label none --health-check "$refuses" \
    sh -c 'echo "on $MUSTER_HOST"'
is "refused before the first one: the same" "$rc $(sort out | tr '\n' ' ')" "0 on node1 on node3 "
rm -f go
ILL='node3:*' start muster -v -H $three --spares 1 --grace 1 --health-check "$refuses" \
    sh -c 'until [ -e go ]; do sleep 0.02; done'
ok "a spare that is refused is no spare" wait_for 30 grep -q \
    "node3: cannot take part now: health: health check $refuses: exit status 3: GPU 1 is ill" err
touch go
finish_run 30
is "... and the run does without it" "$rc $(grep -c 'checked; it waits' err)" "0 0"
ILL=node2:1 run muster -H $two --max-restarts 1 --restart-delay 0 --grace 1 --max-wait 1 --health-check \
    "$refuses" sh -c '[ "$RANK" = 0 ] || exec sleep 1000; exit 1'
is "no spare: the run waits for the node, and then ends" "$rc" 75
ok "... with the reason" grep -q "node2 not fit (health check $refuses: exit status 3: GPU 1 is ill); waiting for a node" err

# --- programs that do other things

# with PROGRAM: how the run ends.
with() {
    run muster -H node1:1 --health-check "$1" true
    echo "$rc $(refused)"
}
is "not there" "$(with /nonexistent/check)" "127 node1: health check /nonexistent/check: No such file or directory"
: >plain
is "not executable" "$(with "$PWD/plain")" "126 node1: health check $PWD/plain: Permission denied"
is "a directory" "$(with "$PWD")" "126 node1: health check $PWD: Permission denied"
is "a relative path" "$(with ./refuses) $(cat err)" \
    "2  muster: error: --health-check: './refuses' is neither an absolute path nor a name on PATH"
is "arguments" "$(with "true -v") $(cat err)" "2  muster: error: --health-check: 'true -v' has a blank; the \
program gets no arguments: put the command into a script"
script_file escapes <<'END'
#!/bin/sh
printf '\033]0;title\007\033[2Jred \200\nmore\n'
exit 1
END
is "it prints escapes: they are shown" "$(with "$PWD/escapes")" \
    "73 node1: health check $PWD/escapes: exit status 1: ^[]0;title^G^[[2Jred ?"
script_file floods <<'END'
#!/bin/sh
yes | head -c 20000000
exit 1
END
is "it floods" "$(with "$PWD/floods")" "73 node1: health check $PWD/floods: exit status 1: y"
script_file killed <<'END'
#!/bin/sh
kill -KILL $$
END
is "it is killed" "$(with "$PWD/killed")" "73 node1: health check $PWD/killed: killed by SIGKILL"
script_file leaves <<'END'
#!/bin/sh
sleep 1000 &
END
is "it leaves a process: that is ended" "$(with "$PWD/leaves") $(leftovers)" "0  "

MUSTER_AGENT=$test_agent
MUSTER_TEST_GATE_S=$limit
export MUSTER_AGENT MUSTER_TEST_GATE_S
script_file hangs <<'END'
#!/bin/sh
trap '' TERM
echo "waiting for a GPU"
sleep 1000
END
is "it hangs: its time is limited" "$(with "$PWD/hangs")" \
    "73 node1: health check $PWD/hangs: not finished after $limit s: waiting for a GPU"
ok "... nothing of it is left" no_leftovers
script_file floods <<'END'
#!/bin/sh
exec yes
END
is "it floods for ever" "$(with "$PWD/floods")" "73 node1: health check $PWD/floods: not finished after $limit s: y"
MUSTER_TEST_GATE_S=1000
start muster --grace 1 -H node1:1 --health-check "$PWD/hangs" true
wait_for 30 pgrep -f "$PWD/hangs" >/dev/null
kill -INT $pid
finish_run 30
is "Ctrl-C while it runs" "$rc" 130
ok "... nothing of it is left" no_leftovers

# --- contrib/health-check

unset MUSTER_AGENT MUSTER_TEST_GATE_S
example=$top_srcdir/contrib/health-check/health-check
mkdir bin
# tool NAME STATUS: prints its standard input and exits so.
tool() {
    { echo '#!/bin/sh'; echo "cat <<'END'"; cat; echo END; echo "exit $2"; } >"bin/$1"
    chmod +x "bin/$1"
}
# The words of its end; only our tools are on PATH, and what it needs.
for needed in sh cat grep head tr awk sed; do ln -s "$(command -v $needed)" bin/; done
example_says() {
    said=$(PATH=$PWD/bin "$example" 2>&1)
    echo "$? $said"
}
if [ -e /dev/nvidia0 ]; then
    skip "the example: no tools, no GPUs" "there are GPUs"
else
    is "the example: no tools, no GPUs" "$(example_says)" "0 "
fi
printf '0, 0\n1, [N/A]\n' | tool nvidia-smi 0
is "... nvidia-smi sees all well" "$(example_says)" "0 "
printf '0, 0\n1, 3\n' | tool nvidia-smi 0
is "... memory errors" "$(example_says)" "1 GPU 1 has had uncorrected memory errors"
echo 'Unable to determine the device handle for GPU0000:3B:00.0: GPU is lost' | tool nvidia-smi 15
is "... nvidia-smi fails" "$(example_says)" \
    "1 nvidia-smi: Unable to determine the device handle for GPU0000:3B:00.0: GPU is lost"
printf '+---+\n| Deployment | Pass |\n' | tool dcgmi 0
is "... DCGM goes first" "$(example_says)" "0 "
printf '+---+\n| Memory    | Fail - GPU: 1 |\n' | tool dcgmi 0
is "... it finds something" "$(example_says)" "1 dcgmi diag: Memory Fail GPU: 1"
PATH=$PWD/bin:$PATH run muster -H node1:1 --health-check "$(cd "$top_srcdir" && pwd)/contrib/health-check/health-check" true
is "... in a run" "$rc $(refused | cut -d' ' -f 5-)" "73 exit status 1: dcgmi diag: Memory Fail GPU: 1"
ok "nothing is left" no_leftovers
finish
