#!/bin/sh
# Row 46: MASTER_PORT is taken on node 0. Another one is chosen, and held until the ranks start;
# one that was asked for is an error that names who has it. Whoever takes it after that, before
# rank 0 can, makes all ranks start again with another one.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

need world
script_file hold <<'END'
#!/usr/bin/env python3
import socket, sys, time
s = socket.socket()
s.bind(("", int(sys.argv[1])))
s.listen()
print("held", flush=True)
time.sleep(100)
END
rank_does <<'END'
echo "$MASTER_PORT"
# What rank 0 does: it must be able to listen there.
[ "$RANK" != 0 ] || python3 -c 'import os, socket
s = socket.socket()
s.bind(("", int(os.environ["MASTER_PORT"])))
s.listen()'
END
ports() {
    sort -u out | cut -d' ' -f2 | sort -u | tr '\n' ' '
}
control 4 -H node1:2,node2:2 ./rank
faulty -H node1:2,node2:2 ./rank
is "free: 29500" "$rc $(ports)" "0 29500 "
./hold 29500 >held &
holder=$!
test_pids="$test_pids $holder"
wait_for 10 grep -q held held
faulty -H node1:2,node2:2 ./rank
within "muster returns" 5 "$began"
ended 0
ok "taken: another one, the same for all" sh -c "echo '$(ports)' | grep -Eqx '[0-9]+ '"
ok "... which is not 29500" test "$(ports)" != "29500 "
faulty --master_port 29500 -H node1:2,node2:2 ./rank
ended 73
says "29500.*held by pid $holder \(hold\)|29500.*held by pid $holder"
ok "no rank was started" all_ran 0
kill "$holder"

# Between the agent's letting go and rank 0's bind: each rank says which generation it is of and
# waits for the thief, who takes the port of as many generations as he is told to.
script_file thief <<'END'
#!/usr/bin/env python3
import os, socket, sys, time
held = []
for generation in range(int(sys.argv[1])):
    while not os.path.exists(f"wanted-{generation}"):
        time.sleep(0.01)
    held.append(socket.socket())
    held[-1].bind(("", int(open(f"wanted-{generation}").read())))
    held[-1].listen()
    open(f"stolen-{generation}", "w").close()
time.sleep(100)
END
script_file bind <<'END'
#!/usr/bin/env python3
import os, socket
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("", int(os.environ["MASTER_PORT"])))
s.listen()
END
rank_does <<'END'
generation=$MUSTER_GENERATION
echo "generation $generation $TORCHELASTIC_RESTART_COUNT"
if [ "$generation" -lt "$THEFTS" ]; then
    [ "$RANK" != 0 ] || { echo "$MASTER_PORT" >wanted; mv wanted "wanted-$generation"; }
    while [ ! -e "stolen-$generation" ]; do sleep 0.01; done
fi
case $RANK,$HOW in
0,bind) exec ./bind ;;
0,other) exit 9 ;;
0,*) exec sleep 1000 ;;
1,well) exit 0 ;;
3,stranger) exit 4 ;;
3,well) # muster has been told of rank 1's end
    until grep -q 'node1: -> EXIT' err; do sleep 0.02; done
    exit 4 ;;
esac
[ "$generation" = "$THEFTS" ] || exec sleep 1000
END
# steal THEFTS HOW ARGUMENTS...: a thief takes MASTER_PORT in so many generations.
steal() {
    rm -f wanted-* stolen-*
    thefts=$1
    how=$2
    shift 2
    ./thief "$thefts" &
    thief=$!
    test_pids="$test_pids $thief"
    faulty --env THEFTS="$thefts" --env HOW="$how" --grace 1 -H node1:2,node2:2 "$@" ./rank
    kill "$thief"
    wait "$thief" 2>/dev/null
}
generations() {
    sed 's/.*: //' out | sort | uniq -c | tr -s ' \n' ' '
}
taken_by_thief() {
    says "node1: MASTER_PORT 29500 was taken by pid $thief \((thief|python3)\) of root"
}
control 4 --env HOW=bind --env THEFTS=0 -H node1:2,node2:2 ./rank

steal 1 bind --log-dir logs
ended 0
within "stolen once: muster returns" 5 "$began"
is "... all ranks were started twice" "$(generations)" \
    " 4 generation 0 0 4 generation 1 1 "
taken_by_thief
says "4 ranks on 2 nodes start again$"
ok "... a file for each rank and generation" test "$(ls logs | wc -l)" = 8
ok "--json tells the generation, and of its ranks" json_says end.json \
    'd["generation"] == 1 and all(r["code"] == 0 for r in d["results"])'

steal 1 stranger
ended 4
ok "another rank fails, who met a stranger there: started again" \
    grep -q "generation 1" out
taken_by_thief

steal 3 bind
is "stolen each time: the rank's own code" "$rc" 1
is "... after the third start" "$(generations)" \
    " 4 generation 0 0 4 generation 1 1 4 generation 2 2 "
says "MASTER_PORT 29502 was taken" "rank 0 on node1 failed first: exit 1"

steal 1 bind --master_port 29500
is "a port that was asked for: the rank's own code" "$rc" 1
is "... and no second start" "$(generations)" " 4 generation 0 0 "
taken_by_thief
says "without --master_port"

steal 1 well -vv
is "one rank has ended well: no second start" "$rc $(generations)" "4  4 generation 0 0 "
taken_by_thief

steal 1 bind --restart=role --max-restarts 1 --role other:2 true : --role taken:2
is "the port of a role that starts again for itself" "$rc $(generations)" "0  2 generation 0 0 2 generation 1 1 "
says "node2: MASTER_PORT 29501 was taken by pid $thief \((thief|python3)\) of root" "2 ranks on 1 node start again$"

steal 0 other
is "a rank that fails for another reason: its code" "$rc" 9
ok "... and no second start" not grep -q "generation 1" out
says_not "MASTER_PORT"
finish
