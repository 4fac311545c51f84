#!/bin/sh
# muster exec without a command, on a terminal: the prompt, editing, the history, Ctrl-C, Ctrl-D.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

need_libedit() {
    ! muster --version | grep -q 'libedit none' ||
        { echo "muster was built without libedit (Debian: libedit-dev)"; return 1; }
}

# session WHAT OPTION...: the steps on standard input are true (../terminal.py).
session() {
    what=$1
    shift
    on_terminal muster exec "$@"
    ok "$what" test "$rc" = 0
}

need libedit
export TERM=xterm
history=$HOME/.local/state/muster/exec_history

session "a prompt with the number of hosts, and Ctrl-D ends it" -H te1,te2,te3 <<'END'
see muster (3 hosts)>
type \x04
end 0
END
session "a host by its name, and a part of them" -H te1,te2,te3 <<'END'
see muster (3 hosts)>
type @te2\r
see muster (te2)>
type @te1,te2\r
see muster (2 of 3 hosts)>
type hosts\r
see \nte[1-2]\r
see muster (2 of 3 hosts)>
type quit\r
end 0
END
session "backspace, also over a letter of two bytes; arrow up" -H te1 <<'END'
see muster (te1)>
type echo "$((40+2))"xy\x7fz\r
see te1: 42xz
see muster (te1)>
type echo \xc3\xa4\x7f\xc3\xb6-$((1+1))\r
see te1: \xc3\xb6-2
see muster (te1)>
type \x1b[A\x1b[A\r
see te1: 42xz
see muster (te1)>
type exit\r
end 0
END
is "the history is in a file" "$(tail -n 1 "$history")" "exit"
is "... for its user alone" "$(stat -c %a "$history")" 600
session "the next prompt has it; a line that begins with a blank is not kept" -H te1 <<'END'
see muster (te1)>
type  echo $((50+5))\r
see te1: 55
see muster (te1)>
type \x1b[A\x1b[A\r
see te1: 42xz
see muster (te1)>
type \x04
end 0
END
is "... nor in the file" "$(grep -c 50+5 "$history")" 0
seq 1 1200 | sed 's/^/echo /' >"$history"
session "at most 1000 lines are kept" -H te1 <<'END'
see muster (te1)>
type echo last\r
see te1: last
see muster (te1)>
type \x04
end 0
END
is "... the last ones" "$(wc -l <"$history") $(sed -n '1p;$p' "$history" | tr '\n' ' ')" \
    "1000 echo 202 echo last "
XDG_STATE_HOME=/dev/null/none session "a history that cannot be written is no failure" -H te1 <<'END'
see muster (te1)>
type echo $((1+1))\r
see te1: 2
see muster (te1)>
type \x1b[A\r
see te1: 2
see muster (te1)>
type \x04
end 0
END
session "Ctrl-C at the prompt drops the line" -H te1 <<'END'
see muster (te1)>
type echo dropped
see echo dropped
type \x03
see muster (te1)>
type echo $((1+1))\r
see te1: 2
see muster (te1)>
type \x04
end 0
END
session "Ctrl-C ends a line, and the prompt comes back" -H te1 <<'END'
see muster (te1)>
type echo $((5+6)); sleep 1000\r
see te1: 11
type \x03
see muster (te1)>
type \x04
end 130
END
session "a command finds the terminal as it was, a line for the nodes none" -H te1 <<'END'
see muster (te1)>
type !stty -a | tr ' ' '\\n' | grep -x 'icanon\\|isig' | tr '\\n' '/'\r
see isig/icanon/
see muster (te1)>
type !read x; echo "<$x>"\r
type typed\r
see <typed>
see muster (te1)>
type cat; echo $((1+1))\r
see te1: 2
see muster (te1)>
type \x04
end 0
END
session "Ctrl-C ends a command of this machine, too" -H te1 <<'END'
see muster (te1)>
type !echo $((5+6)); exec sleep 1000\r
see 11
type \x03
see muster (te1)>
type exit\r
end 130
END
session "SIGTERM at the prompt ends it, and gives the terminal back" -H te1 <<'END'
see muster (te1)>
kill TERM
mode normal
end 143
END
session "... as an interrupt from elsewhere drops the line" -H te1 <<'END'
see muster (te1)>
type echo dropped
see echo dropped
kill INT
see muster (te1)>
type echo $((1+1))\r
see te1: 2
see muster (te1)>
type \x04
end 0
END
session "hosts that cannot be read: no prompt" --hostfile none <<'END'
see none: No such file
end 65
END
run sh -c 'echo echo x | muster exec -H te1'
is "without a terminal there is no prompt" "$(cat out err)" "te1: x"
ok "nothing is left" no_leftovers
finish
