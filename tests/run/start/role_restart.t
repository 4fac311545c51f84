#!/bin/sh
# --restart=role: a role whose rank fails starts again, and the others go on.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

hosts=node1:2,node2:2
cat >goes_on <<'END'
#!/bin/sh
# goes_on COUNT: until that many ranks have come to their end
echo "starts $MUSTER_GENERATION"
until [ "$(ls again.* 2>/dev/null | wc -l)" -ge "$1" ]; do sleep 0.05; done
END
cat >fails <<'END'
#!/bin/sh
# fails CODE [TIMES]: rank 1 exits with CODE in that many generations, and rank 0 waits for its end
echo "$RANK of $MUSTER_GENERATION $MASTER_PORT $MUSTER_ROLE_TRAIN_PORT"
if [ "$MUSTER_GENERATION" -ge "${2:-1}" ]; then
    : >"again.$MUSTER_ROLE.$RANK"
    exit 0
fi
[ "$RANK" = 0 ] || exit "$1"
exec sleep 1000
END
chmod +x goes_on fails

run muster -H $hosts --restart role --max-restarts 1 --log-dir "$PWD/logs" --json end.json \
    --role train:2 ./goes_on 2 : --role gen:2 ./fails 7
is "a role whose rank fails starts again" "$rc $(sed -n 's/^gen node2:.: \(. of .\) .*/\1/p' out | sort | tr '\n' '|')" \
    "0 0 of 0|0 of 1|1 of 0|1 of 1|"
is "... the other one goes on" "$(grep -c 'train node1:.: starts' out) $(grep -c 'starts 0$' out)" "2 2"
ok "... says why" grep -q '^muster: gen, generation 1: rank 1 of gen on node2: exit 7; 2 ranks on 1 node start again; restart 1 of 1$' err
is "... says nothing else" "$(wc -l <err)" 1
# of GENERATION: the ports that rank 0 finds in it, its own and that of train
of() {
    sed -n "s/^gen node2:0: 0 of $1 //p" out
}
ok "... with another port" test "$(of 0 | cut -d ' ' -f 1)" != "$(of 1 | cut -d ' ' -f 1)"
is "... knows that of the other, which is the same" "$(of 0 | cut -d ' ' -f 2)" "$(of 1 | cut -d ' ' -f 2)"
# shellcheck disable=SC2012
is "... writes other log files" "$(ls logs | sed 's/^[0-9]*-[0-9]*-[0-9a-f]*-//' | sort | tr '\n' ' ')" \
    "gen-1_rank0.log gen-1_rank1.log gen_rank0.log gen_rank1.log train_rank0.log train_rank1.log "
is "... is in the result" "$(json end.json '[(g.get("role"), g["generation"], g["exit_status"], g["text"]) for g in d["generations"]]')" \
    "[('gen', 0, 7, 'rank 1 of gen on node2: exit 7'), (None, 1, 0, None)]"

# Each counts for itself; one is restarted while another is.
rm again.*
run muster -H "node1:1,node2:2,node3:2" --restart=role --max-restarts 2 --restart-delay 0 \
    --role train:1 ./goes_on 4 : --role a:2 ./fails 7 2 : --role b:2 ./fails 8 2
is "two roles, two restarts each" "$rc $(sed -n 's/^muster: \([ab]\), generation \([12]\): .*; restart \([12] of 2\)$/\1 \2 \3/p' err | sort | tr '\n' '|')" \
    "0 a 1 1 of 2|a 2 2 of 2|b 1 1 of 2|b 2 2 of 2|"
