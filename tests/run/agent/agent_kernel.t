#!/usr/bin/env python3
# agent_kernel.t - what the kernel does to ranks is reported
# SPDX-License-Identifier: Apache-2.0
"""Out of memory, and processes that cannot be killed."""

import os
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # nothing into the source tree
from agent_driver import Agent, main, python, SCRATCH, Skip, state_of, wait_until


def test_oom_evidence():
    base = None
    for candidate in ('/sys/fs/cgroup/memory', '/sys/fs/cgroup'):
        name = 'memory.limit_in_bytes' if candidate.endswith('memory') else 'memory.max'
        path = os.path.join(candidate, f'muster-test-{os.getpid()}')
        try:
            os.mkdir(path)
        except OSError:
            continue
        if os.path.exists(os.path.join(path, name)):
            base = path
            break
        os.rmdir(path)
    if base is None:
        raise Skip('no memory cgroup can be made here')
    try:
        with open(os.path.join(base, name), 'w', encoding='ascii') as file:
            file.write(str(64 << 20))
        agent = Agent(env={'MUSTER_TEST_CONTAIN': 'subreaper'})
        with open(os.path.join(base, 'cgroup.procs'), 'w', encoding='ascii') as file:
            file.write(str(agent.pid))
        agent.run(python('x = bytearray(200 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1'))
        agent.finish()
        end = agent.exit_of()
        assert end['signal'] == signal.SIGKILL, end
        assert 'oom_kill 0\u21921' in end['oom'] and 'limit 64 MiB' in end['oom'], end
    finally:
        wait_until(lambda: open(base + '/cgroup.procs', encoding='ascii').read() == '', 'cgroup empty')
        os.rmdir(base)


def test_unkillable_is_reported():
    if os.getuid() != 0 or not all(map(shutil.which, ('fsfreeze', 'mkfs.ext4', 'losetup'))):
        raise Skip('needs root, fsfreeze and mkfs.ext4')
    image, mount = os.path.join(SCRATCH, 'image'), os.path.join(SCRATCH, 'frozen')
    os.mkdir(mount)
    with open(image, 'wb') as file:
        file.truncate(16 << 20)
    subprocess.run(['mkfs.ext4', '-q', image], check=True)
    if subprocess.run(['mount', '-o', 'loop', image, mount], check=False, stderr=subprocess.DEVNULL).returncode:
        raise Skip('cannot mount a loop device')
    thaw = subprocess.Popen(['sh', '-c', f'sleep 40; fsfreeze -u {mount}'])  # whatever happens here
    try:
        agent = Agent()
        agent.run(python(f'import os, subprocess\nf = open("{mount}/x", "w")\nsubprocess.run(["fsfreeze", "-f", "{mount}"])\n'
                         'print("frozen", flush=True)\nos.write(f.fileno(), b"x")'))
        agent.wait_output(b'frozen')
        pid = agent.all('STARTED')[0].body['pid']
        wait_until(lambda: state_of(pid) == 'D', 'writing')
        began = time.monotonic()
        agent.send('STOP', {'grace_s': 0})
        done = agent.finish()
        took_s = time.monotonic() - began
        assert took_s > 9, took_s
        assert done['left'] == 1 and done['stuck'][0]['pid'] == pid, done
        assert done['stuck'][0]['wchan'] and 'python' in done['stuck'][0]['name'], done
    finally:
        thaw.kill()
        subprocess.run(['fsfreeze', '-u', mount], check=False)
        wait_until(lambda: subprocess.run(['umount', mount], check=False, stderr=subprocess.DEVNULL).returncode == 0,
                   'unmounted')


main(globals())
