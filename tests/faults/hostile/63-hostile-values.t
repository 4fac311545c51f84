#!/bin/sh
# Row 63: environment values that any shell on the way would have eaten. They arrive byte for byte,
# on every rank, over SSH.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

ssh_nodes 2
script_file rank <<'END'
#!/usr/bin/env python3
import hashlib, os
open('ran/' + os.environ['RANK'], 'w').close()
for name in sorted(os.environb):
    if name.startswith(b'NCCL_X'):
        print(name.decode(), hashlib.sha256(os.environb[name]).hexdigest())
END
script_file hostile <<'END'
#!/usr/bin/env python3
"""Run a command with such values; print their names and hashes as a rank would."""
import hashlib, os, random, subprocess, sys
dice = random.Random(63)
values = {
    'QUOTES': b'"a" \'b\' \\"c\\" \\', 'SHELL': b'$(touch X) `touch X` ${HOME} ; touch X & | > X',
    'LINES': b'one\ntwo\r\n\n', 'EMPTY': b'', 'LONG': b'y' * 100000, 'SPACES': b'  a  b  ',
    'BYTES': bytes(range(1, 256)), 'PERCENT': b'%s%n%%', 'GLOB': b'* ~ [a-z] !x',
    'RANDOM': bytes(dice.randrange(1, 256) for _ in range(1000)),
}
values = {b'NCCL_X' + name.encode(): value for name, value in values.items()}
with open('wanted', 'w') as wanted:
    for name in sorted(values):
        wanted.write(f'{name.decode()} {hashlib.sha256(values[name]).hexdigest()}\n')
sys.exit(subprocess.call(sys.argv[1:], env={**os.environb, **values}))
END
control 4 ./rank
is "there are no such values then" "$(wc -l <out)" 0
ran_reset
run ./hostile muster ./rank
ended 0
ok "every rank ran" all_ran 4
ok "each has every byte" all_got
ok "nothing was executed" not test -e X
finish
