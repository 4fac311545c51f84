#!/bin/sh
# Row 64: arguments of any bytes, empty ones, one as long as Linux takes. They arrive byte for byte,
# over SSH. (run/start/argv.t has a thousand more.)
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

ssh_nodes 2
script_file rank <<'END'
#!/usr/bin/env python3
import hashlib, os, sys
open('ran/' + os.environ['RANK'], 'w').close()
for word in map(os.fsencode, sys.argv[1:]):
    print(len(word), hashlib.sha256(word).hexdigest())
END
script_file hostile <<'END'
#!/usr/bin/env python3
"""muster ./rank with random arguments, all lengths, and the longest one."""
import hashlib, os, random, sys
seed = int.from_bytes(os.urandom(4), 'big')
print('# seed', seed, file=sys.stderr)
dice = random.Random(seed)
words = [bytes(dice.randrange(1, 256) for _ in range(dice.randrange(0, 60))) for _ in range(1000)]
words += [b'', bytes(range(1, 256)), b'x' * (128 * 1024 - 1), b'$(touch X)', b'-x', b'--', b'']
with open('wanted', 'w') as wanted:
    for word in words:
        wanted.write(f'{len(word)} {hashlib.sha256(word).hexdigest()}\n')
os.execvp('muster', [b'muster', b'--no_local_rank', b'./rank', *words])
END
control 4 --no_local_rank ./rank
is "there are no arguments then" "$(wc -l <out)" 0
ran_reset
run ./hostile
cat err
ended 0
ok "every rank ran" all_ran 4
ok "each has every byte" all_got
ok "nothing was executed" not test -e X
finish
