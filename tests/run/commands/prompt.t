#!/bin/sh
# muster exec without a command: each line of standard input is one, as with pdsh.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

# lines_to OPTION...: run muster exec on two hosts, with the lines of standard input.
lines_to() {
    cat >typed
    run sh -c 'exec muster exec -H node1,node2 "$@" <typed' - "$@"
}

# What the nodes wrote, sorted: they write as they like.
wrote() {
    sort out | tr '\n' '|'
}

lines_to <<'END'
echo one | tr o 0
# a comment

  echo "$((1 + 1))"; echo 'a  b'
END
is "each line is a command for sh on each node" "$(cat status) $(wrote)" \
    "0 node1: 0ne|node1: 2|node1: a  b|node2: 0ne|node2: 2|node2: a  b|"
is "... one after the other" "$(sed 's/node.: //; s/a  b/2/' out | uniq | tr '\n' ' ')" "0ne 2 "
printf 'echo first\necho last' | lines_to
is "the last line needs no newline" "$(wrote)" "node1: first|node1: last|node2: first|node2: last|"
# More lines than are read at once, so that there is something to take.
many() {
    seq -f '# %.0f, which is only here to be read' 5000
}
{ echo 'cat; echo end'; many; echo 'echo more'; } | lines_to
is "a command does not take the lines after it" "$(wrote)" \
    "node1: end|node1: more|node2: end|node2: more|"
lines_to </dev/null
is "no line: 0, and no output" "$(cat status) $(cat out err)" "0 "

# ---- exit status ----
printf 'exit 7\n' | lines_to
is "as of one command: 0 without -S" "$(cat status)" 0
printf 'exit 7\ntrue\n' | lines_to -S
is "-S: the largest of all lines" "$(cat status)" 7
printf 'true\n!exit 4\n' | lines_to
is "the status of the last line" "$(cat status)" 4
printf '!exit 4\ntrue\n' | lines_to
is "... not of an earlier one" "$(cat status)" 0
printf '!exit 4\n# the end\n\n' | lines_to
is "... which is no comment" "$(cat status)" 4
for word in exit quit; do
    printf '!exit 3\n%s\necho no\n' "$word" | lines_to
    is "$word ends, with the last status" "$(cat status) $(cat out)" "3 "
done

# ---- options ----
printf 'echo same\necho $((20 + 2))\n' | lines_to -b
is "-b folds each line's output" "$(grep -c 'node\[1-2\]' out) $(grep -cx same out) $(grep -cx 22 out)" "2 1 1"
printf 'echo out\n' | lines_to --include node2
is "--include" "$(cat out)" "node2: out"
printf 'sleep 1000\necho next\n' | lines_to --timeout 0.5
is "--timeout ends a line, not the prompt" "$(cat status) $(wrote)" "0 node1: next|node2: next|"
printf 'echo %%h-%%n\n' | lines_to -R exec
is "-R exec fills in" "$(wrote)" "node1: node1-0|node2: node2-1|"
run muster exec --dry-run -H node1
is "--dry-run needs a command" "$(cat status) $(grep -c 'no command to run: --dry-run' err)" "2 1"
run muster exec --json=x.json -H node1
is "--json, too" "$(cat status) $(grep -c 'no command to run: --json' err)" "2 1"
mkdir pushed
echo text >pushed/file
cat >typed <<END
cat '$PWD/pushed/file'
echo changed >'$PWD/pushed/file'
cat '$PWD/pushed/file'
END
MUSTER_LOG_LEVEL=info run sh -c 'exec muster exec -H node1 --push pushed <typed'
is "--push, before the first line" "$(cat status) $(cat out | tr '\n' ' ')" "0 node1: text node1: changed "
is "... and only there: one connection more than lines" "$(grep -c 'waiting -> connecting' err)" 4
run sh -c 'echo echo no | exec muster exec -H node1 --push none'
ok "--push of nothing: no line is run" test "$(cat status)" != 0 -a ! -s out

# ---- hosts ----
run sh -c 'echo echo no | exec muster exec --hostfile none'
is "an unreadable hostfile ends it as one command would" "$(cat status) $(cat out)" "65 "
run sh -c 'echo echo no | exec muster exec -H node1 -i node7'
is "... and a host that is not there" "$(cat status) $(cat out)" "2 "
lines_to <<'END'
@node2 echo a
@node1,node2 echo b
@node[1-2] echo c
@node1@node2:0 echo d
echo e
END
is "@HOSTS: only these, in any spelling" "$(wrote)" \
    "node1: b|node1: c|node1: d|node1: e|node2: a|node2: b|node2: c|node2: d|node2: e|"
