#!/bin/sh
# Roles: several scripts in one run, each with a world of its own, one fate for all.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

hosts=node1:2,node2:2
printf 'te1 slots=4\nte2 slots=4\nte3 slots=2\n' >hosts
: >a.py
cp a.py b.py

# slots OPTIONS...: the slots of each node, by role, or the error
slots() {
    run muster --dry-run --hostfile hosts --json plan.json "$@"
    if [ "$rc" = 0 ]; then
        json plan.json '" ".join("%s/%s:%s" % (n["role"], n["host"], ",".join(map(str, n["slots"]))) for n in d["nodes"])'
    else
        echo "$rc $(tail -n 1 err)"
    fi
}
is "slots in the order of roles and hosts" "$(slots --role train:6 a.py : --role gen:3 b.py)" \
    "train/te1:0,1,2,3 train/te2:0,1 gen/te2:2,3 gen/te3:0"
is "the last role takes what is left" "$(slots --role train:8 a.py : --role gen b.py)" \
    "train/te1:0,1,2,3 train/te2:0,1,2,3 gen/te3:0,1"
is "one role is a run, too: torchrun's --role NAME" "$(slots --num_nodes 1 --role trainer a.py)" \
    "trainer/te1:0,1,2,3"
is "a role's own hosts" "$(slots --role train:4 --include te2 a.py : --role gen:4 -i te1@te2 b.py)" \
    "train/te2:0,1,2,3 gen/te1:0,1,2,3"
is "... among those of the run" "$(slots --include te1@te3 --role train:4 a.py : --role gen -e te1 b.py)" \
    "train/te1:0,1,2,3 gen/te3:0,1"
is "a role of --per-node takes hosts" "$(slots --role train:2 a.py : --role gen:2 --per-node b.py)" \
    "train/te1:0,1 gen/te1:2,3 gen/te2:0,1,2,3"
is "too few slots" "$(slots --role train:8 a.py : --role gen:3 b.py)" \
    "2 muster: error: --role gen:3: it gets only 2 slots; name more, or ask for fewer"
is "too few hosts" "$(slots --role train:8 a.py : --role gen:2 --per-node b.py)" \
    "2 muster: error: --role gen:2: it gets only 1 host; name more, or ask for fewer"
is "none at all" "$(slots --role train:10 a.py : --role gen b.py)" \
    "2 muster: error: --role gen: no slot is left for it; name more hosts"
is "hosts that are not there" "$(slots --role train:2 -i te9 a.py : --role gen b.py)" \
    "2 muster: error: --role train: --include: no host 'te9' in the hostfile"

# A file of roles
cat >roles <<'END'
# the trainer
train:2 --env 'A=a b' sh -c 'echo "$RANK $A" "$@"' x "1 \" 2" \# 3 # not this

gen:2 sh -c "echo \$RANK"
END
run muster -H $hosts --roles roles
is "--roles FILE" "$rc $(sort out | tr '\n' '|')" \
    '0 gen node2:0: 0|gen node2:1: 1|train node1:0: 0 a b 1 " 2 # 3|train node1:1: 1 a b 1 " 2 # 3|'
run muster -H $hosts --roles roles a.py
is "... has the scripts: 2" "$rc" 2
ok "... says so" grep -q "roles: the roles are in that file, not also 'a.py'" err
printf 'train:2 a.py\ngen:2 "b.py\n' >bad
run muster -H $hosts --roles bad
is "a line that is wrong: 65" "$rc" 65
ok "... is named" grep -q 'bad:2: " without its end' err

# What a rank finds
cat >about <<'END'
#!/bin/sh
env | grep -E '^(RANK|WORLD_SIZE|LOCAL_RANK|LOCAL_WORLD_SIZE|NODE_RANK|GROUP_WORLD_SIZE|MASTER_|MUSTER_ROLE|ONLY|BOTH)' |
    sort >"env.$MUSTER_ROLE.$RANK"
END
chmod +x about
# of ROLE.RANK NAME
of() {
    sed -n "s/^$2=//p" "env.$1"
}
run muster -H $hosts --env BOTH=1 --role train-a:3 --env ONLY=a ./about : --role gen --cwd "$PWD" ./about
is "it runs" "$rc" 0
# shellcheck disable=SC2012
is "ranks count from 0 in each role" "$(ls env.* | tr '\n' ' ')" \
    "env.gen.0 env.train-a.0 env.train-a.1 env.train-a.2 "
is "a world of three" "$(for n in WORLD_SIZE RANK LOCAL_RANK LOCAL_WORLD_SIZE NODE_RANK GROUP_WORLD_SIZE ONLY BOTH; do of train-a.2 $n; done | tr '\n' ' ')" \
    "3 2 0 1 1 2 a 1 "
