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

# It starts, and does not answer. Some versions of sshd leave what hangs to us.
printf '#!/bin/sh\necho $$ >%s\nexec sleep 1000\n' "$PWD/hung.pid" >hung
truncate -s "$(stat -c %s "$agent")" hung
cat hung >"$agent"
mkdir elsewhere # not the place that all tests of this user share
echo "export TMPDIR='$PWD/elsewhere'" >"$nodes_dir/node2/home/.bashrc"
ran_reset
run muster ./rank
is "one that hangs is left for another place: 0" "$rc" 0
ok "... and every rank ran" all_ran 4
ok "... it is that place" test -x elsewhere/*/*/muster-agent
ok "... and the file goes" wait_for 10 not cmp -s hung "$agent"
rm "$nodes_dir/node2/home/.bashrc"
kill "$(cat hung.pid)" 2>/dev/null
ok "nothing else is left" clean_within 5

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
