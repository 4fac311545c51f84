# muster.py - what the ranks of a run can report to muster, or ask of it
#
# Steps: muster knows that the training makes progress, and --hang-timeout ends a run that does not.
# See muster-watch(7).
#
#     muster.step(step, last=steps)
#
# Stacks: with --stack-signal muster can show where each thread of this process is.
#
#     muster.stacks()
#
# Shards: each record of a dataset is read once, whatever happens to the ranks.
#
#     shards = muster.Shards("train", size=1_000_000, shard_size=1000, shuffle=True)
#     for record in shards.records():
#         train(data[record])
#
# Each rank gets one shard after the other: records [start, end) of the dataset. If a rank is
# killed, or does not renew the lease of a shard for `lease` seconds, another rank gets the shard.
# Needs only the standard library, and torch for ShardDataset. See
# muster-shards(7).
# SPDX-License-Identifier: Apache-2.0
import errno
import faulthandler
import fcntl
import itertools
import os
import select
import stat
import threading
import time

ANSWER_S = 300.0  # for one answer: muster may have to reconnect to this node
LINE_MAX = 4096


class Error(Exception):
    """muster has refused something, or does not answer."""


def step(number, last=-1):
    """Report that a step of the training was done; last: the number of the last one, if known.

    Never waits for muster. False: it was not reported, because muster has not started this
    process, or another process of this rank is talking to muster."""
    number, last = int(number), max(int(last), -1)
    if number < 0:
        raise Error(f"step {number} is negative")
    if "MUSTER_RUN_ID" not in os.environ or "PMI_FD" not in os.environ:
        return False
    fd = _descriptor()
    if not _mutex.acquire(blocking=False):
        return False
    try:
        return _tell(fd, f"cmd=step step={number} last={last}\n".encode())
    finally:
        _mutex.release()


def stacks():
    """Let muster ask this process for the stacks of its threads, by the signal of --stack-signal.

    False: the run has no such signal, or muster has not started this process."""
    if "MUSTER_STACK_SIGNAL" not in os.environ:
        return False
    place = {}
    try:  # a file of muster's, which leaves stderr to you
        place["file"] = open(os.environ["MUSTER_STACK_FILE"], "a", encoding="utf-8")
    except (KeyError, OSError):
        pass
    faulthandler.register(int(os.environ["MUSTER_STACK_SIGNAL"]), all_threads=True, **place)
    return True


class Shard:
    """Records [start, end) of the dataset."""

    def __init__(self, answer):
        self.id, self.start, self.end, self.epoch, self.tries = (
            int(answer[key]) for key in ("id", "start", "end", "epoch", "tries"))

    def __iter__(self):
        return iter(range(self.start, self.end))

    def __len__(self):
        return self.end - self.start

    def __repr__(self):
        return f"Shard(id={self.id}, start={self.start}, end={self.end}, epoch={self.epoch})"


class Shards:
    """The shards of one dataset. All ranks open it with the same values.

    epochs=0: no end. lease: seconds without a renewal after which another rank gets a shard.
    retries: muster drops a shard that has failed more often, and reports that. wait: when no
    shards are left, wait until the other ranks have finished theirs, in case one comes back. Do
    not use it if ranks wait for each other in each step, because the others would never finish."""

    def __init__(self, name, size, shard_size, epochs=1, shuffle=False, seed=0, lease=600,
                 retries=3, wait=False):
        self.name = name
        self.wait = wait
        self.lease = float(lease)
        _ask("open", name=name, size=int(size), shard=int(shard_size), epochs=int(epochs),
             seed=int(seed), shuffle=int(bool(shuffle)), lease=f"{self.lease:.3f}",
             retries=int(retries))

    def get(self):
        """Return the next shard. None: there are no more."""
        while True:
            answer = _ask("get", name=self.name)
            if answer["state"] == "shard":
                return Shard(answer)
            if answer["state"] == "end" or not self.wait:
                return None
            time.sleep(int(answer["ms"]) / 1000)

    def done(self, shard):
        """Report that the shard was read. False: too late, another rank has or had it."""
        return _ask("done", name=self.name, id=shard.id)["rc"] == "0"

    def renew(self, shard=None):
        """Renew the lease of a shard; None: of all shards that this rank has."""
        words = {} if shard is None else {"id": shard.id}
        return _ask("renew", name=self.name, **words)["rc"] == "0"

    def fail(self, shard):
        """Report that this rank cannot read the shard."""
        return _ask("fail", name=self.name, id=shard.id)["rc"] == "0"

    def state(self):
        """Return how many shards there are (all), how many are done, and so on."""
        answer = _ask("state", name=self.name)
        return {key: int(value) for key, value in answer.items() if key not in ("cmd", "tag", "rc")}

    def __iter__(self):
        """Yield one shard after the other. A shard is done when the caller asks for the next."""
        while True:
            shard = self.get()
            if shard is None:
                return
            yield shard
            self.done(shard)

    def records(self):
        """Yield the numbers of the records, and renew the leases."""
        for shard in self:
            renewed = time.monotonic()
            for record in shard:
                yield record
                if time.monotonic() - renewed > self.lease / 4:
                    self.renew(shard)
                    renewed = time.monotonic()


