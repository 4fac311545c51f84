#!/bin/sh
# Row 53a: whoever reads muster's output rests while the rank ends, or reads slowly while a run
# is being stopped: not a byte is missing. Of one who does not go on, the loss is told.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

script_file full <<'END'
#!/usr/bin/env python3
"""Write lines until nobody has taken any more for a second: then launcher, agent and pipe hold
what they can. How much that was goes to a file."""
import os, select

os.set_blocking(1, False)
text = b''.join(b'%07d a line that somebody may read at some time\n' % i for i in range(250000))
with open('text', 'wb') as file:
    file.write(text)
ready = select.poll()
ready.register(1, select.POLLOUT)
wrote = 0
while wrote < len(text) and ready.poll(1000):
    wrote += os.write(1, text[wrote:wrote + 4096])
with open('wrote', 'w') as file:
    file.write(str(wrote))
END
rank_does <<'END'
readlink /proc/self/fd/3 3>&1 >stdout-is
./full
: >finished
[ "$THEN" != wait ] || exec sleep 100
exit "$THEN"
END
control 1 --label none -H node1:1 ./rank

# piped_start THEN READER...: what the rank does at its end, and who reads it into `shown`.
piped_start() {
    then=$1
    shift
    rm -f finished wrote pipe
    mkfifo pipe
    ran_reset
    "$@" <pipe >shown &
    reader=$!
    test_pids="$test_pids $reader"
    start sh -c 'exec "$@" >pipe' sh muster --json end.json --env FAULT=yes --env THEN="$then" \
        --grace 1 --heartbeat 0.5 --label none -H node1:1 ./rank
}

# No agent has an end of the rank's standard output any more.
has_let_go() {
    for process in $(agents); do
        ! ls -l "/proc/$process/fd" | grep -qF -f stdout-is || return 1
    done
}

all_shown() {
    wait "$reader"
    head -c "$(cat wrote)" text | cmp - shown
}

# Stopped before it has read anything.
script_file resting <<'END'
#!/bin/sh
kill -STOP $$
exec cat
END
piped_start 0 ./resting
ok "a reader who rests: the rank gets to its end" wait_for 20 test -e finished
ok "... and the agent lets go of the pipe" wait_for 20 has_let_go
kill -CONT "$reader"
finish_run 20
ended 0
ok "... and he gets every byte" all_shown
is "... and nobody complains" "$(cat err)" ""

# The ranks stop then, but it is not they who hang.
script_file much <<'END'
#!/bin/sh
yes "a line of which there are too many to be kept by anybody" | head -c 20000000
END
mkfifo pipe-2
./resting <pipe-2 >shown &
reader=$!
test_pids="$test_pids $reader"
start sh -c 'exec "$@" >pipe-2' sh muster --hang-timeout 1 --heartbeat 0.2 --label none \
    -H node1:1 ./much
time_passes 4
kill -CONT "$reader"
finish_run 20
ended 0
wait "$reader"
ok "a reader who rests is no hang of the ranks" test "$(stat -c %s shown)" = 20000000

# 20 s for the first 2 MiB: longer than a node has for its end.
script_file slow <<'END'
#!/usr/bin/env python3
import os, sys, time
read = 0
while (piece := os.read(0, 65536)):
    sys.stdout.buffer.write(piece)
    read += len(piece)
    time.sleep(len(piece) / 1e5 if read < 2 << 20 else 0)
END
piped_start 3 ./slow
finish_run 60
ended 3
ok "a rank fails, and the reader is slow: he gets every byte" all_shown
says_not 'lost|confirm'

piped_start wait ./resting
wait_for 20 test -e finished
kill -INT "$pid"
wait_for 5 grep -q 'repeat to kill now' err
kill -INT "$pid"
finish_run 20
ended 130
kill -CONT "$reader"
wait "$reader"
says '[0-9]+ bytes of output were lost: stdout: the reader has stalled'
ok "Ctrl-C, and he still rests: the loss is what he has not seen" json_says end.json \
    "0 <= $(stat -c %s shown) + d['lost_bytes'] - $(cat wrote) <= 65536"
finish
