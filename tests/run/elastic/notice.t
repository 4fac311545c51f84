#!/bin/sh
# A node is to go: all ranks are told, and muster sees whether they have saved.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

# Ranks 0 and 1 save when they are told, rank 2 looks at the file only, and rank 3, a shell and what
# it waits for, has never heard of notices. What they have seen is in seen-*.
script_file rank <<'END'
#!/usr/bin/env python3
import json, os, signal, time
rank, notice = int(os.environ["RANK"]), os.environ["MUSTER_NOTICE_FILE"]
seen = f"seen-{os.environ['MUSTER_GENERATION']}-{rank}"
if rank == 3:
    os.execvp("sh", ["sh", "-c", f"trap 'echo TERM >{seen}' TERM; touch up-3; sleep 1000 & wait; wait"])
def wait_for_others():
    end = time.monotonic() + 100
    while time.monotonic() < end and not all(
            os.path.exists(seen[:-1] + other) for other in "12"):
        time.sleep(0.02)
def tell(word):
    with open(seen + ".new", "w") as file:
        file.write(word + "\n" + open(notice).read())
    os.rename(seen + ".new", seen)
    if rank == 0: # saving ends the generation: as in a training, all of it know first
        wait_for_others()
    if os.environ.get("SAVES") == str(rank):
        os.makedirs("save", exist_ok=True)
        with open("save/new", "w") as file:
            file.write("global_step7\n")
        os.rename("save/new", "save/latest")
if rank < 2:
    signal.signal(signal.SIGUSR1, lambda *_: tell("signal"))
if os.path.exists(notice):
    print("a notice before the notice")
with open(f"path-{rank}", "w") as file:
    print(notice, file=file)
open(f"up-{rank}", "w").close()
while rank != 2 or not os.path.exists(notice):
    time.sleep(0.02)
tell("file")
while True:
    time.sleep(1000)
END

all_up() {
    [ -e up-0 ] && [ -e up-1 ] && [ -e up-2 ] && [ -e up-3 ]
}

began() {
    rm -rf up-* seen-* save
    start "$@"
    ok "the ranks run" wait_for 30 all_up
}

seen() {
    python3 -c 'import json, sys
try:
    word, text = open(sys.argv[1]).read().split("\n", 1)
    notice = json.loads(text)
    print(word, *(notice[key] for key in sys.argv[2:]))
except FileNotFoundError:
    print("nothing")' "$@"
}

seen_truth() {
    grep -q truth port.told
}

no_notice_is_left() {
    [ "$(cat path-0 path-1 path-2 | wc -l)" = 3 ] &&
        ! cat path-0 path-1 path-2 | xargs ls -d 2>/dev/null | grep -q .
}

