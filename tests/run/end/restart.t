#!/bin/sh
# --max-restarts: all ranks start again in place, once nothing is left of the generation before.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

four="-H node1:2,node2:2"

# Each rank tells its generation what it gets by PMI, and rank 3 leaves a daemon that ignores TERM.
# A lock on the file of its generation is held as long as anything of it lives.
script_file rank <<'END'
#!/usr/bin/env python3
import fcntl, os, signal, time
env = os.environ
rank, now, last = int(env["RANK"]), int(env["MUSTER_GENERATION"]), int(env["LAST"])
if rank == 0 and now > 0:
    try:
        fcntl.flock(os.open(f"alive-{now - 1}", os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("two generations at once")
lock = os.open(f"alive-{now}", os.O_RDWR | os.O_CREAT, 0o666)
fcntl.flock(lock, fcntl.LOCK_SH)
if rank == 3 and os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 1), os.dup2(null, 2)
    time.sleep(1000)
pmi = os.fdopen(int(env["PMI_FD"]), "r+b", buffering=0)
reader = os.fdopen(os.dup(pmi.fileno()), "rb")
def say(line):
    pmi.write(line.encode() + b"\n")
    return reader.readline().decode()
say("cmd=init pmi_version=1 pmi_subversion=1")
kvs = say("cmd=get_my_kvsname").split("kvsname=")[1].strip()
if rank == 2:
    say(f"cmd=put kvsname={kvs} key=word value=of-{now}")
say("cmd=barrier_in")
word = say(f"cmd=get kvsname={kvs} key=word").split("value=")[1].strip()
print("generation", now, "port", env["MASTER_PORT"], "restarts",
      env["TORCHELASTIC_RESTART_COUNT"], "of", env["TORCHELASTIC_MAX_RESTARTS"], word, flush=True)
open(f"said-{now}-{rank}", "w").close()
if now < last and rank == 1:
    while len([n for n in os.listdir(".") if n.startswith(f"said-{now}-")]) < 4:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)
if now < last:
    time.sleep(1000)
say("cmd=finalize")
END

said() {
    sed 's/^node[12]:[0-3]: //; s/ port [0-9]*//' out | sort | uniq -c | sed 's/^ *//' | tr '\n' ';'
}

# Each with the generation that had it.
ports() {
    sed 's/.*\(generation .\) port \([0-9]*\) .*/\1 \2/' out | sort -u
}

# shellcheck disable=SC2086
{
echo "export LAST=2; echo sourced >>'$PWD/sourced'" >venv.sh
run muster --json end.json --log-dir logs --max-restarts 3 --restart-delay 0 --grace 1 --name again-whole \
    --venv_script "$PWD/venv.sh" $four ./rank
is "two ranks are killed, and the third start ends well: 0" "$rc" 0
is "... every rank of each generation meets its own" "$(said)" "$(printf '%s' \
    "4 generation 0 restarts 0 of 3 of-0;" \
    "4 generation 1 restarts 1 of 3 of-1;" \
    "4 generation 2 restarts 2 of 3 of-2;")"
is "... at a port of its own" "$(ports | wc -l) $(ports | cut -d' ' -f3 | sort -u | wc -l)" "3 3"
is "... one line for each restart" "$(grep generation err)" "$(printf 'muster: %s\n' \
    "generation 1: rank 1 on node1: killed by SIGKILL; 4 ranks on 2 nodes start again; restart 1 of 3" \
    "generation 2: rank 1 on node1: killed by SIGKILL; 4 ranks on 2 nodes start again; restart 2 of 3")"
ok "... the venv script is read once on each node" lines sourced 2
is "... a file for each rank and generation" "$(ls logs | wc -l)" 12
ok "... with what that one wrote" sh -c \
    'grep -q "generation 1 " logs/*-1_rank3.log && grep -q "generation 2 " logs/*-2_rank3.log'
ok "--json has all generations" json_says end.json '[(g["generation"], g["exit_status"], g["text"])
    for g in d["generations"]] == [(0, 137, "rank 1 on node1: killed by SIGKILL"),
        (1, 137, "rank 1 on node1: killed by SIGKILL"), (2, 0, None)] and d["generation"] == 2'
ok "... none begins before the one before is gone" json_says end.json \
    'all(a["last_end"] < b["first_start"] for a, b in zip(d["generations"], d["generations"][1:]))'
ok "... and what they cost" json_says end.json \
    'd["cost"]["useful_hours"] > 0 and d["cost"]["lost_hours"] > 0 and len(d["cost"]["nodes"]) == 2'
is "... which the report has, too" "$(grep -c '^cost: .* node hours: .* % useful' err)" 1
ok "nothing is left" no_leftovers

