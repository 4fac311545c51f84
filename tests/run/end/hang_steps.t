#!/bin/sh
# Steps of a training: a run hangs if none is reported any more, though its ranks spin and print;
# --progress, --hang-timeout=auto, what muster status shows of them, and restarts.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

four="-H node1:2,node2:2"
run_limit=20 # what does not hang by itself, ends
mkdir bin # in front of the PATH of muster, and so of the ranks: the real ones take their time
PATH=$PWD/bin:$PATH
script_file bin/gdb <<'END'
#!/bin/sh
echo "#0 where gdb says"
END
# shellcheck disable=SC2086
{
# Rank 2 leaves the training after step 5, of which the others know nothing. All go on printing.
script_file spin <<'END'
#!/usr/bin/env python3
import os, sys, time
form, last = sys.argv[1], int(sys.argv[2])
rank, generation = int(os.environ['RANK']), int(os.environ['MUSTER_GENERATION'])
for step in range(last + 1):
    if rank == 2 and step > 5 and generation == 0:
        break
    print(form % step, flush=True, end='')
    time.sleep(0.05)
if generation > 0:
    sys.exit(0)
while True:
    print('\nheartbeat of', rank, flush=True)
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        pass
END
spin() {
    run muster --heartbeat 0.2 --grace 1 "$@"
}
spin --hang-timeout 3 $four ./spin 'iter %d: loss 2.5, time 20ms
' 12
is "ranks that spin and print, but report no step: 124" "$rc" 124
ok "... the report says why" grep -q '^muster: hang: no step from any rank for 3 s (--hang-timeout)$' err
ok "... who was where, and how muster knows" grep -Eq \
    '^muster: last step: 12, of rank [013] [0-9]+ s ago \(found by: nanoGPT\); they differ: step 5: rank 2, step 12: ranks 0-1,3$' err
ok "... and where the ranks are" grep -Eq '^  \| ranks? [0-3,-]+ on node' err
ok "all of it is kept" sh -c "cat $HOME/.local/state/muster/runs/*/stacks.txt >stacks; head -n 1 stacks |
    grep -q '^last step: 12,'"
ok "nothing is left" no_leftovers

spin --hang-timeout 3 --progress '^batch=([0-9]+)' $four ./spin 'batch=%d of an epoch
' 12
is "lines of --progress that stop: 124" "$rc" 124
ok "... by the option" grep -q 'step: 12, of rank [013] [0-9]* s ago (found by: --progress); they' err

spin --hang-timeout 3 --progress '^batch=([0-9]+)' --timeout 6 $four ./spin 'iter %d: loss 2
' 12
ok "with --progress no other form counts" grep -q '^muster: .*--timeout' err
ok "... and no step is known" not grep -q 'last step' err

# Ranks that call muster.step(): rank 0 in C. Their output does not count.
PYTHONPATH=$top_srcdir/contrib/python
export PYTHONPATH PYTHONDONTWRITEBYTECODE=1 # not beside the sources
cat >call.py <<'END'
import os, sys, time
import muster
rank, last = int(os.environ['RANK']), 6 if os.environ['RANK'] != '2' else 4
print(muster.step(0, last=9))
for step in range(1, last + 1):
    muster.step(step, 9)
for line in range(1000):
    print('iter %d: loss 2' % line, flush=True)
    time.sleep(0.05)
END
cat >call.c <<'END'
#include <stdio.h>
#include <unistd.h>
#include <muster.h>
int main(void)
{
    for (int step = 0; step < 7; step++)
        if (muster_step(step, 9) != 0)
            return 3;
    puts(muster_step(-1, 9) < 0 ? muster_error() : "?");
    fflush(stdout);
    for (;;)
        pause();
}
END
script_file called <<'END'
#!/bin/sh
[ "$RANK" = 0 ] && exec ./call
exec python3 call.py
END
ok "a program in C is built with libmuster" cc -o call -I "$top_srcdir/client" call.c "$top_srcdir/client/muster.c"
spin --hang-timeout 3 $four ./called
is "ranks that call muster.step() no more: 124" "$rc" 124
ok "... in Python and in C" grep -q '(found by: muster.step()); they differ: step 4: rank 2, step 6: ranks 0-1,3$' err
is "... which says what is wrong" "$(grep -o 'step -1 is negative' out)" "step -1 is negative"
is "... and what went well" "$(grep -c 'node[12]:[123]: True' out)" 3
run python3 -c 'import muster; print(muster.step(1))'
is "without muster the call does nothing" "$rc $(cat out)" "0 False"

spin --hang-timeout 3 --max-restarts 1 $four ./spin 'iter %d: loss 2
' 12
is "a hang restarts as a failure does: 0" "$rc" 0
ok "... and says so" grep -q 'hang: no step from any rank' err

spin --hang-timeout 3 -H node1:1,node2:1 --role train:1 ./spin 'iter %d: loss 2
' 12 : --role gen:1 ./spin 'step: %d  loss:  2
' 9
is "in roles: 124" "$rc" 124
ok "... each has its steps" grep -q '^muster: last step: 12, of rank 0 of train ' err
ok "... in its own form" grep -q '^muster: last step: 9, of rank 0 of gen .*(found by: torchtitan)' err

# The last step of a bar: the ranks may save for half an hour.
spin --hang-timeout 1 $four sh -c 'printf "\r 9/9 [00:09<00:00, 1it/s]\n"
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do echo saving; sleep 0.2; done'
is "after the last step ranks may work: 0" "$rc" 0

# A file gets the output, and the terminal nothing.
spin --hang-timeout 3 --enable_each_rank_log logs $four ./spin '\r %d/99 [00:01<00:10, 1it/s]' 12
is "a bar that stops, in output that goes to files: 124" "$rc" 124
ok "... by its form" grep -q '(found by: tqdm)' err
ok "... nothing of it was shown" not grep -q 1it out

# What muster status shows.
mkfifo go
exec 9<>go # what is written stays there, whoever reads when
start muster --heartbeat 0.2 --hang-timeout auto $four sh -c '[ $RANK != 1 ] || exec sleep 1001
    for i in 1 2 3 4 5 6 7 8; do echo "step: $i  loss:  2.5"; sleep 0.5; done; read -r line <go'
shown() {
    muster status --json state.json >state &&
        id=$(json state.json 'd["runs"][0]["run_id"]') &&
        muster status --json state.json "$id" >state &&
        json_says state.json '[r.get("step") for r in d["ranks"]] == [8, None, 8, 8]'
}
ok "status shows the steps of each rank" wait_for 30 shown
ok "... in JSON, with their form and age" json_says state.json \
    'd["ranks"][0]["step_form"] == "torchtitan" and d["ranks"][0]["step_age_s"] >= 0'
ok "... and of ranks that have none nothing" json_says state.json '"step_form" not in d["ranks"][1]'
ok "... what auto has learnt" json_says state.json \
    '0.2 <= d["steps"]["report_s"] and d["steps"]["hang_s"] >= 300'
ok "... as text" grep -Eq '^0 +node1 +[0-9]+ +running +[0-9]+ s +8, [0-9]+ s ago$' state
ok "... for the run" grep -Eq \
    '^steps: one is reported about every [0-9.]+ s; without one for [0-9]+ s the run hangs$' state
ok "auto says what it has learnt" grep -Eq \
    '^muster: --hang-timeout=auto: ranks report a step about every [0-9.]+ s \(torchtitan\); without one for [0-9]+ s the run hangs$' err
run muster stop "$id"
exec 9>&-
finish_run 30

run muster --dry-run --hang-timeout auto --progress 'batch ([0-9]+)' $four ./spin
ok "--dry-run says what names a step" grep -q "^steps: lines that match 'batch (\[0-9\]+)'$" out
ok "... and when a run hangs" grep -q '^hang: nothing is done for 600 s, or no step .*(auto)$' out
run muster --dry-run --hang-timeout 90 $four ./spin
ok "... with a time of the user's" grep -q '^hang: nothing is done, or no step is reported, for 90 s$' out
run muster --progress 'batch ([0-9]+' $four ./spin
is "a wrong pattern: 2" "$rc" 2
ok "... is explained" grep -q "^muster: error: --progress: 'batch (\[0-9\]+' is not an extended regular" err
run muster --progress "$(printf '%1001s' '' | tr ' ' x)" $four ./spin
ok "... and one that is too long" grep -q -- '--progress: it is longer than 1000 bytes' err
}
ok "nothing is left" no_leftovers
finish
