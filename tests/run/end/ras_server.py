#!/usr/bin/env python3
"""ras_server - a rank whose NCCL says what it is asked to

    ras_server.py FORM SCENE [WAY]    as every rank of a run

As NCCL does, each rank listens at NCCL_RAS_ADDR, with SO_REUSEPORT, and any of them answers for
all. FORM: json (NCCL 2.28.7), text (2.26 to 2.28.3), text224. SCENE: what the ranks have launched,
see below. WAY: how the answer comes: whole, slow, cut, garbage, late (garbage, once there is a
file "listen"), huge, endless, or not at all: mute, deaf, absent. The ranks print heartbeats for
ever.
SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import socket
import sys
import threading
import time

FORM, SCENE, WAY = ([word for word in sys.argv[1:] if word[0] != '-'] + ['whole'])[:3]
WORLD = int(os.environ['WORLD_SIZE'])
RANK = int(os.environ['RANK'])
NAMES = ('Broadcast', 'Reduce', 'AllGather', 'ReduceScatter', 'AllReduce')
begun = time.monotonic()


class Comm:
    def __init__(self, number, ranks, counts, missing=()):
        """ranks: numbers in the world; counts: of those, by name of a collective."""
        self.number, self.ranks, self.missing = number, ranks, missing
        self.counts = [{name: counts(rank, name) for name in NAMES} for rank in ranks]


def process(rank):
    """Host, pid and GPU, as NCCL has them."""
    return f'10.0.0.{1 + rank * 2 // WORLD}', 7000 + rank, rank % max(WORLD // 2, 1)


def scene():
    moving = int((time.monotonic() - begun) * 1000)  # no two looks are alike
    everyone = range(WORLD)
    half = range(WORLD // 2)
    if SCENE == 'skip':  # rank 3 has left out an AllReduce
        return [Comm(0x1c2b, everyone, lambda rank, name: name == 'AllReduce' and 120 - (rank == 3)),
                Comm(0x77, half, lambda rank, name: 5)]
    if SCENE == 'deadlock':  # rank 0 waits in one communicator, and rank 1 in the other
        return [Comm(0xa1, (0, 1), lambda rank, name: name == 'AllGather' and 8 - (rank == 1)),
                Comm(0xb2, (1, 0), lambda rank, name: name == 'AllReduce' and 6 - (rank == 0)),
                Comm(0xc3, everyone, lambda rank, name: 3)]
    if SCENE == 'moving':
        return [Comm(0x1c2b, everyone, lambda rank, name: moving + rank)]
    if SCENE == 'missing':
        return [Comm(0x1c2b, [rank for rank in everyone if rank != 2], lambda rank, name: 9, [2])]
    return [Comm(0x1c2b, everyone, lambda rank, name: 120)]  # equal


def as_json(comms):
    def entry(comm, rank, counts):
        host, pid, gpu = process(rank)
        return {'rank': comm.whole.index(rank), 'host': host, 'pid': pid, 'cuda_dev': gpu,
                'nvml_dev': gpu, **counts}
    listed = []
    for comm in comms:
        comm.whole = sorted([*comm.ranks, *comm.missing]) if comm.missing else list(comm.ranks)
        listed.append({
            'hash': hex(comm.number), 'secondary_hash': '0x1:0x2', 'size': len(comm.whole),
            'ranks_count': len(comm.ranks), 'missing_ranks_count': len(comm.missing),
            'ranks': [entry(comm, rank, {
                'status': {'init_state': 0, 'async_error': 0, 'finalize_called': False,
                           'destroy_flag': False, 'abort_flag': False},
                'collective_counts': {key: int(value) for key, value in counts.items()}})
                for rank, counts in zip(comm.ranks, comm.counts)],
            'missing_ranks': [entry(comm, rank, {'status': {'unresponsive': True,
                                                            'considered_dead': False}})
                              for rank in comm.missing]})
    return json.dumps({'nccl_version': '2.28.7', 'cuda_runtime_version': 13000,
                       'cuda_driver_version': 13000, 'timestamp': '2026-11-30 12:00:00',
                       'communicators_count': len(comms), 'communicators': listed,
                       'ras': {'collection_time_sec': 0.003, 'timeouts_count': 0}}, indent=2) + '\n'


def as_text(comms):
    out = ['NCCL version 2.26.2 compiled with CUDA 12.8',
           'CUDA runtime version 12080, driver version 12080', '', 'Job summary', '===========', '',
           '  Nodes  Processes         GPUs  Processes     GPUs',
           '(total)   per node  per process    (total)  (total)',
           f'{2:7}  {WORLD // 2:9}  {1:11}  {WORLD:9}  {WORLD:7}', '',
           'Communicators... (0.00s)', '=============', '',
           'Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors',
           '    #  in group  per comm  per node  per comm  in group']
    for group, comm in enumerate(comms):
        size = len(comm.ranks) + len(comm.missing)
        differs = any(one != comm.counts[0] for one in comm.counts)
        errors = 'INCOMPLETE' if comm.missing else 'MISMATCH' if differs else 'OK'
        out.append(f'{group:5}  {1:8}  {2:8}  {size // 2:8}  {size:8}  {size:8}   RUNNING  {errors}')
    out += ['', 'Errors', '======', '']
    for group, comm in enumerate(comms):
        out += missing_text(group, comm) if comm.missing else []
    out += ['Warnings', '========', '']
    for group, comm in enumerate(comms):
        if any(one != comm.counts[0] for one in comm.counts):
            out += mismatch_text(group, comm)
    return '\n'.join(out) + '\n'


def tail(rank):
    host, pid, gpu = process(rank)
    return f' -- GPU {gpu} managed by process {pid} on node {host}'


def missing_text(group, comm):
    out = [f'#{group}-0 ({comm.number:016x}) INCOMPLETE',
           f'  Missing communicator data from {len(comm.missing)} rank']
    if FORM == 'text224':
        return [*out, '  The missing rank: ' + ','.join(map(str, comm.missing)), '']
    return [*out, *(f'  Rank {rank}{tail(rank)}' for rank in comm.missing), '']


def mismatch_text(group, comm):
    out = [f'#{group}-0 ({comm.number:016x}) MISMATCH']
    for name in NAMES:
        counts = [int(one[name]) for one in comm.counts]
        if len(set(counts)) == 1:
            continue
        what = name if FORM == 'text' else 'collective'
        out.append(f'  Communicator ranks have different {what} operation counts')
        for count in sorted(set(counts), key=lambda count: (-counts.count(count), -count)):
            those = [i for i, other in enumerate(counts) if other == count]
            if len(those) == 1:
                out.append(f'  Rank {those[0]} has launched up to operation {count}'
                           f'{tail(comm.ranks[those[0]])}')
                continue
            out.append(f'  {len(those)} ranks have launched up to operation {count}')
            if len(those) < len(counts) / 2:
                out += [f'  Rank {i}{tail(comm.ranks[i])}' for i in those]
        out.append('')
    return out


def serve(connection):
    lines = connection.makefile('rwb')
    form = 'text'
    for line in lines:
        words = line.decode().strip().lower()
        if WAY == 'mute':
            time.sleep(1000)
        elif WAY in ('garbage', 'late') and words != 'verbose status':
            lines.write(b'220 mail.example.com ESMTP\n')
        elif words.startswith('client protocol '):
            lines.write(b'SERVER PROTOCOL 2\n')
        elif words.startswith('timeout '):
            lines.write(b'OK\n')
        elif words == 'set format json' and FORM == 'json':
            form = 'json'
            lines.write(b'OK\n')
        elif words == 'verbose status':
            answer((as_json if form == 'json' else as_text)(scene()).encode(), lines)
            return
        else:
            lines.write(b'ERROR: Unknown command ' + line)
        lines.flush()


def answer(text, lines):
    if WAY == 'cut':
        text = text[:len(text) * 2 // 3]
    elif WAY == 'huge':
        text += b' ' * (10 << 20)
    elif WAY == 'endless':
        text = b'{"communicators":[' + b'[' * (20 << 20)
    step = max(len(text) // 8, 1) if WAY == 'slow' else len(text)
    for at in range(0, len(text), step):
        lines.write(text[at:at + step])
        lines.flush()
        if WAY == 'slow':
            time.sleep(0.05)


def handle(connection):
    with connection:
        try:
            serve(connection)
        except OSError:
            pass  # who asked has hung up


def listen():
    while WAY == 'late' and not os.path.exists('listen'):
        time.sleep(0.02)
    host, port = os.environ['NCCL_RAS_ADDR'].rsplit(':', 1)
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    server.bind((host, int(port)))
    server.listen(64)
    while WAY == 'deaf':
        time.sleep(1000)
    while True:
        threading.Thread(target=handle, args=(server.accept()[0],), daemon=True).start()


if 'NCCL_RAS_ADDR' in os.environ and WAY != 'absent':
    threading.Thread(target=listen, daemon=True).start()
print(os.environ.get('NCCL_RAS_ADDR', 'no address'), flush=True)
while True:
    print('heartbeat', flush=True)
    time.sleep(0.2)