run muster --max-restarts 2 $four sh -c 'exit 2'
is "a usage error: no restart" "$rc $(grep -c 'start again' err)" "2 0"
ok "... and it says why" grep -q 'no restart for exit code 2 (usage; see --restart-on)' err

run muster --max-restarts 9 --restart-on usage $four sh -c 'echo "$MUSTER_GENERATION"; exit 2'
is "--restart-on takes it, but not twice at once" "$rc $(grep -c 'start again' err)" "2 1"
ok "... and it says why" grep -q \
    'no restart: all ranks exited with code 2 within 10 s of the start' err

# Rank 0 is the first, and the others follow it as soon as they see that.
run muster --max-restarts 9 --restart-delay 0 --grace 1 $four sh -c \
    '[ "$RANK" = 0 ] || until [ -e "first-$MUSTER_GENERATION" ]; do sleep 0.02; done
    : >"first-$MUSTER_GENERATION"; exit 3'
is "all ranks fail alike, one after the other: not twice at once" \
    "$rc $(grep -c 'start again' err)" "3 1"
ok "... and it says why" grep -q \
    'no restart: all ranks exited with code 3 within 10 s of the start' err

run muster --max-restarts 3 --restart-delay 0 --grace 1 $four sh -c \
    '[ "$MUSTER_GENERATION" != 3 ] || exit 0; [ "$RANK" != 1 ] || exit 3; exec sleep 1000'
is "one rank alone may fail again and again" "$rc $(grep -c 'start again' err)" "0 3"
is "... and at last its node is named" \
    "$(sed -n 's/^muster: warning: \(node[0-9]: .* likely cause\)$/\1/p' err)" \
    "node1: 3 generations ended because of this node, 3 of them because a rank on it failed\
 first: it is the likely cause"

run muster --max-restarts 5 $four /no/such/program
is "what cannot be executed is not started again" "$rc $(grep -c restart err)" "127 0"

run muster --max-restarts 2 --restart-on killed,x $four true
is "a wrong --restart-on: 2" "$rc" 2
ok "... which is named" grep -q -e "--restart-on: 'x' is neither an exit code" err
run muster --no_ssh --node_rank 0 --max-restarts 2 $four true
is "with --no_ssh: 2" "$rc" 2

# Rank 0 closes the connection first, so that it is in TIME_WAIT on MASTER_PORT.
script_file meet <<'END'
#!/usr/bin/env python3
import os, signal, socket, time
at = ("127.0.0.1", int(os.environ["MASTER_PORT"]))
if os.environ["RANK"] == "0":
    server = socket.create_server(at)
    server.accept()[0].close()
    print("port", at[1], flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
while True:
    try:
        socket.create_connection(at).recv(1)
        break
    except OSError:
        time.sleep(0.02)
time.sleep(1000)
END
port=$((20000 + $$ % 9000))
run muster --master_port $port --max-restarts 1 -H node1:2 ./meet
is "a MASTER_PORT that the user gave stays" "$rc $(sort out | uniq -c | tr -s ' \n' ' ')" \
    "137  2 node1:0: port $port "
ok "... until no restart is left" grep -q 'no restart: --max-restarts 1 is used up' err

run muster --heartbeat 0.1 --hang-timeout 0.5 --max-restarts 2 --restart-delay 0 $four \
    sh -c 'echo "$MUSTER_GENERATION"; [ "$MUSTER_GENERATION" = 2 ] || exec sleep "7$MUSTER_GENERATION"'
is "a hang, twice: all start again" "$rc $(grep -c ': 2$' out)" "0 4"
ok "... and it says so" grep -q 'generation 1: hang: .*; restart 1 of 2' err
ok "... after the stacks" awk '/\| ranks? [0-9,-]+ on .*node/ { told = 1 } /restart 1 of 2/ { ok = told }
    END { exit !ok }' err
is "... those of the last one are kept" \
    "$(grep -ho 'sleep 7[01]' "$HOME"/.local/state/muster/runs/*/stacks.txt | sort -u)" "sleep 71"

start muster --max-restarts 3 --restart-delay 300 $four \
    sh -c 'test $RANK != 2 || kill -9 $$; sleep 1000'
ok "it waits before it starts again" wait_for 20 \
    grep -q 'start again in 300 s; restart 1 of 3' err
ok "muster status knows" wait_for 20 sh -c 'muster status | grep -q restarting'
muster status "$(muster status | sed -n 2p | cut -d' ' -f1)" >status
ok "... the generation" grep -q '^generation: 1 (at most 3 restarts)' status
kill -INT "$pid"
finish_run 20
is "Ctrl-C ends the wait" "$rc" 130
ok "... and nothing is left" no_leftovers
}
finish
