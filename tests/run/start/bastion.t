#!/bin/sh
# Nodes behind one jump host, whose sshd drops connections above its MaxStartups.
# By hand, with 128 nodes: MUSTER_TEST_WIDE=yes tests/run/start/bastion.t
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

use_sshd 1
count=24
[ -z "${MUSTER_TEST_WIDE:-}" ] || count=128

# bastion NAME ADDRESS MAXSTARTUPS: its sshd.
bastion() {
    node_files "$1"
    echo "MaxStartups $3" >"$nodes_dir/$1/sshd_extra"
    node_listen "$1" "$2"
}

# behind NAME LINES: an ssh_config in which far1, far2 ... are node1, with these lines.
behind() {
    { printf 'Host far*\n    HostName 127.0.0.2\n    Port %s\n    HostKeyAlias [node1]:%s\n' \
        "$port1" "$port1" && printf '    %s\n' "$2"
    printf '    IdentityFile %s\n    UserKnownHostsFile %s\n' "$nodes_dir/id" "$nodes_dir/known_hosts"
    cat "$nodes_dir/ssh_config"; } >"$1"
}

drops() {
    grep -c 'drop connection\|exceeded MaxStartups' "$nodes_dir/$1/sshd.log" || :
}

port1=$(cat "$nodes_dir/node1/port")
bastion usual 127.0.0.4 10:30:100
bastion narrow 127.0.0.5 2:100:2

behind jump "ProxyJump usual"
run muster exec -S --ssh-config jump -H "far[1-$count]" -- true
is "$count nodes behind a jump host with MaxStartups 10:30:100 all start" "$rc" 0
echo "# $count nodes, $(drops usual) dropped and tried again"
is "... each through it" "$(grep -c 'Accepted publickey' "$nodes_dir/usual/sshd.log")" "$count"

behind narrow_jump "ProxyJump narrow"
run muster exec -S --ssh-config narrow_jump -H 'far[1-6]' -- true
is "six behind one with MaxStartups 2:100:2, which drops some, all start" "$rc" 0
ok "... as it did" test "$(drops narrow)" -gt 0

behind narrow_command "ProxyCommand ssh -F $nodes_dir/ssh_config -o LogLevel=QUIET -W %h:%p narrow"
run muster exec -S --ssh-config narrow_command -H 'far[1-6]' -- true
is "... also by a ProxyCommand that says nothing" "$rc" 0
run muster exec -S --ssh-config narrow_jump --transport openssh -H 'far[1-6]' -- true
is "... and by OpenSSH" "$rc" 0

# What another attempt cannot change is not tried again.
behind nowhere "ProxyJump nowhere"
printf 'Host nowhere\n    HostName 127.0.0.9\n    Port 1\n' >>nowhere
for transport in ssh openssh; do
    began=$(now_ms)
    run muster exec -S --ssh-config nowhere --transport "$transport" -H far1 -- true
    is "a jump host where nothing listens, by $transport: 68" "$rc" 68
    ok "... and says so" grep -qi 'refused' err
    took_at_most "... without further attempts" 2 $(($(now_ms) - began))
done
ok "nothing is left on the nodes" wait_for 10 nothing_left
finish