lines_to <<'END'
hosts
@node2
hosts
echo a
@ echo b
@
echo c
END
is "@HOSTS alone: for the lines that follow; @: all again" "$(wrote)" \
    "node1: b|node1: c|node2|node2: a|node2: b|node2: c|node[1-2]|"
printf '@node7 echo no\necho yes\n@node8\n' | lines_to
is "a host that is not among them is named, and no more happens" \
    "$(cat status) $(sed 's/^muster: error: //' err | tr '\n' '|') $(wrote)" \
    "2 line 1: no host 'node7' in the hostfile|line 3: no host 'node8' in the hostfile| node1: yes|node2: yes|"
printf 'echo a\n@node2 echo b\n' | lines_to -i node1
ok "... and what --exclude leaves out is not among them" grep -q "line 2: no host 'node2'" err
echo node1 >hosts
run sh -c 'printf "!echo node2 >hosts\necho x\n" | exec muster exec --hostfile hosts'
is "the hosts are read once" "$(cat out)" "node1: x"

# ---- the prompt's own words ----
{ echo '!echo here $PPID | wc -l; cat'; many; echo 'echo x'; } | lines_to
is "!: on this machine, which takes no lines either" "$(wrote)" "1|node1: x|node2: x|"
printf 'help\n' | lines_to
is "help" "$(cat status) $(grep -c '^@HOSTS\|^!COMMAND\|^hosts\|^exit' out)" "0 5"
printf 'cd /tmp\ncd / && pwd\n' | lines_to
is "cd alone says what it would need, another does it" \
    "$(grep -c 'line 1: cd: each line .* --cwd=DIR' err) $(wrote)" "1 node1: /|node2: /|"
printf 'pwd\n' | lines_to --cwd=/
is "... such as --cwd" "$(wrote)" "node1: /|node2: /|"
printf '!\n' | lines_to
is "! needs a command" "$(cat status)" 2

# ---- what is no line ----
printf 'echo a\necho \000b\necho c\n' | lines_to
is "a NUL byte ends it, with the number of the line" "$(cat status) $(cat err) $(wrote)" \
    "65 muster: error: standard input: line 2: contains a NUL byte node1: a|node2: a|"
python3 -c 'print("echo a\n#" + (1048575 - 2) * "x" + "\n# " + 1048576 * "x")' | lines_to
is "and so does one of more than 1 MiB" "$(cat status) $(cat err) $(wrote)" \
    "65 muster: error: standard input: line 3: longer than 1048576 bytes node1: a|node2: a|"
run sh -c 'exec muster exec -H node1 </'
is "a directory" "$(cat status) $(cat err)" "65 muster: error: standard input: Is a directory"
ok "nothing is left" no_leftovers

# ---- how it ends ----
mkfifo lines
started() {
    start sh -c 'exec muster exec -H node1 <lines'
    exec 3>lines
    echo 'echo ready; exec sleep 1000' >&3
    ok "$1: a line runs" wait_for 20 grep -q ready out
    child=$(pgrep -P "$pid")
}
started "TERM"
kill -TERM "$pid"
finish_run 20
is "SIGTERM ends the line, then the prompt" "$(cat status)" 143
ok "... and leaves nothing" no_leftovers
exec 3>&-
started "INT"
echo 'echo no' >&3
kill -INT "$pid"
finish_run 20
is "Ctrl-C without a terminal, too, as of a script" "$(cat status) $(grep -cx "node1: no" out)" "130 0"
ok "... and leaves nothing" no_leftovers
exec 3>&-
started "the line's process"
kill -KILL "$child"
echo 'echo next' >&3
exec 3>&-
finish_run 20
is "when it is killed, the prompt says so and goes on" \
    "$(cat status) $(grep -c 'killed by SIGKILL' err) $(grep -c next out)" "0 1 1"
started "the prompt"
kill -KILL "$pid"
finish_run 20
exec 3>&-
is "when the prompt is killed" "$(cat status)" 137
ok "... its line ends, and leaves nothing" wait_for 20 nothing_left
finish