is "a world of one, on the same host" "$(for n in WORLD_SIZE RANK LOCAL_RANK LOCAL_WORLD_SIZE NODE_RANK GROUP_WORLD_SIZE ONLY BOTH; do of gen.0 $n; done | tr '\n' ' ')" \
    "1 0 0 1 0 1 1 "
is "all roles by name" "$(of gen.0 MUSTER_ROLES) $(of gen.0 MUSTER_ROLE)" "train-a gen gen"
is "where the others are" "$(of gen.0 MUSTER_ROLE_TRAIN_A_ADDR):$(of gen.0 MUSTER_ROLE_TRAIN_A_PORT) $(of gen.0 MUSTER_ROLE_TRAIN_A_SIZE)" \
    "$(of train-a.0 MASTER_ADDR):$(of train-a.0 MASTER_PORT) 3"
is "... to both" "$(of train-a.2 MUSTER_ROLE_GEN_ADDR):$(of train-a.2 MUSTER_ROLE_GEN_PORT) $(of train-a.2 MUSTER_ROLE_GEN_SIZE)" \
    "$(of gen.0 MASTER_ADDR):$(of gen.0 MASTER_PORT) 1"
ok "two roles, two ports" test "$(of gen.0 MASTER_PORT)" != "$(of train-a.0 MASTER_PORT)"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
run muster -H $hosts --role train:3 ./about : --role gen --master_port "$port" ./about
is "a role's own port" "$rc $(of gen.0 MASTER_PORT) $(of train.0 MUSTER_ROLE_GEN_PORT)" "0 $port $port"
# GO brings two variables for each role.
for name in a b c d e f g h; do
    set -- "$@" ${1+:} --role "$name:1" sh -c 'env | grep -c "^MUSTER_ROLE_[A-H]_PORT="'
done
run muster -H "node[1-8]:1" --label none "$@"
set --
is "eight roles know eight ports" "$rc $(sort out | uniq -c | tr -d ' ')" "0 88"

# One fate
cat >fails <<'END'
#!/bin/sh
[ "$MUSTER_ROLE $RANK $MUSTER_GENERATION" = "gen 1 0" ] && exit 7
[ "$MUSTER_GENERATION" = 1 ] || exec sleep 1000
echo "again $MUSTER_ROLE_TRAIN_PORT $MUSTER_ROLE_GEN_PORT"
END
chmod +x fails
run muster -H $hosts --json end.json --role train:2 ./fails : --role gen:2 ./fails
is "a rank of one role fails: its status" "$rc" 7
ok "... names rank and role" grep -q '^muster: rank 1 of gen on node2 failed first: exit 7' err
ok "... and the others" grep -q 'ended after that: ranks 0-1 of train, rank 0 of gen by SIGTERM' err
is "... in JSON, too" "$(json end.json '(d["first_failure"]["role"], d["first_failure"]["rank"], [(r["role"], r["rank"]) for r in d["results"]])')" \
    "('gen', 1, [('train', 0), ('train', 1), ('gen', 0), ('gen', 1)])"
run muster -H $hosts --max-restarts 1 --restart-delay 0 --log-dir "$PWD/logs" --role train:2 ./fails : --role gen:2 ./fails
is "--max-restarts starts all again" "$rc $(sed -n 's/.*: again/again/p' out | sort -u | wc -l)" "0 1"
ok "... says why" grep -q 'generation 1: rank 1 of gen on node2: exit 7; 4 ranks on 2 nodes start again' err
is "... with other ports" "$(sed -n 's/.*: again \([0-9]*\) \([0-9]*\)$/\1 \2/p' out | sort -u | awk '{ print ($1 != $2) }')" 1
# shellcheck disable=SC2012
is "log files have the role in their names" "$(ls logs | sed 's/^[0-9]*-[0-9]*-[0-9a-f]*-//' | sort | tr '\n' ' ')" \
    "gen-1_rank0.log gen-1_rank1.log gen_rank0.log gen_rank1.log train-1_rank0.log train-1_rank1.log train_rank0.log train_rank1.log "

# Services
cat >serves <<'END'
#!/bin/sh
exec 2>/dev/null
trap 'echo bye; exit 3' TERM
sleep 1000 &
: >"serves.$RANK"
wait
END
cat >waits <<'END'
#!/bin/sh
until [ -e serves.0 ] && [ -e serves.1 ]; do sleep 0.05; done
exit "$1"
END
chmod +x serves waits
run muster -H $hosts --role train:2 ./waits 0 : --role gen:2 --service ./serves
is "--service ends with the others, which decide" "$rc" 0
is "... in silence" "$(cat err)" ""
rm serves.*
run muster -H $hosts --role train:2 ./waits 5 : --role gen:2 --service ./serves
is "... when they fail, too" "$rc" 5
rm serves.*
run muster -H $hosts --role train:2 sleep 1000 : --role gen:2 --service false
is "a service that fails ends the run" "$rc" 1

