#!/bin/sh
# Each rank sees its place in the world, under every name that trainers read.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

# of NAME ARGUMENTS...: its value in each rank, in rank order.
of() {
    name=$1
    shift
    run muster --label none "$@" sh -c "echo \$RANK \${$name-unset}"
    sort -n out | cut -d' ' -f2- | tr '\n' ' ' | sed 's/ $//'
}

even="-H node1:2,node2:2"
uneven="-H node1:2,node2:4"
# shellcheck disable=SC2086
{
    is "RANK" "$(of RANK $even)" "0 1 2 3"
    is "WORLD_SIZE" "$(of WORLD_SIZE $even)" "4 4 4 4"
    is "LOCAL_RANK" "$(of LOCAL_RANK $even)" "0 1 0 1"
    is "LOCAL_RANK, uneven: rank modulo local size" "$(of LOCAL_RANK $uneven)" "0 1 2 3 0 1"
    is "--local-rank-by index" "$(of LOCAL_RANK --local-rank-by index $uneven)" "0 1 0 1 2 3"
    is "LOCAL_WORLD_SIZE" "$(of LOCAL_WORLD_SIZE $uneven)" "2 2 4 4 4 4"
    is "LOCAL_SIZE" "$(of LOCAL_SIZE $uneven)" "2 2 4 4 4 4"
    is "NODE_RANK" "$(of NODE_RANK $uneven)" "0 0 1 1 1 1"
    is "GROUP_RANK" "$(of GROUP_RANK $even)" "0 0 1 1"
    is "GROUP_WORLD_SIZE" "$(of GROUP_WORLD_SIZE $even)" "2 2 2 2"
    is "CROSS_RANK" "$(of CROSS_RANK $even)" "0 0 1 1"
    is "CROSS_SIZE" "$(of CROSS_SIZE $even)" "2 2 2 2"
    is "TORCHELASTIC_RESTART_COUNT" "$(of TORCHELASTIC_RESTART_COUNT $even)" "0 0 0 0"
    is "PMI_RANK" "$(of PMI_RANK $even)" "0 1 2 3"
    is "PMI_SIZE" "$(of PMI_SIZE $even)" "4 4 4 4"
    is "CUDA_VISIBLE_DEVICES is the node's list" "$(of CUDA_VISIBLE_DEVICES $uneven)" \
        "0,1 0,1 0,1,2,3 0,1,2,3 0,1,2,3 0,1,2,3"
    is "--one-gpu-per-rank" "$(of CUDA_VISIBLE_DEVICES --one-gpu-per-rank $even)" "0 1 0 1"
    is "MASTER_ADDR given" "$(of MASTER_ADDR --master_addr te9 $even)" "te9 te9 te9 te9"
    is "MASTER_PORT given" "$(of MASTER_PORT --master_port 31234 $even)" "31234 31234 31234 31234"
    is "a run id, the same for all" "$(of MUSTER_RUN_ID $even | tr ' ' '\n' | sort -u | wc -l)" 1
    is "OMP_NUM_THREADS of the user stays" "$(of OMP_NUM_THREADS --env OMP_NUM_THREADS=7 $even)" "7 7 7 7"
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
