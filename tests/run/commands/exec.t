#!/bin/sh
# muster exec: one command a node, what pdsh is used for.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

three="-H node[1-3]"
# shellcheck disable=SC2086
{
run muster exec $three -- echo hello
is "labelled, on every node" "$(sort out | tr '\n' '|')" "node1: hello|node2: hello|node3: hello|"
run muster exec $three echo --x
is "-- is not needed" "$(grep -c -e ': --x$' out)" 3
run muster exec -H node1:8 -- echo x
ok "once a node, however many slots" lines out 1
run muster exec $three -- sh -c 'echo "$RANK:$MASTER_ADDR:$WORLD_SIZE"'
is "no ranks, no world" "$(sort -u out | tr '\n' '|')" "node1: ::|node2: ::|node3: ::|"
run muster exec $three -- sh -c 'exit 5'
is "exit status 0 without -S, as pdsh" "$rc" 0
ok "... the failing ones are named" grep -q 'node.*5' err
run muster exec -S $three -- sh -c 'exit 5'
is "-S: the largest" "$rc" 5
run muster exec -S $three -- nothing-here
is "-S: not found" "$rc" 127
is "... what to do about it" "$(sed -n 's/^ *hint: [^:]*: //p' err)" \
    "install it on that node, or give its path"
for command in 'echo a | cat' 'cat /etc/passwd > x' 'nvidia-smi -L'; do
    run muster exec $three "$command"
    is "$command: one word that is for a shell: 127" "$rc" 127
    is "... is told to give it one" "$(sed -n 's/^ *hint: [^:]*: //p' err)" \
        "muster starts no shell; write: muster exec -- sh -c '$command'"
done
cp /bin/echo "a | b"
run muster exec $three "$PWD/a | b" x
is "a file may be called so" "$(sort -u out | cut -d: -f2 | sort -u)" " x"
run muster exec -b $three -- sh -c 'echo one; echo two'
is "-b: identical output once, under its hosts" "$(grep -c one out)" 1
ok "... as a range" grep -q 'node\[1-3\]' out
script_file first_fails <<END
#!/bin/sh
mkdir '$PWD/taken' 2>/dev/null && exit 1
until grep -q ' running -> done' '$PWD/err'; do sleep 0.2; done
echo alive
END
run muster exec -v $three -- "$PWD/first_fails"
is "one that fails does not stop the others" "$(grep -c alive out)" 2
printf 'node1 slots=1\nnode2 slots=1\n' >hosts
run muster exec --hostfile hosts -i node2 -- echo x
is "hostfile and filter" "$(cat out)" "node2: x"
run muster exec $three -- sh -c 'cat | wc -c'
is "no standard input" "$(sort -u out | cut -d: -f2 | sort -u)" " 0"
run muster exec $three
is "no command: usage" "$rc" 2
ok "nothing is left" no_leftovers
}
run muster exec --timeout 0.5 -H node1 -- sleep 1000
is "--timeout ends it" "$rc" 124
ok "... and leaves nothing" no_leftovers
start muster exec -H node1 -- sh -c 'echo ready; exec sleep 1000'
wait_for 10 lines out 1
kill -INT "$pid"
finish_run 20
is "Ctrl-C ends it" "$rc" 130
ok "... and leaves nothing" no_leftovers
finish
