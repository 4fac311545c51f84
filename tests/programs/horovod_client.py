"""Connects the ranks as hvd.init() does: with Gloo, in three groups, of which each meets in a scope
of the HTTP server that HOROVOD_GLOO_RENDEZVOUS_* names. Checks a sum over each.

Horovod itself is in no distribution. This asks what its HTTPStore asks, of PyTorch's Gloo; where
Horovod can be imported, horovod_init.t lets it do the same.
SPDX-License-Identifier: Apache-2.0
"""
import datetime
import http.client
import os
import time

import torch
import torch.distributed as dist

# What muster looks for in a script.
if False:
    import horovod.torch as hvd

ADDRESS = os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"], int(os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"])
LIMIT = datetime.timedelta(seconds=60)


def number(name):
    return int(os.environ["HOROVOD_" + name])


class HTTPStore(dist.Store):
    """One connection per request, an answer of 200 or 404, a question every 10 ms until then."""

    def __init__(self, scope):
        super().__init__()
        self.scope = scope

    def ask(self, method, key, body=None):
        connection = http.client.HTTPConnection(*ADDRESS, timeout=30)
        connection.request(method, "/%s/%s" % (self.scope, key.replace("/", ".")), body)
        answer = connection.getresponse()
        value = answer.read()
        connection.close()
        assert answer.status in (200, 404), (method, key, answer.status)
        return value if answer.status == 200 else None

    def set(self, key, value):
        self.ask("PUT", key, value)

    def get(self, key):
        self.wait([key])
        return self.ask("GET", key)

    def wait(self, keys, timeout=LIMIT):
        end = time.monotonic() + timeout.total_seconds()
        for key in keys:
            while self.ask("GET", key) is None:
                if time.monotonic() > end:
                    raise TimeoutError("no %s in %s" % (key, self.scope))
                time.sleep(0.01)


def sum_over(scope, rank, size):
    """The sum of the global ranks in this group."""
    group = dist.ProcessGroupGloo(HTTPStore(scope), rank, size, LIMIT)
    total = torch.tensor([float(number("RANK"))])
    group.allreduce([total]).wait()
    return int(total.item())


sums = [
    sum_over("global", number("RANK"), number("SIZE")),
    sum_over("local_" + os.environ["HOROVOD_HOSTNAME"], number("LOCAL_RANK"), number("LOCAL_SIZE")),
    sum_over("cross_%d" % number("LOCAL_RANK"), number("CROSS_RANK"), number("CROSS_SIZE")),
]
print("rank %d: sums" % number("RANK"), *sums)
