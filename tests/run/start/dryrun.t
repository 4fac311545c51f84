#!/bin/sh
# The plan is DeepSpeed's: hostfile, filters, ranks, devices, the command of a rank.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

: >train.py
printf 'worker-0 slots=4\nworker-1 slots=4\n' >pool

# plan ARGUMENTS...: the nodes and slots that muster would use, or why not.
plan() {
    run muster --dry-run --json plan.json "$@"
    if [ "$rc" = 0 ]; then
        json plan.json '" ".join(n["host"] + ":" + ",".join(map(str, n["slots"])) for n in d["nodes"])'
    else
        echo "exit $rc"
    fi
}

hostfile() {
    printf '%b' "$1" >hosts
    plan --hostfile=hosts train.py
}

# Hostfile
is "two hosts" "$(plan --hostfile=pool train.py)" "worker-0:0,1,2,3 worker-1:0,1,2,3"
is "a file without newline at its end" "$(hostfile 'te1 slots=2')" "te1:0,1"
is "tab, CRLF, leading blanks" "$(hostfile '  te1\tslots=2\r\n')" "te1:0,1"
is "comments and blank lines" "$(hostfile '# a\n\n  # b\nte1 slots=1 # c\n')" "te1:0"
is "leading zero" "$(hostfile 'te1 slots=02\n')" "te1:0,1"
is "max_slots is passed over" "$(hostfile 'te1 slots=2 max_slots=8\n')" "te1:0,1"
is "a range of hosts" "$(hostfile 'node[08-10] slots=1\n')" "node08:0 node09:0 node10:0"
for line in 'te1 slots=-1' 'te1 slots =4' 'te1 slots= 4' 'te1 Slots=4' \
    'te1 foo slots=4' 'te1 slots=0' 'te1 slots=4\nte1 slots=4' '# only' \
    '-oProxyCommand=x slots=1' 'a;b slots=1'; do
    is "refused: $line" "$(hostfile "$line\\n")" "exit 65"
done
hostfile 'te1 slots=1\nte2 slots=x\n' >/dev/null
ok "the error names file and line" grep -q 'hosts:2:' err
is "a list of hosts is no hostfile" "$(plan --hostf te1:2,te2:2 train.py)" "exit 65"
is "more ranks than a node can have" "$(hostfile 'te1 slots=1\nte2 slots=1025\n')" "exit 2"
ok "... names file and line" grep -q 'hosts:2: te2: 1025 ranks are more than the 1024' err
is "... fewer are fine" "$(plan --hostfile=hosts -np 3 train.py)" "te1:0 te2:0,1"
is "... by another way" "$(plan -np 1048576 train.py)" "exit 2"
is "... or in all" "$(plan -H 'te[1-1025]:1024' train.py)" "exit 2"
ok "... names the host" grep -q 'te1025: with its 1024 ranks the run has more than the maximum of 1048576' err
is "no hostfile: this machine" "$(plan --num_gpus=2 train.py)" "localhost:0,1"
is "one that is named must exist" "$(plan --hostfile=none train.py)" "exit 65"
ok "... and is named" grep -q 'hostfile none: No such file' err
is "-H as horovodrun" "$(plan -H te1:2,te2:1 train.py)" "te1:0,1 te2:0"
is "-H with a range" "$(plan -H 'node[1-3]:1' train.py)" "node1:0 node2:0 node3:0"
is "-H as deepspeed: a file" "$(plan -H ./pool train.py)" "worker-0:0,1,2,3 worker-1:0,1,2,3"

# Filters
filter() {
    plan --hostfile=pool "$@" train.py
}
all="worker-0:0,1,2,3 worker-1:0,1,2,3"
is "slots of one host" "$(filter -i worker-1:0,2)" "worker-1:0,2"
is "slots are sorted and merged" "$(filter -i worker-1:2,0@worker-1:0)" "worker-1:0,2"
is "order is the hostfile's" "$(filter -i worker-1:0@worker-0:1)" "worker-0:1 worker-1:0"
is "a bare host is all its slots" "$(filter -i worker-0)" "worker-0:0,1,2,3"
is "a bare host beside slots" "$(filter -i worker-0@worker-1:0,2)" "worker-0:0,1,2,3 worker-1:0,2"
is "exclude a slot" "$(filter -e worker-1:0)" "worker-0:0,1,2,3 worker-1:1,2,3"
is "exclude a host" "$(filter -e worker-0)" "worker-1:0,1,2,3"
for bad in '-i worker-1:9' '-i jeff' '-i jeff:0' '-e jeff' '-e worker-1:4' '-e worker-0@worker-1' \
    '-i worker-0:' '-i worker-0:0,' '-i worker-0:a' '-i worker-0:0-2' '-i worker-0:0:1' '-i @' \
    '-i worker-0 -e worker-1' '-i worker-0 --num_nodes=1' '-i worker-0 --num_nodes=0' \
    '-e worker-0:1 --num_gpus=1'; do
    # shellcheck disable=SC2086
    is "refused: $bad" "$(filter $bad)" "exit 2"
