#!/bin/sh
# [user] of bootstrap.conf: the account, its home, its key and sudo are planned, made once and taken
# back; who has the key logs in. An account that was there before, or whose home has files of others,
# stays. What a power cut leaves of an account is completed, or removed.
# SPDX-License-Identifier: Apache-2.0

. "$(dirname "$0")/../lib.sh"

own_namespaces
for program in useradd userdel sudo visudo; do
    command -v $program >/dev/null || skip_all "no $program"
done
trap 'status=$?; nodes_stop; (exit $status); test_cleanup' EXIT

# The machine has its own accounts and homes. Homes of this one stay, as the build may be in one.
mkdir etc lib /run/homes
cp -a /etc/. etc
rm -f etc/sudoers.d/* etc/passwd.lock etc/shadow.lock etc/group.lock
printf '#1\n@includedir /etc/sudoers.d\nroot ALL=(ALL:ALL) ALL\n' >etc/sudoers
mount -t tmpfs -o mode=755 tmpfs /run/homes
for home in /home/*; do
    [ ! -d "$home" ] || { mkdir "/run/homes/${home#/home/}" && mount --bind "$home" "/run/homes/${home#/home/}"; }
done
mount --bind etc /etc
mount --bind lib /var/lib
mount --rbind /run/homes /home
chmod 755 "$tmp" # for logins
name=trainee # of nobody here, nor its uid
! getent passwd $name >/dev/null || skip_all "there is a user $name"

bootstrap() {
    run muster bootstrap -H localhost --only user "$@"
}

# accounts FILE: what useradd and userdel change, besides their backups.
accounts() {
    cat /etc/passwd /etc/shadow /etc/group /etc/gshadow /etc/subuid /etc/subgid >"$1"
    find /etc/sudoers.d /home/$name >>"$1" 2>&1
}

# about PATH: mode and owner.
about() {
    stat -c '%a %U:%G' "$1"
}

# drop FILE: the line of the user there, as if the power had gone before that file was written.
drop() {
    sed "/^$name:/d" "$1" >dropped
    cat dropped >"$1"
}

ssh-keygen -q -t ed25519 -N '' -C "me@here" -f key
printf '[user]\nname = %s\nkey = %s\nsudo = yes\n' $name "$PWD/key.pub" >conf
accounts before
bootstrap conf
is "a plan with a user succeeds" "$rc" 0 || sed 's/^/#   /' err
ok "it says who will be made, and where" grep -q \
    "^localhost  user: $name: make this user, with uid [0-9]* and home /home/$name (" out
ok "that the key is added" grep -q "user: /home/$name/.ssh/authorized_keys: add a public key (who" out
ok "and what sudo will do" grep -q \
    "sudoers.d/90-muster-$name: let the user become root without a password (sudo = yes" out
accounts planned
ok "it changes nothing" cmp before planned

bootstrap --apply conf
is "it is applied" "$rc" 0 || sed 's/^/#   /' err
uid=$(id -u $name)
ok "the user has a uid of people" [ "$uid" -ge 1000 ]
is "the home is the user's" "$(about /home/$name)" "750 $name:$name"
is "with what each new user gets" "$(cd /home/$name && ls -A | grep -v '^\.ssh$')" "$(ls -A /etc/skel)"
is "which is the user's, too" "$(find /home/$name ! -user $name)" ""
is "the folder of the key is nobody else's" "$(about /home/$name/.ssh)" "700 $name:$name"
is "nor is the key" "$(about /home/$name/.ssh/authorized_keys)" "600 $name:$name"
is "sudo reads its file" "$(about /etc/sudoers.d/90-muster-$name)" "440 root:root"
accounts applied
bootstrap --apply conf
is "a second apply changes nothing" "$(cat out)" "localhost: nothing needs to be changed"
accounts again
ok "... at all" cmp applied again

nodes_agents=
nodes_prepare
node_files node1
printf 'StrictModes yes\nAuthorizedKeysFile %%h/.ssh/authorized_keys\n' >"$nodes_dir/node1/sshd_extra"
node_listen node1 127.0.0.2
sed "s/User .*/User $name/; s|IdentityFile .*|IdentityFile $PWD/key|" "$nodes_dir/ssh_config" >ssh_config
run timeout 60 ssh -n -F ssh_config node1 'id -un && sudo -n id -un'
is "who has the key logs in, and becomes root" "$(cat out)" "$name
root" || sed 's/^/#   /' err "$nodes_dir/node1/sshd.log"
nodes_stop

sed 's/^sudo.*/sudo = no/' conf >without
bootstrap --apply without
is "without sudo = yes the right is gone" "$rc $(ls /etc/sudoers.d)" "0 "
bootstrap --apply conf
bootstrap --undo
is "undo succeeds" "$rc" 0 || sed 's/^/#   /' err
accounts after
ok "accounts, homes and sudo are as before" cmp before after || diff before after | sed 's/^/#   /'

