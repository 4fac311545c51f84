#!/bin/sh
# --host-discovery-script: a program says which hosts there are, at the start and each second from
# then on; what it says wrong is told once and ignored.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

# discovered COMMANDS: from now on the script executes these.
discovered() {
    printf '#!/bin/sh\n%s\n' "$1" >new
    chmod +x new
    mv new find
}

discovered 'echo node1:2; echo node2; echo node1:2'
run muster --host-discovery-script ./find --num_gpus 1 sh -c 'echo $WORLD_SIZE'
is "one line a host, repeated lines are one" "$rc $(sort out | tr '\n' ' ')" \
    "0 node1:0: 2 node2:1: 2 "
discovered 'echo no cloud today >&2; exit 3'
run muster --host-discovery-script ./find true
is "it fails: 65" "$rc" 65
ok "... and why" grep -q 'error: --host-discovery-script: ./find: exit 3 (no cloud today)' err
discovered 'echo "<html>"'
run muster --host-discovery-script ./find true
is "it prints something else: 65" "$rc" 65
ok "... which is shown where it is" grep -q 'host-discovery-script: ./find:1:1: ' err
run muster --host-discovery-script ./none true
is "there is none: 65" "$rc" 65
run muster --host-discovery-script ./find -H node1:1 true
is "hosts are given twice: 2" "$rc" 2
run env MUSTER_HOST_DISCOVERY_SCRIPT=./find muster -H node1:1 true
is "... unless one of them is a setting" "$rc" 0

discovered 'echo $$ >script; exec sleep 1000'
start muster --host-discovery-script ./find true
ok "a script that hangs" wait_for 20 [ -s script ]
ok "... is named, with its limit and what waits for it" wait_for 30 grep -q "warning: ./find: no answer \
for 5 s, and muster kills it after 30 s; the run has no hosts before that" err
kill -INT "$pid"
finish_run 20
is "... does not outlive Ctrl-C" "$rc" 130
ok "... and is gone" wait_for 20 is_gone "$(cat script)"

# A session of its own has no terminal, so HUP is for us to read the hosts.
discovered 'echo node1:1; echo node2:1'
start setsid muster --host-discovery-script ./find \
    sh -c 'echo runs; until [ -e over ]; do sleep 0.2; done'
ok "a run" wait_for 20 lines out 2
discovered 'echo node1:1; echo; exit 9'
ok "a broken answer is told" wait_for 20 \
    grep -q 'warning: ./find: exit 9; the hosts stay as they were' err
discovered 'echo x >>asked; echo node1:1; exit 9'
ok "... and again asked" wait_for 20 sh -c '[ -e asked ] && [ $(wc -l <asked) -ge 2 ]'
is "... but told once" "$(grep -c 'exit 9' err)" 1
kill -HUP "$pid"
discovered 'echo node1:1; echo node2:1; echo node3:1'
ok "a new host is told, after HUP as well" wait_for 20 grep -q '^muster: ./find: node3 is new' err
ok "... and that it can be read" wait_for 20 grep -q '^muster: ./find: can be read again' err
discovered 'exec sleep 1000'
ok "a script that hangs is named, with what the run goes on with" wait_for 30 grep -q "warning: ./find: no \
answer for 5 s, and muster kills it after 30 s; until then the hosts stay as they were" err
if [ "${MUSTER_TEST_WIDE:-}" = yes ]; then
    ok "... and is killed" wait_for 60 grep -q \
        'warning: ./find: killed, it did not exit within 30 s; the hosts stay as they were' err
fi
touch over
finish_run 20
is "the run ends well" "$rc" 0
ok "nothing is left" no_leftovers

rm over
script_file rank <<'END'
#!/bin/sh
echo "generation $MUSTER_GENERATION of $WORLD_SIZE"
trap 'exit 0' TERM
until [ -e over ]; do sleep 0.2; done
END
discovered 'echo node1:1; echo node2:1'
start muster -v --host-discovery-script ./find --exclude node2@node9 --nnodes 1:3 --grow-interval 0 \
    --grace 0.5 --label none ./rank
ok "--exclude, also of what is not there yet" wait_for 20 grep -q 'generation 0 of 1$' out
discovered 'echo node1:1; echo node2:1; echo node9:1; echo node3:1'
ok "... is applied to what comes: the others take part" wait_for 20 grep -q 'generation 1 of 2$' out
touch over
finish_run 20
is "... alone" "$rc $(grep -c 'node[29]: .* -> ' err)" "0 0"
ok "nothing is left" no_leftovers
finish
