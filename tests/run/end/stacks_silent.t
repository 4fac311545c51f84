#!/bin/sh
# muster stacks asks a node whose agent is stopped: it is named, the others are shown, and once the
# agent goes on, it answers again.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/commands/detach.sh"

mkdir bin
script_file bin/gdb <<'END'
#!/bin/sh
echo "gdb's"
END
PATH=$PWD/bin:$PATH

# shellcheck disable=SC2086
{
detach --dead-after 1000 $four sh -c 'until [ -e go ]; do sleep 0.2; done'
status_says True
parent_of() {
    ps -o ppid= -p "$1" | tr -d ' '
}
guard=$(parent_of "$(json state.json 'd["ranks"][3]["pid"]')")
agent=$(parent_of "$guard")
kill -STOP "$guard" "$agent" # else the guard continues its agent
for i in 1 2; do
    muster stacks >"out.$i" 2>"err.$i" &
    echo $! >"pid.$i"
done
wait "$(cat pid.1)" "$(cat pid.2)"
is "a stopped agent: all get an answer" "$?" 0
ok "... the others are shown" grep -Eqx 'ranks? 0.* on node1:' out.1
is "... and it is named first" "$(head -n 1 out.1)" "node2: no answer within 15 s"
is "... for each who has asked" "$(head -n 1 out.2)" "node2: no answer within 15 s"
ok "stacks.txt has it, too" grep -qx 'node2: no answer within 15 s' "$kept/stacks.txt"
ok "... and stacks.json" json_says "$kept/stacks.json" 'd["silent"] == ["node2"]'
ok "the log says so" grep -q '1 nodes did not report the stacks' "$kept/log"

# It still has the first request: the second one comes to it when that is answered.
muster stacks >out.3 2>err.3 &
asking=$!
ok "another request is under way" wait_for 10 grep -q 'control: stacks' "$kept/log"
kill -CONT "$guard" "$agent"
wait $asking
is "once it goes on, all answer" "$? $(grep -c 'no answer' out.3)" "0 0"
ok "... node2's ranks, too" grep -Eq '^ranks? .*on node(2|\[1-2\]):$' out.3

# A launcher that is stopped does not answer at all.
pid=$(launcher)
kill -STOP "$pid"
run muster stacks
kill -CONT "$pid"
is "a stopped launcher: an error" "$rc $(cat err)" "2 muster: error: $id: its launcher did not answer within 25 s"

: >go
ok "the run ends well" wait_for 60 status_says 'd["exit_status"] == 0'
ok "nothing is left" no_leftovers
}
finish
