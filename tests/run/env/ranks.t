#!/bin/sh
# Each rank sees its place in the world, under every name that trainers read.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

# of NAME ARGUMENTS...: its value in each rank, in rank order.
of() {
    all_of "$@"
    value "$1"
}

# all_of NAME... -OPTION...: one run, for value.
all_of() {
    show=
    while case $1 in -*) false ;; esac do
        show="$show; echo $1 \$RANK \${$1-unset}"
        shift
    done
    run muster --label none "$@" sh -c "${show#; }"
}

# value NAME: in the last run.
value() {
    sed -n "s/^$1 //p" out | sort -n | cut -d' ' -f2- | tr '\n' ' ' | sed 's/ $//'
}

even="-H node1:2,node2:2"
uneven="-H node1:2,node2:4"
# shellcheck disable=SC2086
{
    all_of RANK WORLD_SIZE LOCAL_RANK GROUP_RANK GROUP_WORLD_SIZE CROSS_RANK CROSS_SIZE \
        TORCHELASTIC_RESTART_COUNT PMI_RANK PMI_SIZE MUSTER_RUN_ID $even
    is "RANK" "$(value RANK)" "0 1 2 3"
    is "WORLD_SIZE" "$(value WORLD_SIZE)" "4 4 4 4"
    is "LOCAL_RANK" "$(value LOCAL_RANK)" "0 1 0 1"
    is "GROUP_RANK" "$(value GROUP_RANK)" "0 0 1 1"
    is "GROUP_WORLD_SIZE" "$(value GROUP_WORLD_SIZE)" "2 2 2 2"
    is "CROSS_RANK" "$(value CROSS_RANK)" "0 0 1 1"
    is "CROSS_SIZE" "$(value CROSS_SIZE)" "2 2 2 2"
    is "TORCHELASTIC_RESTART_COUNT" "$(value TORCHELASTIC_RESTART_COUNT)" "0 0 0 0"
    is "PMI_RANK" "$(value PMI_RANK)" "0 1 2 3"
    is "PMI_SIZE" "$(value PMI_SIZE)" "4 4 4 4"
    is "a run id, the same for all" "$(value MUSTER_RUN_ID | tr ' ' '\n' | sort -u | wc -l)" 1
    all_of LOCAL_RANK LOCAL_WORLD_SIZE LOCAL_SIZE NODE_RANK CUDA_VISIBLE_DEVICES $uneven
    is "LOCAL_RANK, uneven: rank modulo local size" "$(value LOCAL_RANK)" "0 1 2 3 0 1"
    is "LOCAL_WORLD_SIZE" "$(value LOCAL_WORLD_SIZE)" "2 2 4 4 4 4"
    is "LOCAL_SIZE" "$(value LOCAL_SIZE)" "2 2 4 4 4 4"
    is "NODE_RANK" "$(value NODE_RANK)" "0 0 1 1 1 1"
    is "CUDA_VISIBLE_DEVICES is the node's list" "$(value CUDA_VISIBLE_DEVICES)" \
        "0,1 0,1 0,1,2,3 0,1,2,3 0,1,2,3 0,1,2,3"
    is "--local-rank-by index" "$(of LOCAL_RANK --local-rank-by index $uneven)" "0 1 0 1 2 3"
    all_of CUDA_VISIBLE_DEVICES MASTER_ADDR MASTER_PORT OMP_NUM_THREADS --one-gpu-per-rank \
        --master_addr te9 --master_port 31234 --env OMP_NUM_THREADS=7 $even
    is "--one-gpu-per-rank" "$(value CUDA_VISIBLE_DEVICES)" "0 1 0 1"
    is "MASTER_ADDR given" "$(value MASTER_ADDR)" "te9 te9 te9 te9"
    is "MASTER_PORT given" "$(value MASTER_PORT)" "31234 31234 31234 31234"
    is "OMP_NUM_THREADS of the user stays" "$(value OMP_NUM_THREADS)" "7 7 7 7"
}
printf 'worker slots=4\nother slots=4\n' >hosts
is "chosen slots are the devices" "$(of CUDA_VISIBLE_DEVICES --hostfile hosts -i other:1,3)" "1,3 1,3"
is "one of the chosen each" \
    "$(of CUDA_VISIBLE_DEVICES --hostfile hosts -i other:1,3 --one-gpu-per-rank)" "1 3"
threads=$(of OMP_NUM_THREADS -H node1:1)
ok "OMP_NUM_THREADS has a default" test "$threads" -ge 1
ok "MASTER_ADDR is a number that all reach" sh -c "echo '$(of MASTER_ADDR -H node1:1,node2:1)' |
    grep -Eq '^([0-9.]+) \\1\$|^([0-9a-f:]+) \\2\$'"

echo 'import sys; print(sys.argv[1:])' >train.py
run muster --label none -H node1:1,node2:2 train.py --x 1
is "--local_rank comes first" "$(sort out | tr -d '\n')" \
    "['--local_rank=0', '--x', '1']['--local_rank=0', '--x', '1']['--local_rank=1', '--x', '1']"
run muster --label none --no_local_rank -H node1:1 train.py --x 1
is "--no_local_rank" "$(cat out)" "['--x', '1']"
mkdir elsewhere
run muster --label none -H node1:1 --cwd "$PWD/elsewhere" pwd
is "--cwd" "$(cat out)" "$PWD/elsewhere"
run muster --label none -H node1:1 pwd
is "ranks are where muster is" "$(cat out)" "$PWD"
run muster --label none -H node1:1 cat
is "standard input is empty" "$rc" 0
finish
