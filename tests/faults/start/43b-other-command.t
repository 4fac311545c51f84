#!/bin/sh
# Row 43b: sshd runs another command in place of the one that starts the agent: one that echoes what
# it reads, and one that is satisfied at once. The message says where such a command may be.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_nodes 2
ranks_wait
: >go
control 4 ./rank
cp "$nodes_dir/authorized_keys" keys

# other COMMAND CODE: by both transports.
other() {
    sed "s|^|command=\"$1\" |" keys >"$nodes_dir/authorized_keys"
    for transport in ssh openssh; do
        faulty --transport "$transport" --connect-timeout "$(stretched 1)" ./rank
        is "$1, $transport: $2" "$rc" "$2"
        says 'another command seems to run in place of ours: .*command= in ~/.ssh/authorized_keys' \
            'try: ssh .*true'
        ok "... no rank was started" all_ran 0
    done
    cp keys "$nodes_dir/authorized_keys"
}

other /bin/cat 75
other /bin/true 76
control 4 ./rank
finish
