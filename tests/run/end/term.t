#!/bin/sh
# TERM goes to a rank alone, so that it can save with the help of its processes; they get it when the
# rank has ended, or late in the grace.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

# Takes what its helper reads; on TERM it needs one more item, saves, and ends.
cat >save.py <<'END'
import os, signal, subprocess, sys
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append(1))
helper = subprocess.Popen([sys.executable, "helper.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def item():
    helper.stdin.write("next\n")
    helper.stdin.flush()
    return helper.stdout.readline()
item()
print("ready", flush=True)
while not told:
    signal.pause()
kept = item()
print("saved", kept.strip() or "nothing: the helper has ended", flush=True)
END
# Ends by TERM, as a program without a handler, but says so.
cat >helper.py <<'END'
import os, signal, sys
def end(*_):
    os.write(2, b"helper: TERM\n")
    os._exit(0)
signal.signal(signal.SIGTERM, end)
for line in iter(sys.stdin.readline, ""):
    print("item", flush=True)
signal.pause()
END

# stops NAME COMMAND...: starts a run with a grace that nobody can wait for, and ends it by Ctrl-C.
stops() {
    stopped=$1
    shift
    start muster -H node1:1 --grace 1000 --label none "$@"
    wait_for 60 grep -q '^ready' out || echo "# never ready"
    kill -INT "$pid"
    finish_run 60
}

stops "a rank" --no_local_rank save.py
is "a rank that saves on TERM has its helpers" "$(sed '/^ready/d' out)" "saved item"
ok "... which get TERM when it has ended" grep -q '^helper: TERM' err
is "... and that is all" "$rc" 130
ok "nothing is left" no_leftovers

# A rank that is a shell, with what scripts have.
stops "a shell" --no_local_rank --no_python sh -c 'python3 save.py 2>&1 | cat; echo "the next line"'
ok "below a shell it has them, too, and its pipe" grep -q '^saved item' out
ok "... and the shell has ended" not grep -q 'the next line' out
is "... with all others" "$rc" 130
ok "nothing is left" no_leftovers
stops "a trap" --no_local_rank --no_python sh -c 'trap "echo trapped" TERM; python3 save.py; echo "then $?"'
is "a shell's trap comes after that" "$(sed '/^ready/d' out)" "saved item
trapped
then 0"
stops "a program that starts another" --no_local_rank --no_python \
    python3 -c 'import subprocess; subprocess.run(["python3", "save.py"])'
ok "so has one below a program without a handler" grep -q '^saved item' out
stops "no handler" --no_local_rank --no_python sh -c 'trap "echo trapped; exit 3" TERM; echo ready; sleep 1000'
is "where none handles it, all get it at once" "$(cat out; echo "$rc")" "ready
trapped
130"
ok "nothing is left" no_leftovers

# A rank that does not end: the others still have a quarter of the grace.
start muster -H node1:1 --grace 2 --label none --no_local_rank --no_python \
    python3 -c 'import signal, subprocess
signal.signal(signal.SIGTERM, lambda *_: print("deaf", flush=True))
helper = subprocess.Popen(["python3", "helper.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
helper.stdin.write("next\n")
helper.stdin.flush()
helper.stdout.readline()
print("ready", flush=True)
while True:
    signal.pause()'
wait_for 60 grep -q '^ready' out
kill -INT "$pid"
finish_run 60
is "a rank that goes on is told once" "$(cat out)" "ready
deaf"
ok "... and its helper before the end of the grace" grep -q '^helper: TERM' err
ok "nothing is left" no_leftovers

# PyTorch's own loader: its workers end by TERM, and take the rank's data with them.
if need_torch >torch.why; then
    cat >loader.py <<'END'
import signal, torch
from torch.utils.data import DataLoader, Dataset
class Numbers(Dataset):
    def __len__(self): return 10**9
    def __getitem__(self, i): return torch.tensor(i)
told = []
if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: told.append(1))
    late = 0
    for step, batch in enumerate(DataLoader(Numbers(), batch_size=4, num_workers=2)):
        if step == 20:
            print("ready", flush=True)
        late += bool(told)
        if late == 50:
            torch.save({"step": step}, "checkpoint")
            print("saved", flush=True)
            break
END
    stops "a DataLoader" --no_local_rank loader.py
    is "a rank saves 50 batches of its DataLoader after TERM" "$(cat out)" "ready
saved"
    ok "... and there is the checkpoint" test -s checkpoint
    ok "... without a word of a killed worker" not grep -q 'is killed by signal' err
    ok "nothing is left" no_leftovers
else
    skip "a rank saves 50 batches of its DataLoader after TERM" "$(cat torch.why)"
fi
finish