# What is shown
run muster -H $hosts --role train:2 echo x : --role gen:2 echo x
is "labels" "$(sort out | tr '\n' '|')" "gen node2:0: x|gen node2:1: x|train node1:0: x|train node1:1: x|"
run muster -H $hosts --name seen --label rank --show-ranks 1 --role train:3 echo x : --role gen echo x
is "--label rank, --show-ranks in each role" "$(cat out)" "[train 1] x"
run muster status
ok "status shows what was typed" grep -q -- '--role=train:3 echo x : --role=gen echo x' out
run muster status seen
is "... and rank and role" "$(sed -n 's/^\(train\|gen\) \([0-9]\) .*exit 0.*/\1 \2/p' out | tr '\n' '|')" "train 0|train 1|train 2|gen 0|"
run muster -H $hosts --dry-run --role train:3 a.py : --role gen --env B=1 b.py
ok "--dry-run: roles" grep -q '^role train: 3 ranks on 2 nodes$' out
ok "... their environment" grep -q '^environment: B$' out
ok "... their ranks" grep -q '^  rank 2, CUDA_VISIBLE_DEVICES=0$' out

# A run whose launcher was killed
export SECRET=hidden
start muster -H $hosts --name exp --role train:2 --env SECRET=hidden sh -c '[ "$MUSTER_GENERATION" = 1 ] || exec sleep 1000' : --role gen:2 sh -c 'echo $MUSTER_GENERATION $RANK; [ "$MUSTER_GENERATION" = 1 ] || exec sleep 1000'
wait_for 20 lines out 2
kill -KILL "$pid"
finish_run 20
ok "no value of a variable is kept" not grep -rq hidden "$HOME"
run muster resume exp
is "resume starts all roles again" "$rc $(sort out | tr '\n' '|')" "0 gen node2:0: 1 0|gen node2:1: 1 1|"

# MPI: each role is a world
if command -v mpicc.mpich >/dev/null; then
    cat >world.c <<'END'
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, sum;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("%d of %d, sum %d\n", rank, size, sum);
    return MPI_Finalize();
}
END
    mpicc.mpich -o world world.c
    run muster -H node1:2,node2:3 --role one:2 ./world : --role two:3 ./world
    is "MPI programs: a world for each role" "$rc $(sort out | tr '\n' '|')" \
        "0 one node1:0: 0 of 2, sum 1|one node1:1: 1 of 2, sum 1|two node2:0: 0 of 3, sum 3|two node2:1: 1 of 3, sum 3|two node2:2: 2 of 3, sum 3|"
else
    skip "MPI programs: a world for each role" "no mpicc.mpich"
fi

# refused WORDS OPTIONS...
refused() {
    words=$1
    shift
    run muster -H $hosts --dry-run "$@"
    is "refused: $(echo "$*" | cut -c 1-60)" "$rc" 2
    ok "... $words" grep -q -- "$words" err
}
refused "--roles roles: the roles are in that file, not also '--role'" --roles roles --role a:1 true
refused "--role a: how many ranks? Write --role a:N" --role a true : --role b:1 true
refused "--role A-1: there is a role a_1 already" --role a_1:1 true : --role A-1:1 true
refused "--role: '1' is not a name of a role" --role 1:2 true
refused "--role: '0' is not a number from 1" --role a:0 true
refused "--role a: no script to run" --role a:1 : --role b true
refused "after ':' comes --role NAME:N, not 'true'" --role a:1 true : true
refused "nothing follows the last ':'" --role a:1 true :
refused "--grace belongs before the first --role" --role a:1 --grace 3 true : --role b true
refused "-np cannot be used together with --role" -np 2 --role a:1 true
refused "--master_port belong behind a --role" --master_port 29500 --role a:1 true
refused "with --role the nodes of a run are fixed: .*; leave them out, or give the elastic role a run" --nnodes 1:2 --role a:1 true
refused "--no_ssh cannot be used together with --role: .*; leave --no_ssh and --node_rank out" --no_ssh --node_rank 0 --role a:1 true
refused "--stdin=RANK and --pty cannot be used .*: write --stdin=all, or give that role a run" --stdin 0 --role a:1 true
refused "--service belongs behind a --role" --service --role a:1 true
refused "nothing would end the run" --role a:1 --service true
refused "':' before '-np': for several scripts write --role NAME:N" -np 2 true : -np 2 false
refused "':' before 'false'" -np 2 true : false
run muster -H node1:1 -- echo a : -np 2
is "after -- a ':' is an argument" "$rc $(cat out)" "0 a : -np 2"
run muster -H node1:1 echo a : b
is "... and where no program follows" "$rc $(cat out)" "0 a : b"
ok "nothing is left" no_leftovers
finish
