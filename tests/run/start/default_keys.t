#!/bin/sh
# Keys that nobody has named: those of the agent, and ssh's default files. sshd closes the connection
# after six attempts, so where the agent has more keys ssh begins with those that it has a file for.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

own_namespaces
use_netns 1
# For ssh a home directory is what the password file says.
mkdir -p home/.ssh
chmod 700 home home/.ssh
getent passwd | awk -F: -v OFS=: -v id="$(id -u)" -v home="$PWD/home" '$3 == id { $6 = home } 1' >passwd
mount --bind passwd /etc/passwd
sed -i '/Identit/d' "$nodes_dir/ssh_config"
cp "$nodes_dir/id" key
for n in 1 2 3 4 5 6 7; do ssh-keygen -q -t ed25519 -N '' -f other$n; done

# has KEYS...: the agent has these.
has() {
    ssh-add -q -D 2>/dev/null
    for key in "$@"; do ssh-add -q "$key" 2>/dev/null; done
}

# logs_in WHAT: as ssh does; the debug output is in err.
logs_in() {
    ok "$1: ssh logs in" ssh -F "$nodes_dir/ssh_config" -o BatchMode=yes node1 true
    run muster exec -vv -H node1 -- echo here
    is "... and muster" "$rc $(cat out)" "0 node1: here"
}

eval "$(ssh-agent -a "$PWD/agent")" >/dev/null
has other1 other2 key
logs_in "three keys in the agent"
cp key home/.ssh/id_ed25519
has other1
logs_in "a default file"
ok "... without a process of ssh" sh -c '! grep -q "using OpenSSH" err'
has other1 other2 other3 other4 other5 other6 other7 key
logs_in "eight keys, and the eighth is in a default file"
ok "... by ssh" grep -q "using OpenSSH's ssh: .*/id_ed25519 selects a key of the agent" err
ssh-keygen -q -p -P '' -N secret -f home/.ssh/id_ed25519 >/dev/null
logs_in "... which is encrypted"
sed -i '1i IdentityFile ~/.ssh/id_ed25519' "$nodes_dir/ssh_config"
logs_in "... and named"
rm home/.ssh/id_ed25519
sed -i 1d "$nodes_dir/ssh_config"
has key other1 other2 other3 other4 other5 other6 other7
logs_in "eight keys, and the first is the one"
ok "... without a process of ssh" sh -c '! grep -q "using OpenSSH" err'
kill "$SSH_AGENT_PID"
umount /etc/passwd
finish
