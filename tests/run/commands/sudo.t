#!/bin/sh
# --sudo: muster's agents become root by the nodes' own sudo, with one password or none.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/sudo_nodes.sh"
. "$here/reconnect/reconnect.sh"
. "$here/commands/clean.sh"

use_sudo_nodes
printf '%s\n' "$sudo_password" >password

# without_terminal OPTION...: muster, which can ask nobody.
without_terminal() {
    run setsid -w muster "$@"
}

# session WHAT WORD...: the steps on standard input are true of muster WORD... on a terminal.
session() {
    what=$1
    shift
    on_terminal muster "$@"
    ok "$what" test "$rc" = 0
}

without_terminal exec --include free -- id -u
is "without the option the user does it" "$(cat out)" "free: 4711"
without_terminal exec --sudo --include free -- sh -c 'echo $(id -u) $SUDO_USER'
is "where sudo wants no password, nothing is asked" "$rc$(cat out)" "0free: 0 easy"
without_terminal exec --sudo --include free -S -- sh -c 'exit 7'
is "the status is the command's" "$rc" 7
without_terminal exec --sudo --include free -- sh -c 'echo $SSH_CONNECTION'
ok "it knows the connection, which sudo drops" grep -q '^free: 127\..* 127\.0\.0\.2 [0-9]*$' out
without_terminal exec --sudo --include bare -- id -u
is "an agent that is in no file becomes root" "$rc$(cat out)" "0bare: 0"
ok "it was in memory" grep -q '/proc/[0-9]*/fd/[0-9]*' "$tmp/sudo.log"
without_terminal exec --sudo --include one -- id -u
is "a password, and nobody to ask" "$rc" 77
ok "is said, with the way out" grep -q "one  *sudo  *sudo wants a password, and there is no \
terminal to ask for a password on; --sudo-password-fd reads one" err

without_terminal exec --sudo --sudo-password-fd 7 --exclude bare -- id -u 7<password
is "a node that refuses is a failure" "$rc" 77
is "and all others do it" "$(sort out | tr '\n' ' ')" "free: 0 one: 0 two: 0 "
ok "the wrong password is named with its user" \
    grep -q '^ *other  *sudo  *sudo refused the password of user another$' err
ok "... and what to do" grep -q 'hint: other: all nodes get the same password' err
ok "so is who may not" grep -q '^ *none  *sudo  *.*stranger is not in the sudoers file' err
ok "... and what to do" grep -q 'hint: none: log in as root .*, or allow stranger to use sudo' err
is "a wrong password is tried once" \
    "$(grep -o 'another : [0-9]* incorrect password attempt' "$tmp/sudo.log" | sort -u)" \
    "another : 1 incorrect password attempt"

{ cat password; echo hello; } >both
run setsid -w sh -c 'exec muster exec --sudo --sudo-password-fd 0 --include one -- cat <both'
is "what follows the password on standard input is the command's" "$(cat out)" "one: hello"
: >empty
without_terminal exec --sudo --sudo-password-fd 7 --include one -- id 7<empty
is "no password where there should be one" "$rc" 65
ok "is said" grep -q -- '--sudo-password-fd 7: no password received' err
without_terminal exec --sudo-password-fd 7 --include one -- id 7<password
is "a password without --sudo" "$rc" 2
ok "is said" grep -q -- '--sudo-password-fd needs --sudo' err
run muster --sudo train.py
is "a run is not started as root" "$rc" 2
ok "and muster says what is" grep -q -- '--sudo: .* it belongs to exec, shell, clean' err
run muster exec --sudo --dry-run --include one -- id
ok "a plan says who does it" grep -q '^one: by SSH, user typist, root by sudo$' out

# Root of the nodes can read everything: where is the password while a command runs?
cat >look <<'END'
import os, sys
needle = sys.stdin.buffer.readline().rstrip(b"\n")
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in "cmdline", "environ":
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                if needle in file.read():
                    print("in", name, "of", pid)
        except OSError:
            pass
print("looked")
END
cp look "$tmp/look.py"
cat password password >twice
run setsid -w sh -c 'exec muster exec -vv --sudo --sudo-password-fd 0 --include one -- \
    python3 "$1" <twice' sh "$tmp/look.py"
is "it is in no argument and no environment" "$(cat out)" "one: looked"
ok "nor in a log" not grep -qF "$sudo_password" err
ok "... which has all frames" grep -q '<- PASSWORD' err
ok "nor in sudo's" not grep -qF "$sudo_password" "$tmp/sudo.log"
ok "... which has what root did" grep -q "typist :.* --for 'exec python3 $tmp/look.py'" "$tmp/sudo.log"

session "on a terminal it is asked for once, and not shown" \
    exec --sudo --include one@two@free -- id -u <<END
see password for sudo (asked once, for all nodes that want it): 
type $sudo_password\r
end 0
END
# What needs no password may come while muster asks, behind the question.
is "for all nodes" "$(grep -cE '(^|: )(free|one|two): 0$' out)" 3
is "one question" "$(grep -c 'password for sudo' out)" 1
ok "without the password" not grep -qF "$sudo_password" out
ok "and the terminal is as before" grep -q '^keys: lines$' out
session "Ctrl-C ends the question" exec --sudo --include one -- id -u <<'END'
see password for sudo
type \x03
end 130
END
ok "and the terminal is as before" grep -q '^keys: lines$' out
session "so does an empty line" exec --sudo --include one -- id -u <<'END'
see password for sudo
type \r
see no password was entered
end 77
END
session "the prompt asks once for all its lines, and again after a wrong password" \
    exec --sudo --include one <<END
