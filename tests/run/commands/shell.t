#!/bin/sh
# muster shell, and --pty: a rank with a terminal, as ssh -t makes one.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need pty
export SHELL=/bin/sh TERM=vt100

printf 'node1 slots=2\nnode2 slots=2\n' >hosts

on_terminal muster shell -H node1 <<'END'
expect [#$] 
type tty; stty size; echo "TERM=$TERM"; ps -o stat= -p $$\r
expect /dev/pts/.*[#$] 
size 40 120
type stty size\r
expect 40 120.*[#$] 
type sh -c 'echo $((6 * 7)); exec sleep 1000'\r
expect 42
type \x03
expect [#$] 
type exit 3\r
END
is "a shell ends with its own status" "$rc" 3
ok "... has a terminal" grep -q '^/dev/pts/[0-9]' out
ok "... of the size of the user's" grep -q '^33 101' out
ok "... and the same TERM" grep -q '^TERM=vt100' out
ok "... which it controls: it leads a session there" grep -q '^Ss' out
ok "... another size reaches it" grep -q '^40 120' out
ok "... muster adds no line to that" not grep -q muster: out
ok "... the user's terminal is as it was" grep -q '^keys: lines' out
ok "... nothing is left" no_leftovers

on_terminal muster shell --hostfile hosts node2 sh -c 'test -t 0 && test -t 1 && test -t 2' </dev/null
is "a command in place of the shell" "$rc" 0
on_terminal muster shell --hostfile hosts --cwd=/usr --env X=5 node1 <<'END'
expect [#$] 
type pwd; echo $((X + 1))$MUSTER_RUN_ID\r
expect /usr.*62
type \x04
END
is "--cwd, --env; Ctrl-D ends it" "$rc" 0

on_terminal muster shell -H node1 <<'END'
expect [#$] 
type trap '' HUP TERM; sh -c 'echo $((6 * 7)); exec sleep 1000'\r
expect 42
type \r~.
expect stopping everything
mode normal
type \x03
END
is "Enter ~ . ends muster whatever the command does" "$rc" 130
ok "... the terminal is as it was" grep -q '^keys: lines' out
ok "... nothing is left" no_leftovers
on_terminal muster shell -H node1 <<'END'
expect [#$] 
type sh -c 'echo $((6 * 7)); exec sleep 1000'\r
expect 42
kill TERM
END
is "a shell ignores TERM, but its line is cut" "$rc" 143
ok "... by HUP, not after the grace" grep -q 'SIGHUP' out
ok "... nothing is left" no_leftovers

# The keys belong to the shell that muster was started from while muster is in the background.
on_terminal sh -i <<'END'
expect [#$] 
type muster shell -H node1 node1 sh -c 'echo up$((1 + 1)); exec sleep 1000' &\r
expect up2
mode normal
type kill %1; wait; exit 5\r
END
is "in the background muster takes no keys" "$rc" 5
ok "... nothing is left" wait_for 20 nothing_left
printf '[muster]\nfold = true\n' >fold.conf
run sh -c 'echo exit 6 | muster shell --config fold.conf -H node1'
is "fold = true in the settings is not for a terminal" "$rc" 6

# Without a terminal here: what is piped is typed, and its end is Ctrl-D.
printf 'echo $((6 * 7))\nexit 4' >typed
run sh -c 'muster shell -H node1 <typed'
is "typed by a file" "$rc" 4
ok "... what it printed" grep -q 42 out

script_file asks.py <<'END'
import os
x = 41
if os.environ["RANK"] == "1":
    breakpoint()
print("x is", x, "\033[2J")
END
on_terminal muster --hostfile hosts -np 3 --stdin=1 --pty asks.py <<'END'
expect Pdb
type p x + 1\r
expect 42
type x = 7\r
expect Pdb
type c\r
END
is "pdb in a rank with a terminal" "$rc" 0
ok "... its lines have no label" grep -q '^x is 7' out
ok "... its escape sequences pass" grep -q "x is 7 $(printf '\033\[2J')" out
ok "... those of other ranks do not" grep -q 'node1:0: x is 41 ^\[\[2J' out
ok "... nor do they join its lines" grep -Eq '(^|\[K)node2:2: x is 41' out
on_terminal muster --hostfile hosts -np 3 --stdin=1 asks.py <<'END'
expect Pdb
type p x + 1\n
expect 42
type x = 7\n
type c\n
END
is "pdb without one" "$rc" 0
ok "... as lines of that rank" grep -q 'node1:1: .*x is 7' out
ok "... escape sequences do not pass" not grep -q "$(printf '\033\[2J')" out

script_file asks <<END
#!/bin/sh
if [ "\$RANK" = 1 ]; then
    printf 'name? '
    read -r name
    printf 'age? '
    read -r age
    echo "\$name is \$age"
else
    until [ -e '$PWD/go' ]; do sleep 0.1; done
    echo tick
fi
END
on_terminal muster -H node1:2 --stdin=1 "$PWD/asks" <<'END'
expect name\?
type Ann\n
expect age\?
make go
expect tick
expect age\?
type 7\n
END
is "a prompt is shown again after a line of another rank" "$rc" 0
ok "... the answers reach it" grep -q 'Ann is 7' out

while read -r wanted command; do
    # shellcheck disable=SC2086
    run $command
    is "$command: refused" "$rc" 2
    ok "... says why: $wanted" grep -q "$(echo "$wanted" | tr _ ' ')" err
done <<'END'
which_host muster shell
there_are_2 muster exec --pty -H node1,node2 true
one_rank muster exec --pty --stdin=all -H node1 true
detached muster --pty --detach --hostfile hosts true
no_such_rank muster --stdin=4 --hostfile hosts true
neither_a_rank muster --stdin=some --hostfile hosts true
no_input muster --stdin=all --detach --hostfile hosts true
node9 muster shell --hostfile hosts node9
END

use_sshd 1
on_terminal muster shell node1 <<'END'
expect [$#>]
type echo $((6 * 7)); sleep 1000\r
expect 42
kill KILL
END
is "over SSH: muster is killed" "$rc" 137
ok "... the shell ends, too" wait_for 20 nothing_left
finish