done
is "num_nodes" "$(filter --num_nodes 1)" "worker-0:0,1,2,3"
is "... of a run that may continue with others" "$(filter --num_nodes 1 --max-restarts 1)" \
    "worker-0:0,1,2,3"
is "... with -np" "$(filter --num_nodes 1 -np 5 --max-restarts 1)" "exit 2"
is "more nodes than there are, that may restart" "$(filter --num_nodes=9 --max-wait=1m)" "exit 2"
is "no nodes, that may restart" "$(filter --num_nodes=0 --max-restarts 1)" "exit 2"
is "more nodes than there are" "$(filter --num_nodes=9)" "exit 2"
ok "... says how many there are" grep -q -- '--num_nodes 9: there are only 2' err
is "no nodes" "$(filter --num_nodes=0)" "exit 2"
is "no GPUs" "$(filter --num_gpus=0)" "exit 2"
ok "... says so" grep -q -- '--num_gpus 0 leaves nothing to run on' err
is "num_gpus replaces the slots" "$(filter --num_gpus=2)" "worker-0:0,1 worker-1:0,1"
is "num_accelerators is the same" "$(filter --num_accelerators=1)" "worker-0:0 worker-1:0"
is "-np takes the first slots" "$(filter -np 5)" "worker-0:0,1,2,3 worker-1:0"

# Command line
is "unique prefix" "$(filter --num_g 1)" "worker-0:0 worker-1:0"
is "ambiguous prefix" "$(filter --no_)" "exit 2"
ok "... names what it could be" grep -q no_python err
is "unknown option" "$(filter --epochs 3)" "exit 2"
is "a value that begins with - needs =" "$(filter --include -x)" "exit 2"
for refused in --autotuning=run --launcher=slurm; do
    is "refused with an explanation: $refused" "$(filter $refused)" "exit 2"
    ok "... that names it" grep -q -e "${refused%%=*}" err
done
run muster --dry-run
is "no script" "$rc" 2

# The command of a rank
argv() {
    run muster --dry-run --json plan.json -H te1:1 "$@"
    json plan.json 'd["command"]'
}
python3=$(command -v python3)
is "python: -u, script, --local_rank, arguments" "$(argv train.py --num_nodes 7 -- x)" \
    "['$python3', '-u', 'train.py', '--local_rank=0', '--num_nodes', '7', '--', 'x']"
is "one -- before the script is eaten" "$(argv -- train.py -x)" \
    "['$python3', '-u', 'train.py', '--local_rank=0', '-x']"
is "--no_local_rank" "$(argv --no_local_rank train.py)" "['$python3', '-u', 'train.py']"
is "--module" "$(argv --module --no_local_rank pkg.train a)" \
    "['$python3', '-u', '-m', 'pkg.train', 'a']"
is "--python" "$(argv --python /bin/sh --no_local_rank train.py)" "['/bin/sh', '-u', 'train.py']"
is "an executable runs as it is" "$(argv /bin/echo --x)" "['/bin/echo', '--x']"
run muster --dry-run -H te1:1 --module --no_python train.py
is "--module and --no_python" "$rc" 2
run muster --dry-run -H te1:1 ./nothing.py
is "a script that is not there" "$rc" 127

# Ranks
run muster --dry-run --json plan.json -H te1:2,te2:4 train.py
is "world size" "$(json plan.json 'd["world_size"]')" 6
is "ranks continue over the nodes" "$(json plan.json '[n["ranks"] for n in d["nodes"]]')" \
    "[[0, 1], [2, 3, 4, 5]]"
is "local rank is rank modulo local size" "$(json plan.json '[n["local_ranks"] for n in d["nodes"]]')" \
    "[[0, 1], [2, 3, 0, 1]]"
run muster --dry-run --json - -H te1:1 train.py
ok "--json - prints the document on stdout" python3 -m json.tool out /dev/null
run muster --dry-run -H te1:2 --env SECRET=hunter2 train.py
ok "the printed plan names the host" grep -q te1 out
ok "... and no value of a variable" not grep -q hunter2 out
for command in "clean" "bcast hosts"; do
    # shellcheck disable=SC2086
    run muster $command --dry-run -H te1:2,te2:4
    is "muster $command: names the hosts" "$rc $(cat out)" "0 te[1-2]: this machine"
done
finish
