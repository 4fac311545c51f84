#!/bin/sh
# Two fresh nodes that take a password, and a user who has no key: the plan says so, --apply makes one,
# and from then on no command needs a password. A key that the user has is taken, wherever it is.
# SPDX-License-Identifier: Apache-2.0

. "$(dirname "$0")/../lib.sh"
. "$here/bootstrap/password_nodes.sh"
nodes_agents= # a node is root's, and gets one once

own_namespaces

agent=
end_agent() {
    [ -z "$agent" ] || kill "$agent"
}
trap 'status=$?; end_agent; nodes_stop; (exit $status); test_cleanup' EXIT

# ssh, and so muster, looks for keys where passwd says that the home is.
sed "s|^root:\([^:]*:[^:]*:[^:]*:[^:]*\):[^:]*|root:\1:$HOME|" /etc/passwd >passwd
mount --bind passwd /etc/passwd

echo "its password" >password
password_nodes "$(cat password)" "$(cat password)"
: >conf

# bootstrap OPTIONS: with the password, from a file.
bootstrap() {
    run muster bootstrap --password-fd 7 --only key "$@" 7<password
}

# logs_in: without the password.
logs_in() {
    run setsid -w muster exec --label=host /bin/true
    [ "$rc" = 0 ]
}

# forget: the user and the nodes are as at first.
forget() {
    rm -rf "$HOME/.ssh" "$nodes_dir"/node?/home/.ssh
}

# on_nodes: what the nodes accept.
on_nodes() {
    cat "$nodes_dir"/node?/home/.ssh/authorized_keys 2>/dev/null | cut -d' ' -f1,2 | sort -u
}

unset SSH_AUTH_SOCK
bootstrap conf
is "a user without a key can plan" "$rc" 0 || sed 's/^/#   /' err
ok "which says that one will be made" grep -q \
    "^this machine  key: ~/.ssh/id_ed25519: make a key pair, without a passphrase (you have none" out
is "and that each node will accept it" \
    "$(grep -c '^node[12]  key: .*/authorized_keys: add a public key' out)" 2
ok "it makes none" not [ -e "$HOME/.ssh" ]
ok "and changes no node" not [ -e "$nodes_dir/node1/home/.ssh" ]

run muster bootstrap --password-fd 7 --only name --apply conf 7<password
is "without the step key no key is made" "$rc $(grep -c 'this machine' out)" "0 0"
ok "... nowhere" not [ -e "$HOME/.ssh" ]

printf '[access]\nmake_key = no\n' >without
bootstrap --apply without
is "whoever wants none gets none" "$rc" 0
ok "and is told what that means" grep -q \
    '^this machine  key: note: you have no key, so nodes keep asking for a password (make_key = no' out
ok "it is not made" not [ -e "$HOME/.ssh" ]

mount --bind "$HOME" "$HOME"
mount -o remount,bind,ro "$HOME"
run muster bootstrap --password-fd 7 --only key,mesh --mesh --apply conf 7<password
umount "$HOME"
is "a key that cannot be written is an error" "$rc" 73
ok "with its cause" grep -q "^this machine  key: failed: $HOME/.ssh: Read-only file system" err
ok "and what to do" grep -q '^ *no node was changed; make a key with ssh-keygen, or set make_key' err
is "which is all that is said" "$(cat out)" ""
ok "and no node was changed" not [ -e "$nodes_dir/node1/home/.ssh" ]

mkdir "$HOME/bin"
printf '#!/bin/sh\necho "no entropy" >&2\nexit 1\n' | script_file "$HOME/bin/ssh-keygen"
PATH=$HOME/bin:$PATH bootstrap --apply conf
is "so is one that ssh-keygen does not make" "$rc $(grep -c 'key: failed: .*no entropy' err)" "73 1"
ok "of which nothing is left" not [ -e "$HOME/.ssh" ]
rm -r "$HOME/bin"

