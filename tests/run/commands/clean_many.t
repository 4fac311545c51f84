#!/bin/sh
# muster clean and more than an answer holds: too many processes, or a node that says too much.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/commands/clean.sh"

# With names of which it holds fewer still
crowd() {
    MUSTER_RUN_ID=$old MUSTER_TEST_TAG=$tag python3 -c '
import os
for i in range(256):
    open("/dev/shm/nccl-%03d" % i + "\1" * 240, "w")
for _ in range(700):
    if os.fork() == 0:
        os.execv("/bin/sleep", ["\1" * 195, "1006"])'
    wait_for 20 all_sleep
}
all_sleep() {
    [ "$(pgrep -fc '^.*1006$')" = 700 ]
}
id=$old
old=$(printf '%063d' 0 | tr 0 '\001')
crowd
# An agent that ends 700 processes hears nothing meanwhile.
patient="--dead-after $(stretched 15)"
# shellcheck disable=SC2086
clean $patient --json clean.json
is "more processes than an answer holds: 1" "$rc" 1
ok "... it is said" grep -q '^node1: there is more than one answer can hold' out
ok "... most are shown" test "$(grep -Ec 'left +process' out)" -gt 300
# shellcheck disable=SC2086
clean $patient --kill
is "--kill says so too: 1" "$rc" 1
ok "... but has ended them all" nothing_left_of_run
# shellcheck disable=SC2086
clean $patient --kill
is "... as the next one says: 0" "$rc" 0

# A node that answers with far too much, or too long
cat >fake <<'END'
#!/usr/bin/env python3
import json, os, struct, sys, time
def send(kind, body):
    body = json.dumps(body).encode()
    sys.stdout.buffer.write(struct.pack('>IBBHII', len(body), kind, 0, 0, 1, 0) + body)
    sys.stdout.buffer.flush()
print(sys.argv[2], flush=True)
send(1, {'protocol': 2, 'now_ns': time.monotonic_ns()})
while len(head := sys.stdin.buffer.read(16)) == 16:
    size, kind = struct.unpack('>IB', head[:5])
    sys.stdin.buffer.read(size)
    if kind == 20:
        send(21, {'processes': [{}] * 2000} if os.environ['FAKE'] == 'many' else
             {'processes': [{'pid': i, 'user': 'me', 'run': 'r', 'command': 'x'} for i in range(99)] +
                           [{'pid': 99, 'user': 'u' * 200000, 'command': '\033[31m' * 20000}],
              'gpu_holders': [{'pid': 100, 'gpus': list(range(50000))}] +
                             [{'pid': 7, 'user': 'x; reboot'}, {'pid': 8, 'user': '--all-hosts'}] +
                             [{'pid': i, 'user': 'u%d' % i, 'mine': 1} for i in range(99)]})
    if kind == 15:
        send(19, {'left': 0})
        break
END
chmod +x fake
run env FAKE=many muster clean --agent ./fake -H node1:1
is "too many items from a node: 76" "$rc" 76
ok "... is named" grep -Eq 'node1 +protocol +CLEANED frame: more than 1024' err
began=$(now_ms)
run env FAKE=long muster clean --agent ./fake -H node1:1
is "long ones: 1" "$rc" 1
ok "... are cut" test "$(wc -c <out)" -lt 30000
took_at_most "... at once" 10 $(($(now_ms) - began))
run env FAKE=long muster clean --agent ./fake -H node1:1 --kill
ok "what it says of GPUs is cut, too" test "$(grep -c 'left alone$' out)" -le 64
is "... a user becomes no command" "$(grep -c -e 'kill-gpu .*reboot' -e 'kill-gpu --all' out)" 0
ok "... and do not move the others away" grep -Eq '^node1 .{1,120} x$' out
finish
