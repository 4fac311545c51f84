#!/bin/sh
# muster against real sshd: what goes right, and what the user reads when it does not.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/complaints.sh"
nodes_agents= # it is about sending one

use_sshd 2
port1=$(cat "$nodes_dir/node1/port")
agent1=$nodes_dir/node1/home/.cache/muster

# with_config NAME: the client's ssh_config with standard input in front of it.
with_config() {
    cat - "$nodes_dir/ssh_config" >"$1"
}

# ---- what goes right ----
run muster sh -c 'umask >"umask.$RANK"; echo "rank $RANK of $WORLD_SIZE"'
is "four ranks on two nodes" "$(sort out | tr '\n' '|')" \
    "node1:0: rank 0 of 4|node1:1: rank 1 of 4|node2:2: rank 2 of 4|node2:3: rank 3 of 4|"
is "... exit status 0" "$rc" 0
ok "... nothing is left on the nodes" no_leftovers
agent=$(ls "$agent1"/*/muster-agent)
sum=$(sha256sum <"$agent" | cut -d' ' -f1)
is "the agent was pushed, under its hash" "$agent" "$agent1/$sum/muster-agent"
is "... where only the user can go" "$(stat -c %a "$agent1/$sum")" 700
before=$(stat -c '%i %Z' "$agent")
run muster exec -S --label none -- sh -c umask
is "the second run works" "$rc" 0
is "... with the umask that the first one had" "$(sort -u out)" "$(sort -u umask.[0-3])"
is "... with the agent that is there" "$(stat -c '%i %Z' "$agent")" "$before"
echo damaged >"$agent"
run muster exec -S -- true
is "a damaged agent is replaced" "$rc" 0
is "... by the right one" "$(sha256sum <"$agent" | cut -d' ' -f1)" "$sum"
run muster sh -c 'test $RANK != 1 || exit 6; sleep 1000'
is "a failing rank's code" "$rc" 6
ok "... nothing is left on the nodes" no_leftovers
# shellcheck disable=SC2016
run muster --role a:3 sh -c 'echo "$RANK of $WORLD_SIZE"' : --role b sh -c 'echo "$RANK of $WORLD_SIZE"'
is "two roles share a host" "$(sort out | tr '\n' '|')" \
    "a node1:0: 0 of 3|a node1:1: 1 of 3|a node2:2: 2 of 3|b node2:0: 0 of 1|"
is "argv passes no shell" "$(run muster exec -H node1 --label none -- printf '%s|' 'a  b' '$HOME' "it's" ''
    cat out)" "a  b|\$HOME|it's||"
start muster --grace 1 sh -c 'echo ready; exec sleep 1000'
wait_for 30 lines out 4
kill -KILL "$pid"
ok "kill -9 of muster: everything ends on the nodes" wait_for 40 nothing_left

# ---- login shells ----
case $(getent passwd "$(id -un)" | cut -d: -f7) in
*/bash)
    bashrc=$nodes_dir/node1/home/.bashrc
    echo 'head -c 65536 /dev/zero | tr "\0" "x"; echo; echo "noise on stderr" >&2' >"$bashrc"
    run muster exec --label none -- echo quiet
    is "64 KiB of noise from .bashrc" "$(cat out)" "quiet
quiet"
    echo 'echo "maintenance tonight"; exit 7' >"$bashrc"
    run muster exec -- true
    ok "a .bashrc that exits is an error" test "$rc" != 0
    ok "... with its last words" grep -q 'maintenance tonight' err
    echo 'echo "password for vault:"; exec cat >/dev/null' >"$bashrc"
    run muster exec --connect-timeout 3 -- true
    ok "a .bashrc that blocks is an error" test "$rc" != 0
    ok "... with its last words" grep -q 'password for vault' err
    rm "$bashrc"
    ;;
*) skip "noisy login shells" "the login shell here is not bash" ;;
esac

# ---- names ----
with_config alias <<END
Host alpha GPU-1
    HostName 127.0.0.2
    Port $port1
    User $(id -un)
    IdentityFile $nodes_dir/id
    UserKnownHostsFile $nodes_dir/known_hosts
END
run muster exec -S --ssh-config alias -H alpha -- echo x
is "an alias of ssh_config" "$(cat out)" "alpha: x"
run muster exec -S --ssh-config alias -H GPU-1 -- echo x
is "... with capitals" "$(cat out)" "GPU-1: x"
mkdir bin
script_file bin/ssh <<END
#!/bin/sh
exec $(command -v ssh) -F $nodes_dir/ssh_config "\$@"
END
with_config jump <<END
Host node2
    ProxyJump node1