bootstrap --apply --json=result.json conf
is "it is made" "$rc" 0 || sed 's/^/#   /' err
ok "and said" grep -q '^this machine  key: ~/.ssh/id_ed25519: make a key pair' out
ok "also in the JSON" json_says result.json '[s["state"] for s in d["here"]] == ["changed"]'
is "there is a pair, and nothing else" "$(ls -A "$HOME/.ssh" | tr '\n' ' ')" "id_ed25519 id_ed25519.pub "
is "with the modes that ssh wants" "$(cd "$HOME/.ssh" && stat -c %a . ./* | tr '\n' ' ')" "700 600 644 "
is "it has no passphrase" "$(ssh-keygen -y -P '' -f "$HOME/.ssh/id_ed25519" | cut -d' ' -f1,2)" \
    "$(cut -d' ' -f1,2 "$HOME/.ssh/id_ed25519.pub")"
is "and a comment that tells whose it is" "$(cut -d' ' -f3 "$HOME/.ssh/id_ed25519.pub")" \
    "$(id -un)@$(hostname)"
is "every node accepts it" "$(on_nodes)" "$(cut -d' ' -f1,2 "$HOME/.ssh/id_ed25519.pub")"
ok "the next command logs in" logs_in
sha256sum "$HOME"/.ssh/* >made
run setsid -w muster bootstrap --only key --apply conf
is "a second apply needs no password" "$rc" 0
is "and makes nothing" "$(cat out)" "node[1-2]: nothing needs to be changed"
ok "the pair is the same" sha256sum --quiet -c made
run setsid -w muster bootstrap --only key --undo
is "undo takes it from the nodes" "$rc $(on_nodes)" "0 "
ok "and leaves the pair" sha256sum --quiet -c made

bootstrap --apply conf
rm "$HOME/.ssh/id_ed25519.pub" "$nodes_dir"/node?/home/.ssh/authorized_keys
bootstrap --apply conf
is "a key without a .pub is taken as it is" "$rc $(grep -c 'this machine' out)" "0 0"
is "nothing is made for it" "$(ls -A "$HOME/.ssh")" "id_ed25519"
ok "and it logs in" logs_in

forget
mkdir -m 700 "$HOME/.ssh"
ssh-keygen -q -t ecdsa -N secret -f "$HOME/.ssh/id_ecdsa"
rm "$HOME/.ssh/id_ecdsa.pub"
bootstrap --apply conf
is "one that needs a passphrase is not replaced" "$rc $(ls -A "$HOME/.ssh")" "0 id_ecdsa"
ok "the command that makes its .pub is said" grep -q \
    "^this machine  key: note: .*/id_ecdsa has no .pub file, .*: ssh-keygen -y -f .*/id_ecdsa >" out

forget
mkdir -m 700 "$HOME/.ssh"
ln -s nowhere "$HOME/.ssh/id_ed25519"
bootstrap --apply conf
is "no file is replaced" "$rc $(readlink "$HOME/.ssh/id_ed25519")" "73 nowhere"
ok "which is said" grep -q "key: failed: .*/id_ed25519: File exists" err
is "and nothing is left beside it" "$(ls -A "$HOME/.ssh")" "id_ed25519"

forget
HOME=$tmp/other bootstrap --apply conf
is "in a home that is not ssh's none is made" "$rc $(ls -A "$tmp/other" 2>/dev/null)" "0 "
ok "which is said" grep -q "^this machine  key: note: HOME is $tmp/other, but ssh looks for keys in $HOME" out

ssh-agent -D -a "$tmp/agent" >/dev/null 2>&1 &
agent=$!
wait_for 10 [ -S "$tmp/agent" ]
export SSH_AUTH_SOCK="$tmp/agent"
ssh-keygen -q -t ed25519 -N '' -C mine -f held
ssh-add -q held
rm held
bootstrap --apply conf
is "a key that only the agent has is taken" "$rc $(on_nodes)" "0 $(cut -d' ' -f1,2 held.pub)"
ok "and none is made" not [ -e "$HOME/.ssh" ]
ok "it logs in" logs_in
end_agent
wait "$agent"
agent=
unset SSH_AUTH_SOCK

forget
cp with_file "$nodes_dir/ssh_config"
for node in 1 2; do
    mkdir -m 700 "$nodes_dir/node$node/home/.ssh"
    cp "$nodes_dir/id.pub" "$nodes_dir/node$node/home/.ssh/authorized_keys"
done
bootstrap conf
is "whoever needs no password is told nothing of it" "$rc $(cat out)" \
    "0 node[1-2]: nothing needs to be changed"

nodes_stop
ok "nothing is left" no_leftovers

finish