rm -f again.*
run muster -H $hosts --restart=role --max-restarts 1 --restart-delay 0 --role train:2 sleep 1000 : --role gen:2 ./fails 7 2
is "no restart is left: its status" "$rc" 7
ok "... says so" grep -q '^muster: no restart of gen: --max-restarts 1 is used up$' err
ok "... names the rank" grep -q '^muster: rank 1 of gen on node2 failed first: exit 7' err
ok "... ends the other" grep -q 'ended after that: .*ranks 0-1 of train.* by SIGTERM' err
run muster -H $hosts --restart=role --max-restarts 1 --restart-on 3 --role train:2 sleep 1000 : --role gen:2 ./fails 7
is "--restart-on" "$rc" 7
ok "... says so" grep -q '^muster: no restart of gen for exit code 7 ' err

# The same failure again, soon after the start, of all ranks of the role
run muster -H $hosts --restart=role --max-restarts 9 --restart-delay 0 --role train:2 sleep 1000 : --role gen:2 sh -c 'exit 3'
is "all fail alike" "$rc" 3
ok "... says so" grep -q '^muster: no restart of gen: all ranks exited with code 3 within 10 s' err

# Services
cat >waits <<'END'
#!/bin/sh
until [ -e served ]; do sleep 0.05; done
END
cat >serves <<'END'
#!/bin/sh
[ "$MUSTER_GENERATION" != 0 ] || exit 5
: >served
exec sleep 1000
END
chmod +x waits serves
run muster -H $hosts --restart=role --max-restarts 1 --role train:2 ./waits : --role gen:1 --service ./serves
is "a service that fails serves again" "$rc $(wc -l <err)" "0 1"
cat >ends <<'END'
#!/bin/sh
until grep -q 'start again in 1000 s' "$1"; do sleep 0.05; done
END
chmod +x ends
run muster -H $hosts --restart=role --max-restarts 1 --restart-delay 1000 --role train:1 ./ends err : --role gen:2 --service ./fails 5
is "the others end while it waits: success" "$rc" 0

# PMI: an abort ends the role, and its keys are not those of the next generation
cat >aborts.py <<'END'
import os, time
f = os.fdopen(int(os.environ["PMI_FD"]), "r+b", buffering=0)
def say(line):
    f.write(line.encode() + b"\n")
def ask(line):
    say(line)
    answer = b""
    while not answer.endswith(b"\n"):
        answer += f.read(1)
    return answer.decode().strip()
ask("cmd=init pmi_version=1 pmi_subversion=1")
name = ask("cmd=get_my_kvsname").split("kvsname=")[1]
mine = os.environ["MUSTER_GENERATION"] + "." + os.environ["RANK"]
ask("cmd=put kvsname=%s key=of%s value=%s" % (name, os.environ["RANK"], mine))
ask("cmd=barrier_in")
print([ask("cmd=get kvsname=%s key=of%d" % (name, i)).split("value=")[1] for i in (0, 1)], flush=True)
if mine == "0.1":
    while not os.path.exists("printed"):
        time.sleep(0.05)
    say("cmd=abort exitcode=9")
    time.sleep(1000)
if mine[0] == "0":
    open("printed", "w").close()
    time.sleep(1000)
open("again.gen." + mine[2], "w").close()
ask("cmd=finalize")
END
rm -f again.*
run muster -H node1:2,node2:1,node3:1 --restart=role --max-restarts 1 --role train:2 ./goes_on 2 : --role gen:2 aborts.py
is "an abort by PMI" "$rc $(sed -n 's/^gen node[23]:.: //p' out | sort | tr '\n' '|')" \
    "0 ['0.0', '0.1']|['0.0', '0.1']|['1.0', '1.1']|['1.0', '1.1']|"
ok "... says so" grep -q 'gen, generation 1: rank 1 of gen on node3 aborted the run (PMI abort, code 9); 2 ranks' err
run muster -H node1:2,node2:1,node3:1 --restart=role --max-restarts 1 --restart-on 3 --role train:2 sleep 1000 : --role gen:2 aborts.py
is "... that ends the run: its code" "$rc" 9
ok "... and words" grep -q 'rank 1 of gen on node3 aborted the run' err

