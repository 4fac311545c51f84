#!/usr/bin/env python3
# agent_end.t - how the ranks of muster-agent end, whatever happens
# SPDX-License-Identifier: Apache-2.0
"""STOP, death of agent or guard, a lost link, what a rank leaves behind."""

import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # nothing into the source tree
from agent_driver import (Agent, complete, DAEMON, DEADLINE_S, main, new_tag, PYTHON, python,
                          SCRATCH, Skip, state_of, tagged, wait_until)


# --- STOP -----------------------------------------------------------------------------

IGNORE_TERM = 'import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint("set", flush=True)\ntime.sleep(1000)'


def test_stop_kills_after_grace():
    agent = Agent()
    agent.run(python(IGNORE_TERM))
    agent.wait_output(b'set')
    began = time.monotonic()
    agent.send('STOP', {'grace_s': 0.7})
    agent.finish()
    assert agent.exit_of()['signal'] == signal.SIGKILL
    assert 0.6 < time.monotonic() - began < 5


def test_second_stop_shortens_the_grace():
    agent = Agent()
    agent.run(python(IGNORE_TERM))
    agent.wait_output(b'set')
    began = time.monotonic()
    agent.send('STOP', {'grace_s': 60})
    agent.send('STOP', {'grace_s': 0})
    agent.finish()
    assert agent.exit_of()['signal'] == signal.SIGKILL and time.monotonic() - began < 10


def test_stopped_rank_sees_term():
    agent = Agent()
    agent.run(['sh', '-c', 'trap "exit 9" TERM; echo set; kill -STOP $$; while :; do sleep 0.02; done'])
    agent.wait_output(b'set')
    pid = agent.all('STARTED')[0].body['pid']
    wait_until(lambda: state_of(pid) == 'T', 'stopped')
    agent.send('STOP', {'grace_s': 20})
    agent.finish()
    assert agent.exit_of()['code'] == 9


def test_stop_before_anything():
    for step in ('hello', 'ready'):
        agent = Agent()
        if step == 'ready':
            agent.plan(['true'])
            agent.wait('READY')
        agent.send('STOP', {'grace_s': 5})
        assert agent.finish()['left'] == 0


# --- what ranks leave behind ----------------------------------------------------------

def layers():
    """Containments to test, and who can have them."""
    yield 'as it comes', {}, None
    yield 'subreaper', {'MUSTER_TEST_CONTAIN': 'subreaper'}, None
    yield 'cgroup', {'MUSTER_TEST_CONTAIN': 'cgroup,subreaper'}, None
    if os.getuid() == 0:
        yield 'user namespace', {}, 65534


def test_leftovers_are_ended():
    for name, env, uid in layers():
        tag = new_tag()
        agent, done = complete([PYTHON, '-c', DAEMON, tag], agent_env=env, uid=uid)
        assert agent.out() == b'ready\n', (name, agent.output)
        assert done['killed'] == 1 and done['left'] == 0, (name, done)
        assert tagged(tag) == [], name
        print(f'# {name}: {agent.ready["containment"]}')


# Never the same process for long: each forks a successor in a session of its own and goes.
HOPPER = r'''
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("hopping", flush=True)
null = os.open("/dev/null", os.O_RDWR)
os.dup2(null, 1)
os.dup2(null, 2)
while True:
    if os.fork() > 0:
        os._exit(0)
    os.setsid()
    time.sleep(0.001)
'''


def test_a_process_that_keeps_forking_is_ended():
    for name, env, uid in layers():
        tag = new_tag()
        _, done = complete(*[[PYTHON, '-c', HOPPER, tag]] * 3, agent_env=env, uid=uid)
        assert done['left'] == 0 and tagged(tag) == [], (name, done)


# A daemon in a control group of its own below the run's, and nothing but the groups to find it.
IN_A_GROUP = r'''
import os, signal, sys, time
own = next(line.split(":", 2)[2].strip() for line in open("/proc/self/cgroup") if "/muster-" in line)
top = next(top for top in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/freezer")
           if os.path.exists(top + own + "/cgroup.procs"))
os.makedirs(top + own + "/mine/.deeper")
if os.fork() > 0:
    os.wait()
    print(top + own, flush=True)
    sys.exit()
os.setsid()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(top + own + "/mine/.deeper/cgroup.procs", "w") as procs:
    procs.write("0")
if os.fork() > 0:
    os._exit(0)
null = os.open("/dev/null", os.O_RDWR)
os.dup2(null, 1)
os.dup2(null, 2)
time.sleep(1000)
'''


