#!/usr/bin/env python3
# lossy_line.py - another way to a node's network namespace, which is bad while ./bad exists
#
# For kernels without netem: two tun devices called "lossy", and between them this process,
# which then loses 30 % of the packets and keeps the others for 100 ms in each direction.
# Says "ready", and "lost" for each packet. Arguments: the namespace, a seed; and perhaps other
# figures than those two.
# SPDX-License-Identifier: Apache-2.0
import collections, fcntl, os, random, select, struct, sys, time
TUNSETIFF, TUN, NO_INFO = 0x400454ca, 0x0001, 0x1000
LOSS, DELAY_MS = [float(figure) for figure in (sys.argv[3:5] or (30, 100))]

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
        if is_bad and random.random() < LOSS / 100:
            print('lost', flush=True)
        else:
            queue.append((time.monotonic() + is_bad * DELAY_MS / 1000, ends[fd == ends[0]], packet))
    while queue and queue[0][0] <= time.monotonic():
        try:
            os.write(*queue.popleft()[1:])
        except OSError:  # not up yet
            pass