# What ends the run ends it
start muster -H $hosts --name wait --restart=role --max-restarts 1 --restart-delay 1000 --role train:2 sleep 1000 : --role gen:2 ./fails 7
wait_for 30 grep -q 'start again in 1000 s' err
run muster status wait
is "status: the generation" "$(sed -n 's/^generation: *//p' out)" "1 (at most 1 restarts)"
is "... its ranks are not there, the others run" "$(sed -n 's/^\(train\|gen\) \([01]\) .*\(staying\|running\).*/\1 \2 \3/p' out | tr '\n' '|')" \
    "train 0 running|train 1 running|gen 0 staying|gen 1 staying|"
kill -TERM "$pid"
finish_run 30
is "TERM while a role waits" "$rc" 143
start muster -H $hosts --restart=role --max-restarts 1 --restart-delay 1000 --role train:2 sleep 1000 : --role gen:2 ./fails 7
wait_for 30 grep -q 'start again in 1000 s' err
kill -KILL "$(pgrep -P "$pid" | tail -n 1)"
finish_run 30
is "a node is lost while its role waits" "$rc" 69
ok "... says so" grep -q 'node2  staying  muster-agent was killed by SIGKILL' err

# It cannot start again: its directory is gone.
mkdir gone
cat >leaves <<'END'
#!/bin/sh
[ "$RANK" = 0 ] || exec sleep 1000
rmdir ../gone
exit 5
END
chmod +x leaves
run muster -H $hosts --restart=role --max-restarts 2 --role train:2 sleep 1000 : --role gen:2 --cwd "$PWD/gone" ../leaves
is "no start of the next generation: its status" "$rc" 126
ok "... names the node" grep -q '^muster: no restart: not every node is there (node2)$' err
ok "... and what is wrong there" grep -q 'node2  prepare  cannot enter the working directory' err

# A hang is of all roles, also where one has started again.
cat >hangs <<'END'
#!/bin/sh
echo "$MUSTER_GENERATION"
case $MUSTER_ROLE.$MUSTER_GENERATION in
gen.0) exit 5 ;;
gen.2 | train.1) exit 0 ;;
esac
exec sleep 1000
END
chmod +x hangs
run muster -H $hosts --restart=role --max-restarts 2 --restart-delay 0 --hang-timeout 1 --role train:1 ./hangs : --role gen:1 ./hangs
is "a hang starts all roles again" "$rc $(sort out | tr '\n' '|')" \
    "0 gen node1:0: 0|gen node1:0: 1|gen node1:0: 2|train node1:0: 0|train node1:0: 1|"
ok "... says so" grep -q '^muster: generation 1: hang: .*; 2 ranks on 2 nodes start again; restart 1 of 2$' err

# A launcher that was killed: no number is used twice
start muster -H $hosts --name again-role --restart=role --max-restarts 1 --restart-delay 1000 --role train:2 \
    sh -c '[ "$MUSTER_GENERATION" = 2 ] || exec sleep 1000' : --role gen:2 sh -c 'echo $MUSTER_GENERATION; [ "$MUSTER_GENERATION" = 2 ]'
is_generation_1() {
    muster status again-role 2>/dev/null | grep -q '^generation: *1 '
}
wait_for 30 is_generation_1
kill -KILL "$pid"
finish_run 30
run muster resume again-role
is "resume" "$rc $(sort out | tr '\n' '|')" "0 gen node2:0: 2|gen node2:1: 2|"

# refused WORDS OPTIONS...
refused() {
    words=$1
    shift
    run muster -H $hosts --dry-run "$@"
    is "refused: $*" "$rc" 2
    ok "... $words" grep -q -- "$words" err
}
refused "--restart=role needs roles" --restart role --max-restarts 1 true
refused "Add --max-restarts=N" --restart role --role a:1 true
refused "--stdin cannot be used together with --restart=role" --restart role --max-restarts 1 --stdin all --role a:1 true
refused "is not one of run|role" --restart all --max-restarts 1 true
ok "nothing is left" no_leftovers
finish