END
logins=$(grep -c 'Accepted publickey' "$nodes_dir/node1/sshd.log")
run env PATH="$PWD/bin:$PATH" muster exec -S --ssh-config jump -H node2 -- echo x
is "ProxyJump" "$(cat out)" "node2: x"
is "... through node1" "$(grep -c 'Accepted publickey' "$nodes_dir/node1/sshd.log")" $((logins + 1))

# What a proxy says is nobody's business until it fails; it must not wait for a reader.
with_config loud <<END
Host node2
    ProxyCommand yes loud | head -c 1000000 >&2; exec $PWD/bin/ssh -W %h:%p node1
END
run muster exec -S --connect-timeout 10 --ssh-config loud -H node2 -- echo x
is "a proxy that says a lot" "$(cat out)$(complaints)" "node2: x"
with_config louder <<END
Host node2
    ProxyCommand yes louder >&2; exit 1
END
run muster exec -S --connect-timeout 1 --ssh-config louder -H node2 -- echo x
is "one that says a lot and nothing else: 68" "$rc" 68
ok "... it is heard" grep -Eq 'sent no SSH banner within 1 s: .* \| louder' err

# ---- what goes wrong ----
# refused CODE WHAT PATTERN ARGUMENTS...: muster exits CODE and says PATTERN.
refused() {
    code=$1 what=$2 pattern=$3
    shift 3
    run muster exec -S --connect-timeout 5 "$@" -- touch "$PWD/started"
    is "$what: $code" "$rc" "$code"
    ok "... and says so" grep -Eqi -e "$pattern" err
}

cp "$nodes_dir/known_hosts" known_good
ssh-keygen -q -t ed25519 -N '' -f other
sed -i "s|^\(.*node1[^ ]*\) .*|\1 $(cut -d' ' -f1,2 other.pub)|" "$nodes_dir/known_hosts"
refused 77 "a changed host key" 'host key.*changed|changed.*host key' -H node1
ok "... and where the known one is" grep -q 'known_hosts:1' err
ok "... and the new one's fingerprint" grep -q \
    "$(ssh-keygen -lf "$nodes_dir/node1/host_key.pub" | cut -d' ' -f2)" err
: >"$nodes_dir/known_hosts"
refused 77 "an unknown host key" 'host key' -H node1
cp known_good "$nodes_dir/known_hosts"

sed "s|IdentityFile $nodes_dir/id|IdentityFile $PWD/other|" "$nodes_dir/ssh_config" >wrong_key
refused 77 "a key that is refused" "authenticat.*other" --ssh-config wrong_key -H node1
ssh-keygen -q -t ed25519 -N secret -f locked
sed "s|IdentityFile $nodes_dir/id|IdentityFile $PWD/locked|" "$nodes_dir/ssh_config" >locked_key
refused 77 "an encrypted key without an agent" 'encrypted' --ssh-config locked_key -H node1
ok "... with what to do" grep -q 'ssh-add' err

mkfifo pipe
refused 65 "a pipe for ssh_config" 'pipe: is a pipe' --ssh-config pipe -H node1
sed "s|IdentityFile $nodes_dir/id|IdentityFile $PWD/pipe|" "$nodes_dir/ssh_config" >pipe_key
refused 77 "one for a key" 'authenticat.*pipe' --ssh-config pipe_key -H node1
sed "s|UserKnownHostsFile .*|UserKnownHostsFile $PWD/pipe|" "$nodes_dir/ssh_config" >pipe_known
refused 77 "one for known_hosts" 'host key' --ssh-config pipe_known -H node1

with_config nowhere <<END
Host closed
    HostName 127.0.0.9
    Port 1
Host nameless
    HostName no-such-name.invalid
END
refused 68 "a port where nothing listens" 'closed.*connect.*refused' --ssh-config nowhere -H closed
refused 68 "a name that nobody knows" 'nameless.*resolve' --ssh-config nowhere -H nameless
run muster --ssh-config nowhere -H closed:2,node1:2,nameless:2 touch "$PWD/started"
ok "all failing nodes are shown at once" sh -c "grep -q '^.*closed' err && grep -q 'nameless' err"
is "... with a code of theirs" "$rc" 68
ok "... and no rank was started anywhere" test ! -e started
ok "nothing is left on the nodes" no_leftovers
run muster exec --ssh-config "$PWD/no-such-config" -H node1 -- true
ok "a missing --ssh-config is an error" test "$rc" != 0

# ---- sshd that drops bursts ----
node_files crowded
echo 'MaxStartups 2:100:2' >"$nodes_dir/crowded/sshd_extra"
node_listen crowded 127.0.0.4
sed 's/^Host crowded/Host crowd*/' "$nodes_dir/ssh_config" >crowd
run muster exec -S --ssh-config crowd -H 'crowd[01-08]' -- true
is "MaxStartups: connections dropped before the banner are tried again" "$rc" 0
finish