# Files of the user.
bootstrap --apply conf
echo results >/home/$name/model
bootstrap --undo
is "a user with files of its own stays" "$rc" 1
ok "which is said, with the command" grep -q \
    "user: failed: $name stays, since its home /home/$name has files that muster did not put there; to remove both: userdel --remove $name" err
ok "as does the home" grep -q "^localhost  user: /home/$name: stays, as it has other files (undo)" out
is "so do the files" "$(about /home/$name) $(cat /home/$name/model)" "750 $name:$name results"
is "without the key, and without sudo" "$(cd /home && ls -A $name ../etc/sudoers.d/)" "../etc/sudoers.d/:

$name:
model"
rm /home/$name/model
bootstrap --undo
is "once they are gone, undo removes the user" "$rc $(id -u $name 2>&1 | grep -c 'no such user')" "0 1"
rmdir /home/$name
accounts after
ok "... altogether" cmp before after

# A home that is here already, as on a data disk.
mkdir /home/$name
echo kept >/home/$name/notes
echo mine >/home/$name/.profile
chown -R 4711:4711 /home/$name
bootstrap --apply conf
is "the owner of a home that is here is the user" "$rc $(id -u $name)" "0 4711"
is "whose files stay" "$(cat /home/$name/.profile)" mine
bootstrap --undo
is "which stays with it" "$rc $(cat /home/$name/notes)" "1 kept"
rm /home/$name/notes /home/$name/.profile
bootstrap --undo
mkdir -p /home/$name
chown 0:0 /home/$name
bootstrap --apply conf
is "a home of root is refused" "$rc" 1
ok "with the cause" grep -q "/home/$name exists, and belongs to uid 0, which a new user cannot" err
rmdir /home/$name
accounts after
ok "nothing else is left of that" cmp before after

# The power goes between two files of useradd, and before the home is there.
bootstrap --apply conf
for file in shadow group gshadow; do drop /etc/$file; done
rm -r /home/$name
bootstrap --apply conf
is "the next apply completes half an account" "$rc $(id -un $name 2>&1)" "0 $name"
is "with its group" "$(id -gn $name)" $name
is "and its home" "$(about /home/$name)" "750 $name:$name"
bootstrap --apply conf
is "... and that was all" "$(cat out)" "localhost: nothing needs to be changed"
rm /home/$name/.profile
rm -r /home/$name/.ssh
bootstrap --apply conf
ok "a home that was cut off is completed, too" cmp /etc/skel/.profile /home/$name/.profile
for file in group gshadow; do drop /etc/$file; done
rm -r /home/$name
bootstrap --undo
accounts after
ok "undo removes half an account" cmp before after || diff before after | sed 's/^/#   /'

# Somebody has the name.
useradd -m -c "a colleague" $name
accounts theirs
bootstrap conf
ok "an account that exists is not planned" not grep -q 'make this user\|the home of the new user' out
bootstrap --apply conf
is "it gets the key and sudo" "$rc $(wc -l </home/$name/.ssh/authorized_keys) $(ls /etc/sudoers.d)" \
    "0 1 90-muster-$name"
bootstrap --undo
accounts after
is "undo takes back these, and no more" "$rc $(cmp theirs after)" "0 "
ln -s /root /home/$name/.ssh
bootstrap --apply conf
is "root does not follow the user's links" "$rc" 1
ok "which is said" grep -q "/home/$name/.ssh: is a symbolic link, which muster does not follow" err
rm /home/$name/.ssh
userdel -r $name 2>/dev/null
groupadd $name
bootstrap --apply conf
ok "a group of that name is refused" grep -q "a group $name exists, but no user of that name" err
groupdel $name

# sudo, or a key, cannot be had.
printf 'root ALL=(ALL:ALL) ALL\n' >/etc/sudoers
bootstrap conf
ok "sudo that does not read the folder is an error" grep -q \
    '/etc/sudoers does not read the files in /etc/sudoers.d' err
rm /etc/sudoers
bootstrap conf
ok "so is a node without sudo" grep -q 'sudo is not installed here' err
ok "with what to do" grep -q '^ *\[packages\] install = sudo, or sudo = no in \[user\]' err
printf '[user]\nname = %s\n' $name >nobody
bootstrap nobody
ok "without a key nobody could log in, which is said" grep -q "note: no key is known for $name" out
printf '[user]\nname = %s\nkey = nowhere.pub\n' $name >nobody
bootstrap nobody
is "a key that is not there is an error" "$rc" 65
sed 's/^name.*/name = daemon/' without >system
bootstrap --apply system
ok "an account of the system is refused" grep -q 'user: failed: daemon has uid [0-9]*: it is an' err
ok "nothing is left" no_leftovers

finish
