#!/bin/sh
# Row 32: a link that loses packets and is slow. Nobody is declared dead, nothing is lost. 8 s here,
# 60 s and other packets each time with MUSTER_TEST_LONG=yes.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/faults/lib.sh"

world_nodes 2
[ -e /dev/net/tun ] || modprobe tun 2>/dev/null || skip_all "no netem and no /dev/net/tun here"
seconds=8 seed=32
if [ "${MUSTER_TEST_LONG:-}" = yes ]; then
    seconds=60 seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
    echo "# seed $seed"
fi
rank_does <<END
for i in \$(seq $seconds); do echo "line \$i"; sleep 1; done
END
control 4 ./rank

# The kernel may have no netem: a second way between muster and node2, through a process that
# loses 30 % of the packets and keeps the others for 100 ms in each direction,
# once a file says so.
script_file lossy_line <<'END'
#!/usr/bin/env python3
import collections, fcntl, os, random, select, struct, sys, time
TUNSETIFF, TUN, NO_INFO = 0x400454ca, 0x0001, 0x1000
LOSS, DELAY_S = 0.3, 0.1

def tun(name, space=None):
    own = os.open('/proc/self/ns/net', os.O_RDONLY)
    if space:
        setns(os.open(f'/run/netns/{space}', os.O_RDONLY))
    fd = os.open('/dev/net/tun', os.O_RDWR)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack('16sH14x', name.encode(), TUN | NO_INFO))
    setns(own)
    return fd

def setns(fd):
    import ctypes
    assert ctypes.CDLL(None, use_errno=True).setns(fd, 0) == 0

random.seed(int(sys.argv[2]))
ends = [tun('lossy'), tun('lossy', sys.argv[1])]
print('ready', flush=True)
queue = collections.deque()
while True:
    wait = max(0, queue[0][0] - time.monotonic()) if queue else None
    for fd in select.select(ends, [], [], wait)[0]:
        packet = os.read(fd, 65536)
        is_bad = os.path.exists('bad')
        if is_bad and random.random() < LOSS:
            print('lost', flush=True)
        else:
            queue.append((time.monotonic() + is_bad * DELAY_S, ends[fd == ends[0]], packet))
    while queue and queue[0][0] <= time.monotonic():
        try:
            os.write(*queue.popleft()[1:])
        except OSError:  # not up yet
            pass
END
./lossy_line node2 "$seed" >line &
test_pids="$test_pids $!"
wait_for 10 grep -q ready line
ip addr add 10.98.0.1 peer 10.98.0.2 dev lossy
ip link set lossy up
on_node node2 ip addr add 10.98.0.2 peer 10.98.0.1 dev lossy
on_node node2 ip link set lossy up
sed -i "s/HostName $(node_address 2)/HostName 10.98.0.2/" "$nodes_dir/ssh_config"
sed "s/^$(node_address 2),/10.98.0.2,/" "$nodes_dir/known_hosts" >known
cat known >"$nodes_dir/known_hosts"
faulty_start 4 ./rank
: >bad
finish_run $((seconds + 52))
ended 0
ok "packets were lost" test "$(grep -c lost line)" -gt 5
is "every line arrived" "$(grep -c 'line' out)" $((4 * seconds))
ok "nobody was declared dead" json_says end.json 'd["node_failures"] == []'
finish
