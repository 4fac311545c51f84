#!/bin/sh
# Before each change that a step of muster bootstrap makes, the power goes, or only its agent is killed:
# no file is half written, the next apply completes it, a further one changes nothing, and undo takes
# back all of it. Each trial has a machine of its own, as far as files, mounts and names go. The gate
# tries one step; MUSTER_TEST_WIDE=yes tries all of them, which takes two minutes.
# SPDX-License-Identifier: Apache-2.0

. "$(dirname "$0")/../lib.sh"

own_namespaces
programs=$top_builddir/tests/run/bootstrap
chmod 755 "$tmp" # for apt, which fetches as another user
mkdir machine

# What a snapshot has: a marker, and a list of what is to be read.
mkdir content
echo '{"id": "llm-1"}' >content/.muster-data.json
head -c 300000 /dev/urandom >content/model
printf "# muster warm 1\n0 300000 /var/lib/data/model\n" >content/.muster-warm
truncate -s 24M snapshot
mkfs.ext4 -q -L data -d content snapshot || skip_all "no mkfs.ext4"

packages=
if command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; then
    packages=muster-test-package
    mkdir -p deb/DEBIAN deb/var/lib/$packages repo
    printf '%s\n' "Package: $packages" "Version: 1" "Architecture: all" \
        "Maintainer: nobody <nobody@localhost>" "Description: test" >deb/DEBIAN/control
    dpkg-deb -b deb repo/p.deb >/dev/null
    { cat deb/DEBIAN/control; printf 'Filename: ./p.deb\nSize: %s\nSHA256: %s\n' \
        "$(stat -c %s repo/p.deb)" "$(sha256sum repo/p.deb | cut -d' ' -f1)"; } >repo/Packages
fi

# A repository with one file.
if command -v git >/dev/null; then
    git init -q --bare -b main remote.git
    git init -q -b main work
    echo train >work/train.py
    git -C work add train.py
    git -C work -c user.name=me -c user.email=me@here commit -q -m one
    git -C work push -q "$PWD/remote.git" main
fi

cat >request <<END
{"op": "OP", "steps": ["STEP"], "apply": true, "name": "te1", "user": "root",
 "home": "$PWD/machine/home",
 "hosts": [{"name": "te1", "addr": "10.0.0.1"}, {"name": "te2", "addr": "10.0.0.2"}],
 "conf": {"access": {"keys": ["ssh-ed25519 AAAAnew me@here"], "known": ["te2 ssh-ed25519 AAAAtwo"]},
  "data": {"mount": "/var/lib/data", "label": "data", "marker": ".muster-data.json"},
  "user": {"name": "trainee", "sudo": "yes", "keys": ["ssh-ed25519 AAAAuser me@here"]},
  "shell": {"path": "/var/lib/data/bin"},
  "project": {"git": "$PWD/remote.git", "directory": "/var/lib/project"},
  "limits": {"nofile": "65536", "shm": "64M", "sshd_max_startups": "256"},
  "environment": {"python": "$(command -v python3)"},
  "gpus": {"count": "0"}, "warm": {"list": "/var/lib/data/.muster-warm"},
  "packages": {"install": "$packages"}}}
END

# trial STEP N: N is 0 for one that is not cut off.
trial() {
    rm -rf trial
    mkdir trial
    cp --sparse=always snapshot image
    disk=$(losetup -f --show image) || skip_all "no loop device"
    (cd trial && unshare -m -u sh "$here/bootstrap/trial" "$1" "$2" "$disk" \
        "$programs/do_request" "$programs/cut" >wrong 2>&1)
    losetup -d "$disk"
}

# Each file is as it was before, or as it is after; and what is there before and after is there.
none_is_half() {
    LC_ALL=C sort -u trial/before whole/after >may_be
    LC_ALL=C sort -u trial/cut | LC_ALL=C comm -13 may_be - | grep -vE '^ *[0-9]+$' >half
    names trial/before >may_be
    names whole/after | LC_ALL=C comm -12 may_be - >must_be
    names trial/cut | LC_ALL=C comm -23 must_be - >>half
    [ ! -s half ] || { sed 's/^/# /' half; return 1; }
}

names() {
    sed 's/.* //' "$1" | LC_ALL=C sort -u
}

steps="key pair mesh name hosts packages data user shell limits project environment gpus warm receipt"
[ "${MUSTER_TEST_WIDE:-}" = yes ] || steps=name
for step in $steps; do
    if [ $step = user ] && ! { command -v useradd && command -v sudo; } >/dev/null; then
        skip "$step" "useradd or sudo is missing"
        continue
    fi
    if [ $step = project ] && ! command -v git >/dev/null; then
        skip "$step" "git is missing"
        continue
    fi
    if [ $step = packages ] && [ -z "$packages" ]; then
        skip "$step" "apt-get or dpkg-deb is missing"
        continue
    fi
    trial $step 0
    rm -rf whole
    mv trial whole
    calls=$(cat whole/calls)
    is "$step: it is done, again, and undone ($calls changes)" "$(cat whole/wrong whole/status)" 0
    for at in $(seq "$calls"); do
        trial $step "$at"
        is "... cut off at change $at" "$(cat trial/status)" 99
        ok "... no file is half written" none_is_half
        is "... the next apply completes it, and undo takes it back" "$(cat trial/wrong)" ""
        ok "... all of it" cmp whole/after trial/after
    done
done
ok "nothing is left" no_leftovers
finish
