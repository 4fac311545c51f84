#!/bin/sh
# A data disk without a label, beside another disk: the plan lists both with what is on them, and the
# line that names each. With that line, or with a folder as marker, the disk is mounted, and fstab has
# the line that the plan has shown.
# SPDX-License-Identifier: Apache-2.0

. "$(dirname "$0")/../lib.sh"

own_namespaces

place=/var/lib/data
disks=
free_disks() {
    umount "$place" 2>/dev/null
    umount -l /dev "$tmp/work/dev" 2>/dev/null
    for disk in $disks; do
        losetup -d "$disk"
    done
}
trap 'status=$?; free_disks; (exit $status); test_cleanup' EXIT

# disk NAME LABEL FOLDER: an ext4 with what is in the folder, in $NAME the device.
disk() {
    truncate -s 24M "$tmp/$1"
    mkfs.ext4 -q -L "$2" -d "$3" "$tmp/$1" || skip_all "no mkfs.ext4"
    disk=$(losetup -f --show "$tmp/$1") || skip_all "no loop device"
    disks="$disks $disk"
    eval "$1=\$disk"
}

mkdir -p content/miniconda3/envs content/models notes/old
: >content/train.py
disk data "" content
disk other other notes
uuid=$(blkid -s UUID -o value -p "$tmp/data")

# The machine has these two alone, whatever there is beside them.
mkdir -p etc lib dev
cp -a /etc/. etc
echo "/dev/vdb1 $place ext4 defaults 0 0" >etc/fstab
mount -t tmpfs -o mode=755 tmpfs dev
cp -a /dev/null /dev/zero /dev/random /dev/urandom "$data" "$other" dev
mount --bind etc /etc
mount --bind lib /var/lib
mount --rbind dev /dev
sha256sum "$tmp/data" "$tmp/other" etc/fstab >before

bootstrap() {
    run muster bootstrap -H localhost --only data "$@"
}

# lists_both: as they are.
lists_both() {
    grep -qx "localhost  data: note: $data (ext4, label '', UUID $uuid, 24 MiB) has miniconda3/,\
 models/, train.py; the line for it: uuid = $uuid" out &&
        grep -q "^localhost  data: note: $other (ext4, label 'other', UUID .*, 24 MiB) has old/;\
 the line for it: label = other$" out &&
        [ "$(grep -c note: out)" = 2 ]
}

printf '[data]\nmount = %s\n' $place >conf
bootstrap conf
is "with a mount point alone no disk is chosen" "$rc" 1
ok "which is said" grep -q \
    "^localhost  data: failed: \[data\] does not say which disk belongs to $place" err
ok "with what to do" grep -q '^ *write the line of the right disk below \[data\] in bootstrap.conf' err
ok "the disks that it could be are listed" lists_both
for line in "label = data" "uuid = 11111111-2222-3333-4444-555555555555" "marker = nowhere/"; do
    { cat conf && echo "$line"; } >wrong
    bootstrap wrong
    ok "no disk has $line" grep -q '^localhost  data: failed: no disk ' err
    ok "... so they are listed" lists_both
done
ok "nothing was written to them" sha256sum --quiet -c before

sed -n "s/.* has miniconda3.*the line for it: //p" out >line
cat line >>conf
bootstrap conf
is "the line that was shown chooses one" "$rc" 0
ok "the plan says that it will be mounted" grep -q \
    "data: $place: mount $data there (ext4, label '', UUID $uuid, 24 MiB)" out
fstab="UUID=$uuid $place ext4 defaults,nofail,noatime 0 2"
ok "and what fstab will have" grep -q "data: /etc/fstab: write '$fstab', in place of the line for it" out
ok "a plan changes nothing" sha256sum --quiet -c before
bootstrap --apply conf
is "it is applied" "$rc" 0
is "the disk is mounted" "$(findmnt -no SOURCE $place)" "$data"
is "fstab has that line, and no other for it" "$(grep " $place " /etc/fstab)" "$fstab"
bootstrap --apply conf
is "a second apply changes nothing" "$(cat out)" "localhost: nothing needs to be changed"

printf '[data]\nmount = %s\n' $place >conf
bootstrap conf
is "a disk that is mounted there must be named, too" "$rc" 1
ok "and is listed" grep -q \
    "note: $data on $place (ext4, label '', UUID $uuid, 24 MiB) has miniconda3/, models/, train.py; the" out
bootstrap --undo
is "it is reverted" "$rc $(findmnt -no SOURCE $place)" "0 "

echo 'marker = miniconda3/' >>conf
bootstrap --apply conf
is "a folder on the disk chooses it" "$rc $(findmnt -no SOURCE $place)" "0 $data"
bootstrap --undo
{ cat conf && echo 'label = other'; } >wrong
bootstrap --apply wrong
is "a disk that does not have the folder is refused" "$rc $(findmnt -no SOURCE $place)" "1 "
ok "with the cause" grep -q "failed: $other is the wrong disk: it has no folder miniconda3/" err
ok "nothing is left" no_leftovers

finish
