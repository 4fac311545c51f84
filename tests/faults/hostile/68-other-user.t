#!/bin/sh
# Row 68: another user of the machine, during a run. There is nothing to connect to, nothing to read,
# nothing to signal.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"
nodes_agents= # it is about sending one

need world
need_other() {
    command -v setpriv >/dev/null || { echo "setpriv is missing"; return 1; }
}
need other
world_control 2 wait
export TOKEN=secret-of-the-run
faulty_start 4 --env TOKEN ./rank
# The oracle knows every listening socket of the world. An agent has one, without a file, for a
# muster that has lost its connection; run/reconnect/reconnect_socket.t asks there.
listens() {
    oracle_says "" | grep -v -e '^process' -e '^unix socket that listens: @muster-'
}
ok "nothing listens but sshd and our reconnect sockets, and no file is there" \
    test -z "$(listens)" || listens | sed 's/^/# /'
script_file other <<'END'
#!/usr/bin/env python3
"""As somebody else: what can be read of these processes, and may they be signalled?"""
import os, sys
for pid in sys.argv[2:]:
    try:
        with open(f'/proc/{pid}/cmdline', 'rb') as file:
            if sys.argv[1].encode() in file.read():
                print(pid, 'has the secret in its arguments')
    except FileNotFoundError:  # what a rank had started a moment ago
        continue
    for name in ('environ', 'mem', 'fd/0', 'cwd/.'):
        try:
            os.close(os.open(f'/proc/{pid}/{name}', os.O_RDONLY))
            print(pid, name, 'can be read')
        except OSError:
            pass
    try:
        os.kill(int(pid), 0)
        print(pid, 'can be signalled')
    except (PermissionError, ProcessLookupError):
        pass
END
chmod 755 "$tmp" "$tmp/work"
everything="$pid $(for agent in $(agents); do below "$agent"; done | tr '\n' ' ')"
ok "they are: muster, agents, guards, ranks" test "$(echo "$everything" | wc -w)" -ge 9
# shellcheck disable=SC2086
setpriv --reuid 65534 --regid 65534 --clear-groups python3 "$PWD/other" secret-of-the-run \
    $everything >seen 2>&1
is "somebody else can read nothing and signal nobody" "$(cat seen)" ""
is "the directory of the agent is ours alone" \
    "$(stat -c %a "$nodes_dir/node1/home/.cache/muster")" 700
ok "so are the logs" test -z "$(find "$HOME/.local" -perm /077)"
: >go
finish_run 20
ended 0
finish