def cgroup_agent():
    agent = Agent(env={'MUSTER_TEST_CONTAIN': 'cgroup'})
    agent.plan(['true'])
    if 'cgroup' not in agent.wait('READY').body['containment']:
        raise Skip('no control groups for us here')
    return agent


def test_a_group_below_ours_is_emptied():
    cgroup_agent()
    tag = new_tag()
    agent, done = complete([PYTHON, '-c', IN_A_GROUP, tag],
                           agent_env={'MUSTER_TEST_CONTAIN': 'cgroup'})
    assert done['left'] == 0 and tagged(tag) == [], done
    assert agent.out() and not os.path.exists(agent.out().decode().strip()), agent.out()


def test_a_rank_that_is_in_no_group_is_not_started():
    agent = cgroup_agent()
    groups = [os.path.join(top, name) for top, names, _ in os.walk('/sys/fs/cgroup')
              for name in names if name.startswith('muster-') and
              name.endswith(f'-{agent.guard()}')]
    assert len(groups) == 1, groups
    os.rmdir(groups[0])
    agent.send('GO')
    agent.finish()
    assert 'control group' in agent.exit_of()['error'] and agent.exit_of()['code'] == 126
    assert not agent.all('STARTED')


# Its rank cannot say why it does not start in the usual way.
def test_a_rank_without_descriptors_is_not_started():
    agent = Agent()
    agent.plan(['true'])
    agent.wait('READY')
    resource.prlimit(agent.guard(), resource.RLIMIT_NOFILE, (20, 20))
    agent.send('GO')
    agent.finish()
    assert 'cannot start' in agent.exit_of()['error'] and not agent.all('STARTED')


# A user may have so many descriptors in flight, between sending and receiving, as one process
# may have open. Here they are all taken, so that the guard cannot be sent a rank's.
def test_a_guard_that_cannot_be_told_of_a_rank():
    if os.getuid() != 0:
        raise Skip('needs root')
    agent = Agent(uid=65534, before=['prlimit', '--nofile=300'])
    agent.plan(['true'], ['true'])
    agent.wait('READY')
    ours, _theirs = socket.socketpair()
    taker = os.fork()
    if taker == 0:
        os.setuid(65534)
        for _ in range(2):
            socket.send_fds(ours, [b'x'], [0] * 200)
        os._exit(0)
    os.waitpid(taker, 0)
    agent.send('GO')
    error = agent.wait('ERROR').body
    assert error['stage'] == 'start' and 'cannot be told' in error['text'], error
    assert agent.finish(10)['left'] == 0


def test_containment_is_named():
    expected = {'subreaper': 'subreaper+lease', 'as it comes': 'pidns', 'user namespace': 'userns+pidns'}
    for name, env, uid in layers():
        agent, _ = complete(['true'], agent_env=env, uid=uid)
        if name in expected and expected[name] not in agent.ready['containment']:
            raise Skip(f'{name}: only {agent.ready["containment"]} here')


def test_held_pipe_is_late():
    agent = Agent()
    agent.run(['sh', '-c', 'sleep 1000 & echo gone'], ['sleep', '1000'])
    end = agent.wait('EXIT', 10, rank=0).body
    assert end['late'] is True and end['code'] == 0
    agent.send('STOP', {'grace_s': 1})
    agent.finish()
    assert (0, 1) in agent.ended


# --- SIGKILL to agent and guard -------------------------------------------------------

def kill_and_look(victims, layer_env, uid, within_s):
    """Ranks with a daemon each; SIGKILL; the living after within_s."""
    tag = new_tag()
    agent = Agent(env=layer_env, uid=uid)
    agent.run(*[[PYTHON, '-c', DAEMON, tag, 'stay']] * 2)
    for rank in (0, 1):
        agent.wait_output(b'ready', rank)
    pids = {'agent': agent.pid, 'guard': agent.guard()}
    wait_until(lambda: len(tagged(tag)) == 4, 'two ranks and their daemons')
    for victim in victims:
        os.kill(pids[victim], signal.SIGKILL)
    wait_until(lambda: tagged(tag) == [], f'{victims} killed: {tagged(tag)}', within_s)
    agent.process.wait(DEADLINE_S)
    return agent


