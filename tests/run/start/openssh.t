#!/bin/sh
# --transport openssh: the same runs, each connection being a process of OpenSSH's own client.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
nodes_agents= # it is about sending one

use_sshd 2
MUSTER_TRANSPORT=openssh
export MUSTER_TRANSPORT

# with_config NAME: the client's ssh_config with standard input in front of it.
with_config() {
    cat - "$nodes_dir/ssh_config" >"$1"
}

clients() {
    pgrep -f "^ssh -oBatchMode=yes .*$nodes_dir"
}

# ---- what goes right ----
run muster sh -c 'echo "rank $RANK of $WORLD_SIZE"'
is "four ranks on two nodes" "$(sort out | tr '\n' '|')" \
    "node1:0: rank 0 of 4|node1:1: rank 1 of 4|node2:2: rank 2 of 4|node2:3: rank 3 of 4|"
is "... exit status 0" "$rc" 0
ok "... nothing is left on the nodes" no_leftovers
is "... nor any ssh here" "$(clients)" ""
run muster sh -c 'test $RANK != 1 || exit 6; sleep 1000'
is "a failing rank's code" "$rc" 6
ok "... nothing is left on the nodes" no_leftovers
is "argv passes no shell" "$(run muster exec -H node1 --label none -- printf '%s|' 'a  b' '$HOME' "it's" ''
    cat out)" "a  b|\$HOME|it's||"
run muster exec --label none -H node1 -- seq 200000
is "output is whole" "$(md5sum <out)" "$(seq 200000 | md5sum)"

start muster --grace 1 sh -c 'echo ready; exec sleep 1000'
wait_for 30 lines out 4
kill -KILL "$pid"
ok "kill -9 of muster: everything ends on the nodes" wait_for 40 nothing_left
ok "... and every ssh here" wait_for 10 sh -c "! pgrep -f '^ssh -oBatchMode=yes .*$nodes_dir' >/dev/null"

start muster --grace 1 --reconnect 10 sh -c 'echo ready; while [ ! -e '"$PWD"'/go ]; do sleep 0.1; done; echo over'
wait_for 30 lines out 4
kill -KILL $(clients | head -n 1)
ok "an ssh that is killed: the node is connected again" wait_for 20 grep -q 'reconnected after' err
: >go
finish_run 30
is "... and the run ends well" "$rc $(grep -c over out)" "0 4"

# What a user has set for logins by hand does not matter here.
with_config interactive <<END
Host *
    RequestTTY force
    RemoteCommand echo something else
    ControlMaster auto
    ControlPath $PWD/control-%n
    ControlPersist yes
    LocalForward 127.0.0.1:1 127.0.0.1:1
    ExitOnForwardFailure yes
    ForwardX11 yes
    PermitLocalCommand yes
    LocalCommand touch $PWD/local
    LogLevel QUIET
END
run muster exec -S --ssh-config interactive -H node1 -- echo x
is "a configuration for interactive logins" "$rc $(cat out)" "0 node1: x"
ok "... no command of it runs, no master stays" sh -c 'test ! -e local && ! ls control-* 2>/dev/null'

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
refused 77 "a changed host key" 'host key.*Host key verification failed' -H node1
: >"$nodes_dir/known_hosts"
refused 77 "an unknown host key" 'Host key verification failed' -H node1
cp known_good "$nodes_dir/known_hosts"
sed "s|IdentityFile $nodes_dir/id|IdentityFile $PWD/other|" "$nodes_dir/ssh_config" >wrong_key
refused 77 "a key that is refused" 'authenticate.*Permission denied' --ssh-config wrong_key -H node1
with_config unknown <<END
NoSuchKeyword yes
END
refused 65 "a configuration that ssh refuses" 'unknown.*Bad configuration option' \
    --ssh-config unknown -H node1
muster=$(command -v muster)
run env PATH=/nonexistent "$muster" exec -S -H node1 -- true
is "no ssh on this machine: 70" "$rc" 70
ok "... and says so" grep -q 'apt-get install openssh-client' err
with_config doubtful <<END
Ciphers aes128-ctr
END
run env PATH=/nonexistent "$muster" exec --transport ssh --ssh-config doubtful -H node1 -- true
is "nor for what only ssh can read: 65" "$rc" 65
ok "... and says where that is" grep -q 'asks ssh -G because of doubtful:[0-9]*: Ciphers' err
ok "no rank was started" test ! -e started

# ---- sshd that drops bursts ----
node_files crowded
echo 'MaxStartups 2:100:2' >"$nodes_dir/crowded/sshd_extra"
node_listen crowded 127.0.0.4
sed 's/^Host crowded/Host crowd*/' "$nodes_dir/ssh_config" >crowd
run muster exec -S --ssh-config crowd -H 'crowd[01-08]' -- true
is "MaxStartups: connections dropped before the banner are tried again" "$rc" 0
finish
