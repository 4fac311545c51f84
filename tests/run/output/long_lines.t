#!/bin/sh
# A line of up to 1 MiB stays whole beside other ranks' lines; a longer one continues behind an
# ellipsis. The log file has it as it was.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

cat >lines.py <<'END'
import sys
sys.stdout.write("x" * 1000000 + "\n" + "y" * 1500000 + "\nshort\n")
END
python3 lines.py >wanted
run muster -H node1:1,node2:1 lines.py
is "exit status" "$rc" 0
ok "lines are whole or continue" python3 - <<'END'
with open("out", "rb") as out:
    lines = [line[9:] for line in out.read().split(b"\n") if line.startswith(b"node1:0: ")]
more = "\u2026".encode()
assert lines == [b"x" * 1000000, b"y" * (1 << 20), more + b"y" * (1500000 - (1 << 20)), b"short"], \
    [(len(line), line[:9]) for line in lines]
END
# A rank waits for the file alone: beyond a bound the terminal does without the rest.
run muster --log_dir logs -H node1:1,node2:1 lines.py
is "exit status with log files" "$rc" 0
ok "the file has it exactly" cmp wanted logs/*_rank0.log
finish