see muster (one)>
type id -u\r
see password for sudo
type wrong\r
see sudo refused the password of user typist
see muster (one)>
type id -u\r
see password for sudo
type $sudo_password\r
see one: 0
see muster (one)>
type echo \$((40+\$(id -u)+2))\r
see one: 42
see muster (one)>
type \x04
end 0
END
session "a shell of root's" shell --sudo one sh -c 'echo I am $(id -u); read line; echo $line' <<END
see password for sudo
type $sudo_password\r
see I am 0
type hello\r
expect hello\r+\nhello
end 0
END

# shellcheck disable=SC2086
ticks_until_go
start muster exec --sudo --sudo-password-fd 7 --label none $patient --include one -- "$PWD/ticks" \
    7<password
wait_for 20 has_grown 100
break_connection one
ok "over a connection that breaks it is made root again" wait_for 60 grep -q "one: reconnected" err
: >go
finish_run 60
is "and nothing is lost" "$rc" 0
ok "not a byte" output_is_complete

sleeps() {
    pgrep -fx 'sleep 4711' >/dev/null
}
start muster exec --sudo --include free -- sleep 4711
ok "a command of root's" wait_for 20 sleeps
kill -KILL "$pid"
ok "ends with muster, whoever kills it" wait_for 20 not sleeps
finish_run 20

# What a run of the user of node free has left: $users.
left_by_user() {
    MUSTER_RUN_ID=$old MUSTER_TEST_TAG=$tag setpriv --reuid=4711 --regid=4711 --clear-groups \
        setsid sleep 4713 >/dev/null 2>&1 &
    users=$!
    test_pids="$test_pids $users"
    wait_for 5 is_itself "$users" sleep
}
stale sleep 4712
roots=$stale
left_by_user
without_terminal clean --kill --grace 1 --include free
is "clean finds what is the user's" "$rc" 0
ok "and ends it" is_gone "$users"
ok "but nothing of root's" alive "$roots"
left_by_user
without_terminal clean --sudo --kill --grace 1 --include free
is "with --sudo also that" "$rc" 0
ok "it has ended" is_gone "$roots"
ok "as has what is the user's" is_gone "$users"

without_terminal bootstrap --include one --only key
is "bootstrap alone takes no password for sudo" "$rc" 77
ok "and says what does" grep -q 'hint: one: --sudo asks for it' err
mkdir -p "$HOME/.ssh"
cp "$nodes_dir/id.pub" "$HOME/.ssh/id_ed25519.pub"
without_terminal bootstrap --sudo --sudo-password-fd 7 --include one --only key 7<password
is "with --sudo it does" "$rc" 0
ok "for the user who logs in" grep -q "key: $nodes_dir/one/home/.ssh/authorized_keys" out

# here_with DIR: on this machine, which has no sudo but what is in DIR.
muster=$(command -v muster)
mkdir "$tmp/bin" "$tmp/empty"
here_with() {
    run setsid -w setpriv --reuid=4711 --regid=4711 --clear-groups env HOME=/ MUSTER_TRANSPORT=exec \
        MUSTER_AGENT="$test_agent" MUSTER_TEST_SUDO_S=0.2 PATH="$1" \
        "$muster" exec --sudo --sudo-password-fd 7 -H localhost -- id -u 7<password
}
# hangs: a sudo that is the script on standard input.
hangs() {
    script_file "$tmp/bin/sudo"
    here_with "$tmp/bin:$PATH"
}
here_with "$tmp/empty"
is "no sudo at all" "$rc" 77
ok "is said" grep -q 'sudo started no agent: there is no sudo on this node' err
hangs <<'END'
#!/bin/sh
exec sleep 1000
END
is "a sudo that says nothing" "$rc" 77
ok "is said" grep -q 'sudo did not answer within 0.2 s$' err
hangs <<'END'
#!/bin/sh
# sudo -S -k -p PROMPT
printf '\033[31mPassword: %s' "$4" >&2
read -r password
exec sleep 1000
END
is "... or nothing after the password" "$rc" 77
ok "is said" grep -q 'sudo did not answer within 0.2 s of the password$' err
hangs <<'END'
#!/bin/sh
printf 'sudo: \033[31mno\033]0;x\007 way\n' >&2
exit 1
END
is "what it says last" "$rc" 77
ok "is the reason, without escape sequences" \
    grep -q 'sudo started no agent: ?\[31mno?\]0;x? way' err
hangs <<'END'
#!/bin/sh
yes | head -c 1000000
exit 0
END
is "one that only writes" "$rc" 77
ok "is said" grep -q 'sudo writes and writes, but starts no agent' err

mkdir -m 700 "$tmp/roots"
echo "a secret" >"$tmp/roots/file"
chmod 600 "$tmp/roots/file"
without_terminal collect --sudo --to got --include free "$tmp/roots/file"
is "collect reads what only root may" "$(find got -name file -exec cat {} +)" "a secret"
echo "for all" >given
without_terminal bcast --include free --to "$tmp/roots/new" given
is "bcast into root's directory" "$rc" 73
without_terminal bcast --sudo --include free --to "$tmp/roots/new" given
ok "sudo's log says what for" grep -q "easy :.* --for 'bcast $PWD/given\|easy :.* --for 'bcast given" "$tmp/sudo.log"
is "works with --sudo" "$(cat "$tmp/roots/new/given")" "for all"
is "for root" "$(stat -c %u "$tmp/roots/new/given")" 0
without_terminal exec --sudo --push "$tmp/roots/file" --include free -- true
is "but --push stays the user's" "$rc" 73

finish