def __getattr__(name):
    if name != "ShardDataset":
        raise AttributeError(f"module 'muster' has no attribute {name!r}")
    globals()[name] = _shard_dataset()
    return globals()[name]


def _shard_dataset():
    from torch.utils.data import IterableDataset

    class ShardDataset(IterableDataset):
        """Yields read(record) for each record of the shards. Workers of a DataLoader may share it
        if they are forked."""

        def __init__(self, shards, read):
            super().__init__()
            self.shards, self.read = shards, read

        def __iter__(self):
            return (self.read(record) for record in self.shards.records())

    ShardDataset.__module__, ShardDataset.__qualname__ = __name__, "ShardDataset"
    return ShardDataset


# --- a line to muster, and a line back, over the descriptor that MPI programs also use --------------

_mutex = threading.Lock()
_numbers = itertools.count()


def _after_fork():
    global _mutex
    _mutex = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def _descriptor():
    if "MUSTER_RUN_ID" not in os.environ:
        raise Error("this process was not started by muster: there are no shards")
    if "PMI_FD" not in os.environ:
        raise Error("muster exec and --no_ssh have no shards (PMI_FD is not set)")
    fd = int(os.environ["PMI_FD"])
    try:
        if stat.S_ISSOCK(os.fstat(fd).st_mode):
            return fd
    except OSError:
        pass
    raise Error(f"descriptor {fd} (PMI_FD) is closed in this process; start it by fork, as with "
                "multiprocessing_context='fork' of a DataLoader")


def _ask(command, **words):
    fd, until = _descriptor(), time.monotonic() + ANSWER_S
    tag = f"{os.getpid()}.{next(_numbers)}"
    line = f"cmd=shard_{command} tag={tag}" + "".join(f" {key}={value}"
                                                      for key, value in words.items())
    if any(c < " " or c > "~" for c in line) or line.count("=") != line.count(" ") + 1:
        raise Error(f"a value has a blank, an equals sign or a control character: {line}")
    try:
        with _mutex:
            answer = _exchange(fd, line.encode() + b"\n", tag, until)
    except OSError as error:  # muster has exited, or this process is exiting
        raise Error(f"cannot send to muster (PMI_FD): {error.strerror}") from error
    if answer["rc"] == "-1":
        raise Error("shards: " + answer["msg"].replace("_", " "))
    return answer


def _exchange(fd, line, tag, until):
    _lock(fd, until)
    try:
        while line:
            line = line[os.write(fd, line):]
        return _answer(fd, tag, until)
    finally:
        fcntl.lockf(fd, fcntl.LOCK_UN)


# Leaves the line out if muster does not read; never leaves it half written.
def _tell(fd, line):
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    try:
        poll = select.poll()
        poll.register(fd, select.POLLOUT)
        if not poll.poll(0):
            return False
        while line:
            line = line[os.write(fd, line):]
        return True
    except OSError:
        return False
    finally:
        fcntl.lockf(fd, fcntl.LOCK_UN)


# Forked workers share the socket. The kernel releases the lock of a process that exits.
def _lock(fd, until):
    while True:
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES, errno.EINTR):
                raise
        if time.monotonic() > until:
            raise Error(f"another process of this rank has waited for muster for {ANSWER_S:.0f} s")
        time.sleep(0.001)


# Answers before ours were for a process that was killed while it waited.
def _answer(fd, tag, until):
    have = b""
    while True:
        line, end, rest = have.partition(b"\n")
        if not end:
            have += _read(fd, until)
            continue
        have = rest
        answer = dict(word.split("=", 1) for word in line.decode("ascii", "replace").split(" ")
                      if "=" in word)
        if answer.get("cmd") == "shard_answer" and answer.get("tag") == tag:
            return answer


def _read(fd, until):
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    if not poll.poll(max(0, until - time.monotonic()) * 1000):
        raise Error(f"muster has not answered for {ANSWER_S:.0f} s")
    bytes_read = os.read(fd, LINE_MAX)
    if not bytes_read:
        raise Error("muster has closed PMI_FD")
    return bytes_read
