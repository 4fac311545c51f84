#!/bin/sh
# Arguments reach the ranks byte for byte: random ones, empty ones, long ones, every byte.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

cat >vectors.py <<'END'
# One vector after another through muster; says which came out differently.
import os, random, subprocess, sys
sys.dont_write_bytecode = True
muster = ["muster", "--label", "none", "-H"]

def through(vector, hosts):
    done = subprocess.run(muster + [hosts, os.environ["ECHO_ARGS"]] + vector,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=60)
    lines = done.stdout.split(b"\n")[:-1]
    return [b"" if line == b"-" else bytes.fromhex(line.decode()) for line in lines]

def check(name, vectors, hosts="node1:1"):
    wrong = [v for v in vectors if through(v, hosts) != v]
    for vector in wrong[:3]:
        print("# differs:", repr(vector)[:300])
    print("%s - %s" % ("not ok" if wrong else "ok", name))

dice = random.Random(sys.argv[1])
print("# seed", sys.argv[1])
word = lambda: bytes(dice.randrange(1, 256) for _ in range(dice.randrange(0, 12)))
# Launching costs more than arguments do: 1000 vectors in 20 runs, each behind a mark.
batches = [[w for _ in range(50) for w in [b"next"] + [word() for _ in range(dice.randrange(0, 9))]]
           for _ in range(20)]
check("1000 random vectors", batches)
check("no argument", [[]])
check("empty ones, first and last", [[b"", b"a", b"", b""]])
check("every byte", [[bytes([b]) for b in range(1, 256)], [bytes(range(1, 256))]])
check("as long as Linux takes one: 128 KiB", [[b"x" * (128 * 1024 - 1)]])
check("1 MB in 10000 arguments", [[b"y" * 100] * 10000])
check("what shells eat", [[b"it's", b'{"k": 1}', b"$HOME", b"`id`", b"a;b", b"*", b"~", b"\\", b"%n",
                          b"a\nb", b"\t", b"--", b"-x"]])
END
ECHO_ARGS=$top_builddir/tests/run/env/echo_args timeout --foreground 240 \
    python3 vectors.py "$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')" >results
while read -r line; do
    case $line in
    "ok - "*) ok "${line#ok - }" true ;;
    "not ok - "*) ok "${line#not ok - }" false ;;
    *) echo "$line" ;;
    esac
done <results
is "all of them were tried" "$test_count" 7
finish
