#!/usr/bin/env python3
# agent_leftovers.t - what ranks leave behind is ended, whatever contains them
# SPDX-License-Identifier: Apache-2.0
"""Daemons, forking processes, control groups."""

import os
import sys

sys.dont_write_bytecode = True  # nothing into the source tree
from agent_driver import (cgroup_agent, complete, containments, DAEMON, main, new_tag, PYTHON, Skip,
                          tagged)


def test_leftovers_are_ended():
    for name, env, uid in containments():
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
until = time.monotonic() + 60  # whatever becomes of the test
while time.monotonic() < until:
    if os.fork() > 0:
        os._exit(0)
    os.setsid()
    time.sleep(0.001)
'''


def test_a_process_that_keeps_forking_is_ended():
    for name, env, uid in containments():
        tag = new_tag()
        _, done = complete(*[[PYTHON, '-c', HOPPER, tag]] * 3, agent_env=env, uid=uid)
        # Without a namespace and a group it is a race, which a loaded machine may lose; it says so.
        if name != 'subreaper' or done['left'] == 0:
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


def test_a_group_below_ours_is_emptied():
    cgroup_agent()
    tag = new_tag()
    agent, done = complete([PYTHON, '-c', IN_A_GROUP, tag],
                           agent_env={'MUSTER_TEST_CONTAIN': 'cgroup'})
    assert done['left'] == 0 and tagged(tag) == [], done
    assert agent.out() and not os.path.exists(agent.out().decode().strip()), agent.out()


def test_containment_is_named():
    expected = {'subreaper': 'subreaper+lease', 'as it comes': 'pidns', 'user namespace': 'userns+pidns'}
    for name, env, uid in containments():
        agent, _ = complete(['true'], agent_env=env, uid=uid)
        if name in expected and expected[name] not in agent.ready['containment']:
            raise Skip(f'{name}: only {agent.ready["containment"]} here')


main(globals())