{
use_sshd 2
mkdir save
echo global_step1 >save/latest
run env -u HOME -u XDG_STATE_HOME muster drain --within 5 nothing node1
ok "drain of no run: it says so" [ "$rc" != 0 ]

began muster -v --name saves --env SAVES=0 --ckpt-marker 'save/late*' ./rank
run_dir=$(echo "$HOME"/.local/state/muster/runs/*-saves)
is "the socket is for its user only" "$(stat -c '%a %F' "$run_dir/control")" "600 socket"
cp out out.kept && cp err err.kept
is "drain says what was done" "$(muster drain --within 100 saves node2 2>&1)" \
    "1 node will leave within 100 s"
finish_run 30
is "once it is saved, the generation ends: 69" "$rc" 69
ok "... and all know why" grep -q "node2 leaves in 100 s (muster drain)" err
ok "the checkpoint is seen" grep -Eq \
    'checkpoint written after [0-9.]+ s of 100 s: save/latest \(global_step7\)' err
is "those that catch the signal get it, on all nodes" \
    "$(seen seen-0-0 node reason generation) $(seen seen-0-1 node)" \
    "signal node2 muster drain 0 signal node2"
is "... the others have the file" "$(seen seen-0-2 node)" "file node2"
is "... and none dies of it" "$(cat seen-0-3)" TERM
is "... and their node says so" "$(sed -n 's/.*notice: \(2 ranks got the signal\), after .*/\1/p' err)" \
    "2 ranks got the signal"
ok "the deadline is a time" python3 -c 'import json, time
left = json.loads(open("seen-0-0").read().split("\n", 1)[1])["deadline"] - time.time()
exit(not 0 < left <= 100)'
ok "no file is left" wait_for 20 no_notice_is_left
ok "... nor the socket" [ ! -e "$run_dir/control" ]
run muster drain saves node2
is "a run that is over has no nodes to drain: 2" "$rc $(grep -c 'is not running' err)" "2 1"

# Both nodes are told by their cloud, and nobody saves.
"$here/elastic/spot_service.py" port &
test_pids="$test_pids $!"
ok "a metadata service" wait_for 10 [ -e port ]
service=http://127.0.0.1:$(cat port)
touch port.hold # the time counts from the first answer
began muster --name lost --grace 1 --ckpt-marker 'save/late*' --spot "$service/goes/16" ./rank
rm port.hold
finish_run 30
is "the cloud takes the nodes: 69" "$rc" 69
ok "... which is said of both" [ "$(grep -c 'node[12] leaves in .* s (the service of --spot' err)" = 2 ]
ok "no checkpoint: that is said loudly" grep -q 'NO CHECKPOINT was written in the' err
is "the ranks were told" "$(seen seen-0-0) $(seen seen-0-2)" "signal file"

# Whatever goes wrong there is no notice.
unset MUSTER_HOSTFILE MUSTER_SSH_CONFIG
export MUSTER_TRANSPORT=exec
began env MUSTER_TEST_SPOT_S=0.05 muster --env SAVES=2 --agent "$test_agent" \
    --ckpt-marker save/latest --notice-signal none --spot "$service/lies" -H node1:4 ./rank
ok "it hears lies, and then the truth" wait_for 60 seen_truth
finish_run 60
is "none of them is a notice, but the truth is" "$(sort -u port.told | wc -l) \
$(grep -c 'leaves in' err)" "11 1"
is "--notice-signal none" "$(seen seen-0-0) $(seen seen-0-2)" "nothing file"
ok "nothing is left" no_leftovers

began muster --env SAVES=0 --ckpt-marker save/latest -H node1:4 ./rank
kill -TERM "$pid"
finish_run 30
is "TERM: the ranks save before they end" "$rc $(grep -c 'checkpoint written after' err)" "143 1"
began muster --ckpt-marker save/latest -H node1:4 ./rank
kill -TERM "$pid"
ok "... if they do not," wait_for 10 [ -e seen-0-0 ]
kill -TERM "$pid"
finish_run 10
is "... a second one kills" "$rc $(grep -c 'NO CHECKPOINT' err)" "143 1"
ok "nothing is left" no_leftovers

# A rank that has just begun: it may not handle the signal yet, or still look for the other ranks.
script_file young <<'END'
#!/usr/bin/env python3
import os, signal, time
rank, told = os.environ["RANK"], []
def handle():
    signal.signal(signal.SIGUSR1, lambda *_: told.append(1))
if rank == "0":
    handle()
open(f"up-{rank}", "w").close()
while not os.path.exists(os.environ["MUSTER_NOTICE_FILE"]):
    time.sleep(0.02)
print("rank", rank, "told already" if told else "not yet told", flush=True)
if rank == "1":
    handle()
while not told:
    time.sleep(0.02)
print("rank", rank, "told", flush=True)
open(f"told-{rank}", "w").close()
if rank == "1": # saving ends the generation
    while not os.path.exists("told-0"):
        time.sleep(0.02)
    os.makedirs("save", exist_ok=True)
    open("save/latest", "w").close()
time.sleep(1000)
END
rm -rf up-* save
start muster --name young --label none --ckpt-marker save/latest -H node1:2 ./young
ok "two young ranks" wait_for 30 sh -c 'test -e up-0 && test -e up-1'
muster drain --within 100 young node1 >/dev/null 2>&1
finish_run 60
is "one that handles the signal has some seconds to join, one that does not yet gets it later" \
    "$(sort out)" "rank 0 not yet told
rank 0 told
rank 1 not yet told
rank 1 told"
ok "... and saves" grep -q 'checkpoint written after' err

run muster --spot http://localhost/x -H node1:1 true
is "a name in --spot: 2" "$rc $(grep -c 'does not look up names' err)" "2 1"
run muster --spot nowhere -H node1:1 true
is "a wrong --spot: 2" "$rc" 2
run muster --notice-signal KILL -H node1:1 true
is "a signal that nobody can catch: 2" "$rc" 2
}
finish
