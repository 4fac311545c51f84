#!/bin/sh
# muster check on nodes that have nothing: no muster-train, no libraries of it, not this directory.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/complaints.sh"

sent=$(cd "$top_builddir/agent" && pwd)/sent
[ -x "$sent/muster-check" ] || skip_all "this build cannot send the check: it needs Gloo and static libraries"
own_namespaces
nodes_agents=
use_netns 2

# The node's libraries, as far as its sshd does without them.
for library in "$sent"/lib/*; do
    case $library in
    */libgloo.* | */libjansson.* | */libstdc++.*) ;;
    *) continue ;;
    esac
    run muster exec -S -- mount --bind /dev/null "$(readlink -f "$library")"
done
run muster muster-train check -n 1
ok "muster-train does not start on such nodes" grep -q 'error while loading shared libraries' err
mkdir -p "$nodes_dir/disk/only-here"
cd "$nodes_dir/disk/only-here" || exit 1
run muster true
is "a run needs its directory there" "$rc" 126
ok "... which is said" grep -q 'cannot enter the working directory' err

run muster check --grace 2 --quick
is "muster check needs neither" "$rc" 0
is "nothing else is printed" "$(complaints)" ""
ok "all ranks are there" grep -Eq '^check passed: 4 ranks on 2 nodes' out
for node in node1 node2; do
    is "$node: it came beside the agent" \
        "$(cd "$nodes_dir/$node/home/.cache/muster"/*/ && ls -d muster-agent sent/muster-check)" \
        "muster-agent
sent/muster-check"
done
is "no link was sent" "$(find "$nodes_dir"/node*/home/.cache -type l)" ""
run muster check --grace 2 --quick --cwd /only/here
is "--cwd is meant" "$rc" 126
ok "... and named" grep -q 'cannot enter the working directory /only/here' err

program=$(echo "$nodes_dir"/node2/home/.cache/muster/*/sent/muster-train-check)
before=$(stat -c '%i %Z' "$program")
run muster check -v --grace 2 --quick
ok "the second check sends nothing" grep -q 'nothing sent' err
is "... and replaces nothing" "$(stat -c '%i %Z' "$program")" "$before"
echo damaged >"$program"
run muster check --grace 2 --quick
is "a damaged program is replaced" "$rc" 0
ok "... by the right one" cmp "$program" "$sent/muster-train-check"
run muster check --grace 2 --quick --html page.html
is "a page for a directory that the first node lacks: 2" "$rc" 2
ok "... is said, with the path" grep -q -e "--html $PWD/page.html: No such file" err
cd "$tmp" || exit 1
run muster check --grace 2 --quick --html page.html
is "for one that it has: passed" "$rc" 0
ok "... and written" test -s page.html
run muster check -v --grace 2 --quick -H localhost,node1
is "this machine among them: passed" "$rc" 0
is "... nothing is copied to where it is" "$(find "$sent/lib" -type f)" ""
ok "... only to the other one" grep -q '^node1: .*nothing sent' err
run muster check --quick -H node1,node9
is "a node that is not there: 68" "$rc" 68
ok "... is named" grep -q 'unknown name: node9' err

# A libc that is older than ours, or another one: a root directory has none at all, one has the
# loader alone, and one has an old libstdc++, which NCCL there is linked with.
for kind in empty loader stdcxx; do
    mkdir -p "$tmp/$kind/proc"
    cp -RL "$sent" "$tmp/$kind"
    mount --bind /proc "$tmp/$kind/proc"
done
loader=$(readelf -l "$sent/muster-train-check" | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
mkdir -p "$tmp/loader/${loader%/*}"
cp -L "$loader" "$tmp/loader/$loader"
mkdir -p "$tmp/stdcxx/lib"
cp "$top_builddir/tests/run/commands/old_stdcxx.so" "$tmp/stdcxx/lib/libstdc++.so.6"
cp "$top_builddir/tests/run/commands/needs_stdcxx.so" "$tmp/stdcxx/sent/muster-train-cuda.so"
for part in libdl.so.2 libm.so.6 libpthread.so.0 librt.so.1; do # NCCL needs them
    ok "$part is ours, too" cmp "$sent/libc/$part" "$(dirname "$(readlink "$sent/libc/libc.so.6")")/$part"
done
for kind in empty loader stdcxx; do
    run chroot "$tmp/$kind" /sent/muster-train-check --try
    ok "$kind root: the check does not load" test "$rc" != 0
    run muster --transport exec --label none -H node1,node2 chroot "$tmp/$kind" /sent/muster-check --quick
    is "$kind root: with our libc it passes" "$rc" 0
    ok "... by Gloo" grep -Eq '^check passed: 2 ranks on 2 nodes, gloo' out
    umount "$tmp/$kind/proc"
done

ok "what is in place of NCCL there got our libstdc++" sh -c \
    "tr -s ' \n' ' ' <out | grep -q 'muster-train-cuda.so: undefined symbol: wheel_add'"

# NCCL's place is taken by a plugin that needs a library, which only a Python package has.
packages=$tmp/empty/python/lib/python3.9/site-packages/nvidia/nccl/lib
mkdir -p "$packages"
mount --bind /proc "$tmp/empty/proc"
cp "$top_builddir/tests/unit/trainer/comm/wheel_plugin.so" "$tmp/empty/sent/muster-train-cuda.so"
cp "$top_builddir/tests/unit/trainer/comm/wheel_library.so" "$packages/libmuster_wheel.so.1"
why_no_nccl() {
    run chroot "$tmp/empty" /sent/muster-check -n 1 "$@" barrier
    tr -s ' \n' ' ' <out | sed -n 's/.*: no NCCL: \(.*\) reach .*/\1/p'
}
is "the loader does not find what a plugin needs" "$(why_no_nccl)" \
    "libmuster_wheel.so.1: cannot open shared object file: No such file or directory"
is "--python does" "$(why_no_nccl --python=/python/bin/python3)" \
    "muster-train-cuda.so belongs to another version of muster-train"
umount "$tmp/empty/proc"

# An agent without the directory beside it.
cp "$top_builddir/agent/muster-agent" .
run muster check --dry-run --agent ./muster-agent
ok "muster-train is the check of a build that cannot send it" \
    grep -q '^command of rank 0: .*/muster-train check$' out
run muster check --dry-run
ok "--dry-run shows what runs" grep -q '^command of rank 0: sent/muster-check --python=/' out

# shellcheck disable=SC2016
run muster exec -H node2 -- sh -c 'for dir in /tmp /dev/shm; do
    mount --bind $dir $dir && mount -o remount,bind,noexec $dir || exit; done'
run muster check --quick
is "a node on which no directory may hold programs: 73" "$rc" 73
ok "... is said" grep -q 'node2 .*no directory of this node may hold programs' err
ok "nothing is left" no_leftovers
finish
