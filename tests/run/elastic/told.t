#!/bin/sh
# What may follow a notice: ranks save and end at once, the agent of a node gets TERM, and a machine
# that its cloud has taken is there again.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

# Told, rank 0 saves; with CODE all end with that. TERM is not for them.
script_file rank <<'END'
#!/usr/bin/env python3
import os, signal, time
now, rank, code = os.environ["MUSTER_GENERATION"], os.environ["RANK"], os.environ.get("CODE")
def told(*_):
    if rank == "0":
        with open("new", "w") as file:
            file.write(f"step-of-{now}\n")
        os.rename("new", "save")
    if code is not None:
        os._exit(int(code))
signal.signal(signal.SIGUSR1, told)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(f"up-{now}-{rank}.new", "w") as file:
    file.write(str(os.getpid()))
os.rename(f"up-{now}-{rank}.new", f"up-{now}-{rank}")
while not os.path.exists(f"go-{now}"):
    time.sleep(0.05)
END
both_run() {
    [ -e "up-$1-0" ] && [ -e "up-$1-1" ]
}
says() {
    grep -Eq -e "$1" err
}
# began ARG...: two nodes run, and a third one waits.
began() {
    rm -f up-* go-* save
    start muster -v --spares 1 --grace "${grace:-1}" --spot off --ckpt-marker save --json end.json \
        -H node1:1,node2:1,node3:1 "$@" ./rank
    ok "two nodes run, one waits" wait_for 20 says 'node3: checked; it waits for a place'
    ok "... they run" wait_for 20 both_run 0
}
# ends_well: the next generation does, with node3 in the place of node2.
ends_well() {
    ok "the next generation runs" wait_for 20 both_run 1
    touch go-1
    finish_run 20
    is "... and ends well" "$rc" 0
    ok "... without node2" json_says end.json \
        'sorted({r["node"] for r in d["results"]}) == ["node1", "node3"]'
}
agent_of_node2() {
    pgrep -P "$pid" -f 'muster-agent --nonce' | sed -n 2p
}
rank_of_node2() {
    cat up-0-1
}

# Meanwhile a cloud takes a machine.
"$here/elastic/spot_service.py" port &
test_pids="$test_pids $!"
ok "a metadata service" wait_for 10 [ -e port ]
mkdir back
(cd back && MUSTER_TEST_TAG=$tag exec muster -v --max-wait 300 --grace 1 \
    --spot "http://127.0.0.1:$(cat ../port)/goes/9" -H node1:1 ../rank >out 2>err </dev/null) &
taken=$!
test_pids="$test_pids $taken"

began --name ends --env CODE=3
muster drain --within 100 ends node2 >drained 2>&1
ends_well
# Whether it is heard first that a rank has ended, or that rank 0 has saved.
ok "... at no cost of restarts, which is said" wait_for 20 says \
    'generation 1: (rank . on node.: exit 3, after the notice|node node2 leaves \(muster drain\)); node3 takes the place of node2'
is "... and what was saved at last is seen" \
    "$(grep -c 'checkpoint written after .* save (step-of-0)' err) $(grep -c 'NO CHECKPOINT' err)" "1 0"

began --name down
kill -TERM "$(agent_of_node2)"
ends_well
reason="its machine, Pod or login session is ending: muster's agent received SIGTERM"
ok "TERM to an agent whose ranks live on is a notice" \
    says "node2 leaves in .* s \($reason\)"
is "... at which they save" "$(grep -c 'checkpoint written after .* save (step-of-0)' err)" 1
ok "... and no sign of a spot market" json_says end.json \
    '{n["class"] for n in d["cost"]["nodes"]} == {"unknown"}'

began --name dead --dead-after 900
kill -STOP "$(agent_of_node2)"
kill -KILL "$(rank_of_node2)"
kill -TERM "$(agent_of_node2)"
kill -CONT "$(agent_of_node2)"
ends_well
ok "if a rank is dead the node is lost" \
    says "generation 1: node node2 lost \(the login session ended \(SIGTERM to muster's agent\)\)"
ok "... and nobody waits for the lease of an agent that has seen to the rest" json_says end.json \
    'd["generations"][1]["first_start"] - d["generations"][0]["last_end"] < 600'

grace=$(stretched 6)
began --name stops --max-restarts 1
kill -KILL "$(rank_of_node2)"
ok "a generation that is stopping" wait_for 20 sh -c 'muster status | grep -q stopping'
is "... is not the last one: a node can be drained" \
    "$(muster drain --within 0 stops node2 2>&1)" "1 node will leave within 0 s"
ends_well

in_back() {
    (cd back && "$@")
}
ok "the machine is to go, and the run waits" wait_for 60 in_back says 'waiting for a node'
kill -KILL "$(pgrep -P "$taken" -f 'muster-agent --nonce')"
ok "... it goes" wait_for 20 in_back says 'node1: lost'
ok "another one has its name: the run continues" wait_for 120 [ -e back/up-1-0 ]
touch back/go-1
wait "$taken"
is "... and ends well" $? 0
stamp() {
    sed -n "s/^muster: \([0-9:.]*\) .*$1.*/\1/p" back/err | tail -n 1 |
        awk -F: '{ print $1 * 3600 + $2 * 60 + $3 }'
}
ok "... not before the first one must have gone" awk -v told="$(stamp 'node1 leaves in')" \
    -v back="$(stamp 'node1: waiting -> connecting')" 'BEGIN {
    took = back - told + (back < told) * 86400
    if (took < 30) print "# after " took " s"
    exit took < 30 }'
ok "nothing is left" no_leftovers
finish
