#!/usr/bin/env python3
# agent_pmi.t - PMI-1 as ranks of muster-agent see it
# SPDX-License-Identifier: Apache-2.0
"""The key-value exchange on PMI_FD."""

import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True  # nothing into the source tree
from agent_driver import (Agent, complete, main, python, SCRATCH, Skip,
                          wait_until)


PMI = r'''
import os, socket, sys
s = socket.socket(fileno=int(os.environ["PMI_FD"]))
f = s.makefile("rw")
def ask(line):
    f.write(line + "\n"); f.flush()
    return f.readline().strip()
rank, size = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])
'''


def relay_barriers(agent, until='DONE'):
    """Play the launcher of a one-node run: what goes up comes down."""
    put = {}
    while True:
        frame = agent.take()
        assert frame is not None
        if frame.name == 'KVS':
            put.update(frame.body['put'])
            if not frame.body.get('more'):
                agent.send('KVS', {'put': put})
                put = {}
        if frame.name == until:
            return frame.body


def test_pmi_barrier_and_keys():
    code = PMI + r'''
assert ask("cmd=init pmi_version=1 pmi_subversion=1").endswith("rc=0")
assert ask(f"cmd=put kvsname=kvs_0 key=k{rank} value=v{rank}=x").startswith("cmd=put_result rc=0")
assert ask("cmd=barrier_in") == "cmd=barrier_out"
for other in range(size):
    answer = ask(f"cmd=get kvsname=kvs_0 key=k{other}")
    assert answer == f"cmd=get_result rc=0 msg=success value=v{other}=x", answer
assert "rc=-1" in ask("cmd=get kvsname=kvs_0 key=nothing")
assert ask("cmd=get kvsname=kvs_0 key=PMI_process_mapping").endswith("value=(vector,(0,1,3))")
assert ask("cmd=finalize") == "cmd=finalize_ack"
print("all well")
'''
    agent = Agent()
    agent.run(*[python(code)] * 3, pmi=True)
    relay_barriers(agent)
    for rank in range(3):
        assert agent.out(rank) == b'all well\n' and agent.exit_of(rank)['code'] == 0, agent.output
    assert len(agent.all('KVS')) == 1


def test_pmi_unfinished_has_failed():
    agent, _ = complete(python(PMI + 'ask("cmd=init pmi_version=1 pmi_subversion=1")'), ['true'], pmi=True)
    assert agent.exit_of(0)['code'] == 1 and agent.exit_of(0)['pmi'] == 'unfinished'
    assert agent.exit_of(1)['code'] == 0 and 'pmi' not in agent.exit_of(1)


def test_pmi_abort():
    agent = Agent()
    agent.run(['sleep', '1000'], python(PMI + 'f.write("cmd=abort exitcode=13\\n"); f.flush(); import time; time.sleep(1000)'),
              pmi=True)
    frame = agent.wait('ABORT')
    assert frame.rank == 1 and frame.body['code'] == 13
    agent.send('STOP', {'grace_s': 1})
    agent.finish()


def test_pmi_hangs_up():
    flood = 'f.write("cmd=get_maxes\\n" * 100000); f.flush(); time.sleep(1000)'
    agent = Agent()
    agent.run(python(PMI + 'import time; f.write("hello\\n"); f.flush(); print(f.read() == ""); ' + flood[-16:]),
              python(PMI + 'import time; ' + flood), ['sleep', '1000'], pmi=True)
    closed = {}
    while len(closed) < 2:
        frame = agent.wait('KVS')
        closed[frame.rank] = frame.body['closed']
    assert closed == {0: "unknown PMI request ''", 1: '256 KiB of answers are unread'}, closed
    agent.send('STOP', {'grace_s': 1})
    agent.finish()


# Its end is heard of before its last words are read.
def test_pmi_abort_and_gone():
    go = os.path.join(SCRATCH, 'go')
    agent = Agent()
    agent.run(['sleep', '1000'], python(PMI + f'''
import time
print("up", flush=True)
while not os.path.exists({go!r}): time.sleep(0.01)
f.write("cmd=abort exitcode=9\\n"); f.flush(); sys.exit(1)'''), pmi=True)
    agent.wait_output(b'up', rank=1)
    pid = next(frame.body['pid'] for frame in agent.all('STARTED') if frame.rank == 1)
    os.kill(agent.pid, signal.SIGSTOP)
    with open(go, 'w', encoding='ascii'):
        pass
    wait_until(lambda: not os.path.exists(f'/proc/{pid}'), 'reaped')
    os.kill(agent.pid, signal.SIGCONT)
    frame = agent.wait('ABORT')
    assert frame.rank == 1 and frame.body['code'] == 9
    agent.send('STOP', {'grace_s': 1})
    agent.finish()


def test_mpich_program():
    if not shutil.which('mpicc.mpich'):
        raise Skip('no mpicc.mpich')
    source, program = os.path.join(SCRATCH, 'hello.c'), os.path.join(SCRATCH, 'hello')
    with open(source, 'w', encoding='ascii') as file:
        file.write(r'''#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) { int rank, size, sum;
MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);
MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
printf("rank %d of %d sum %d\n", rank, size, sum); MPI_Finalize(); return 0; }''')
    subprocess.run(['mpicc.mpich', '-o', program, source], check=True)
    agent = Agent()
    agent.run(*[[program]] * 3, pmi=True)
    relay_barriers(agent)
    for rank in range(3):
        assert agent.out(rank) == b'rank %d of 3 sum 3\n' % rank, agent.output
        assert agent.exit_of(rank)['code'] == 0


main(globals())
