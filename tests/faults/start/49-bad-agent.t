#!/bin/sh
# Row 49: an agent that is damaged, built for another machine, or put where nothing may be executed.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"
nodes_agents= # it is about sending one

world_control 2 sleep
agent=$(find "$nodes_dir/node2/home" -name muster-agent)

# What stands there by that name may be shorter than it was: pushed anew.
truncate -s 100000 "$agent"
control 4 ./rank
ok "the damaged copy was replaced" cmp "$agent" "$top_builddir/agent/muster-agent"
: >"$agent"
control 4 ./rank
ok "... and an empty one" cmp "$agent" "$top_builddir/agent/muster-agent"

# mv would put the copy into a directory of that name.
rm -f "$agent"
mkdir "$agent"
control 4 ./rank
ok "nothing was put into a directory that is in the way" rmdir "$agent"

# The machine type in an ELF header: AArch64, or what this is not.
cp "$top_builddir/agent/muster-agent" foreign
machine='\267\000'
[ "$(uname -m)" != aarch64 ] || machine='\076\000'
# shellcheck disable=SC2059
printf "$machine" | dd of=foreign bs=1 seek=18 conv=notrunc 2>/dev/null
faulty --agent foreign ./rank
within "another machine's: muster returns" 5 "$began"
ok "... with an error" test "$rc" != 0
ended "$rc"
says 'node\[?[12].* agent +' '[Ee]xec format|another machine|cannot execute'
ok "no rank was started" all_ran 0

# A node where nothing in the home directory may be executed, or nowhere at all.
on_node node2 mount -t tmpfs -o noexec tmpfs "$nodes_dir/node2/home"
control 4 ./rank
for place in /tmp /var/tmp /dev/shm /run/user; do
    ! on_node node2 test -d "$place" || on_node node2 mount -t tmpfs -o noexec tmpfs "$place"
done
control 4 --cwd / "$PWD/rank"
finish