def test_sigkill_of_the_agent():
    for _, env, uid in layers():
        kill_and_look(['agent'], env, uid, 2)


def test_sigkill_of_the_guard():
    for name, env, uid in layers():
        agent = kill_and_look(['guard'], env, uid, 2)
        error = agent.wait('ERROR').body
        assert error['stage'] == 'guard' and error['code'] == 69, (name, error)
        done = agent.wait('DONE').body
        assert done['left'] == 0
        for rank in (0, 1):
            assert agent.exit_of(rank)['signal'] == signal.SIGKILL


def test_sigkill_of_both():
    agent, _ = complete(['true'])
    if 'pidns' not in agent.ready['containment']:
        raise Skip('no PID namespace here: only direct ranks die at once')
    kill_and_look(['agent', 'guard'], {}, None, 0.5)
    kill_and_look(['guard', 'agent'], {}, None, 0.5)


def test_sigkill_of_both_without_a_namespace_ends_direct_ranks():
    tag = new_tag()
    agent = Agent(env={'MUSTER_TEST_CONTAIN': 'subreaper'})
    agent.run([PYTHON, '-c', 'print("up", flush=True); import time; time.sleep(1000)', tag])
    agent.wait_output(b'up')
    guard = agent.guard()
    os.kill(agent.pid, signal.SIGSTOP)  # so that it cannot help
    os.kill(guard, signal.SIGKILL)
    os.kill(agent.pid, signal.SIGKILL)
    wait_until(lambda: tagged(tag) == [], 'direct rank dead', 1)
    agent.process.wait(DEADLINE_S)


# --- the link and the lease -----------------------------------------------------------

def test_link_loss_ends_the_ranks():
    tag = new_tag()
    agent = Agent()
    agent.run([PYTHON, '-c', IGNORE_TERM, tag], grace_s=0.5)
    agent.wait_output(b'set')
    agent.sock.close()
    wait_until(lambda: tagged(tag) == [], 'rank dead', 5)
    assert agent.process.wait(DEADLINE_S) == 1


def test_lease_runs_out():
    tag = new_tag()
    agent = Agent()
    agent.run([PYTHON, '-c', 'print("up", flush=True); import time; time.sleep(1000)', tag],
              heartbeat_s=0.2, lease_s=1)
    agent.wait_output(b'up')
    began = time.monotonic()  # and from here on we are silent
    wait_until(lambda: tagged(tag) == [], 'rank dead', 5)
    assert time.monotonic() - began > 0.5
    assert agent.process.wait(DEADLINE_S) == 1


def test_heartbeats_keep_the_lease():
    agent = Agent()
    agent.run(['sh', '-c', 'sleep 2.5; echo alive'], heartbeat_s=0.2, lease_s=1)
    agent.finish()
    assert agent.out() == b'alive\n'


def test_session_end_is_named():
    agent = Agent()
    agent.run(['sleep', '1000'])
    agent.wait('STARTED')
    os.kill(agent.pid, signal.SIGTERM)
    error = agent.wait('ERROR').body
    assert 'session end' in error['text'] and 'linger' in error['hint'], error
    agent.finish()
    assert agent.exit_of()['signal'] == signal.SIGTERM


# --- what the kernel does -------------------------------------------------------------

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
        done = agent.finish(20)
        assert 9 < time.monotonic() - began < 13, time.monotonic() - began
        assert done['left'] == 1 and done['stuck'][0]['pid'] == pid, done
        assert done['stuck'][0]['wchan'] and 'python' in done['stuck'][0]['name'], done
    finally:
        thaw.kill()
        subprocess.run(['fsfreeze', '-u', mount], check=False)
        wait_until(lambda: subprocess.run(['umount', mount], check=False, stderr=subprocess.DEVNULL).returncode == 0,
                   'unmounted')


main(globals())
