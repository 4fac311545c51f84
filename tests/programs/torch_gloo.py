#!/usr/bin/env python3
# torch_gloo.py DIR [PATTERN...] - PyTorch's own tests of torch.distributed, as ranks of one run
#
# They are those of torch.testing._internal.distributed.distributed_test, over Gloo, whose names
# fit a pattern (default: all). PyTorch starts four processes on one machine for them; here the
# ranks are those that muster has started, and they meet by env://. DIR is an empty directory on
# a disk that all ranks share. Each test runs in a child of each rank. Rank 0 prints a line for
# each test; the exit status is 1 if any has failed on any rank.
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's gloo tests under a launcher."""

import fnmatch
import logging
import os
import signal
import sys
import time
import types
import unittest

TEST_S = 150     # for one test, before it is killed
TOGETHER_S = 300 # for all ranks to come to the same place

RANK, SIZE = int(os.environ['RANK']), int(os.environ['WORLD_SIZE'])
# Read when the module is imported.
os.environ['BACKEND'] = 'gloo'
os.environ['TEMP_DIR'] = sys.argv[1]

try:
    import expecttest # noqa: F401
except ImportError:
    # Debian's PyTorch comes without it. None of these tests uses more of it than this.
    sys.modules['expecttest'] = types.SimpleNamespace(TestCase=unittest.TestCase, ACCEPT=False)

arguments, sys.argv = sys.argv, sys.argv[:1] # PyTorch parses them otherwise
import torch # noqa: E402
from torch.testing._internal.distributed import distributed_test # noqa: E402

try:
    import torch.distributed._shard.replicated_tensor # noqa: F401
except (ImportError, ValueError):
    # PyTorch 1.13 under Python 3.11: these tests want such tensors within DDP, it can do without.
    try:
        import torch.nn.parallel._replicated_tensor_ddp_utils as replicated
        replicated._set_ddp_with_replicated_tensor = lambda wanted: None
    except ImportError:
        pass # PyTorch 2 has neither


class Test(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
    @property
    def init_method(self):
        return 'env://'


def together(step):
    """All ranks have come to that step."""
    folder = os.path.join(arguments[1], 'step')
    with open(os.path.join(folder, f'{step}.{RANK}'), 'x'):
        pass
    end = time.monotonic() + TOGETHER_S
    while sum(os.path.exists(os.path.join(folder, f'{step}.{rank}')) for rank in range(SIZE)) < SIZE:
        if time.monotonic() > end:
            sys.exit(f'rank {RANK}: not all ranks came to {step}')
        time.sleep(0.005)


def make_directories():
    for name in 'step', 'barrier', 'test_dir', 'init_dir':
        os.makedirs(os.path.join(arguments[1], name), exist_ok=True)


def clear():
    """Processes leave files of their pids there, which count."""
    for name in 'barrier', 'test_dir':
        folder = os.path.join(arguments[1], name)
        for entry in os.listdir(folder):
            os.unlink(os.path.join(folder, entry))


def run_here(name):
    """In the child; never returns."""
    receiver, sender = torch.multiprocessing.Pipe()
    code = 70
    try:
        Test._run(RANK, name, None, sender)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException as failure:
        print(f'rank {RANK}: {name}: {failure!r}', flush=True)
    if code not in SKIP_CODES and code != 0 and receiver.poll():
        print(f'rank {RANK}: {name}: {receiver.recv()}', flush=True)
    os._exit(code)


logging.disable(logging.INFO)
SKIP_CODES = {skip.exit_code for skip in distributed_test.TEST_SKIPS.values()}


def run(name):
    """'ok', 'skipped', or what went wrong."""
    child = os.fork()
    if child == 0:
        run_here(name)
    end = time.monotonic() + TEST_S
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid == child:
            break
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return f'not done after {TEST_S} s'
        time.sleep(0.005)
    code = os.waitstatus_to_exitcode(status)
    return 'ok' if code == 0 else 'skipped' if code in SKIP_CODES else f'exit {code}'


def main():
    patterns = arguments[2:] or ['*']
    names = [name for name in sorted(dir(Test)) if name.startswith('test_') and
             any(fnmatch.fnmatch(name, one) for one in patterns)]
    failed = 0
    make_directories()
    for name in names:
        together(f'{name}.begin')
        if RANK == 0:
            clear()
        together(f'{name}.clear')
        began = time.monotonic()
        result = run(name)
        failed += result not in ('ok', 'skipped')
        with open(os.path.join(arguments[1], 'step', f'{name}.result.{RANK}'), 'w') as file:
            file.write(result)
        together(f'{name}.end')
        if RANK == 0:
            results = set()
            for rank in range(SIZE):
                with open(os.path.join(arguments[1], 'step', f'{name}.result.{rank}')) as file:
                    results.add(file.read())
            print(f'{name}: {", ".join(sorted(results))} ({time.monotonic() - began:.1f} s)', flush=True)
    print(f'rank {RANK}: {len(names)} tests, {failed} failed', flush=True)
    return 1 if failed or not names else 0


sys.exit(main())
