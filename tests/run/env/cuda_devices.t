#!/bin/sh
# GPUs that the user, or a batch system, has chosen by CUDA_VISIBLE_DEVICES are those of the run.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

: >gpu0 >gpu1 >gpu2 >gpu3
export MUSTER_TEST_GPU_GLOB="$PWD/gpu*"

# VALUE | OPTIONS | EXIT STATUS | what each rank gets, or the words of the error
cat >table <<'EOT'
2,3 | | 0 | 2,3 2,3
2,3 | --nproc_per_node=2 | 0 | 2,3 2,3
2,3 | -np 1 | 0 | 2
2,3 | --num_gpus 1 | 0 | 2
3,2 | --one-gpu-per-rank | 0 | 3 2
3,1,0 | -np 2 | 0 | 3,1 3,1
GPU-8932f937,MIG-5,GPU-1 | -np 2 | 0 | GPU-8932f937,MIG-5 GPU-8932f937,MIG-5
0,1, | | 0 | 0,1 0,1
0,-1,1 | | 0 | 0
0,9,1 | | 0 | 0
2,3 | --num_gpus 4 | 65 | --num_gpus 4: CUDA_VISIBLE_DEVICES=2,3 has only 2
0,-1,1 | -np 2 | 65 | -np 2: CUDA_VISIBLE_DEVICES=0,-1,1 has only 1
1,1 | | 65 | names 1 twice
2,3 | --include localhost:0,1 | 0 | 0,1 0,1
2,3 | --exclude localhost:0,1,2 | 0 | 3
EOT
tr '|' '\t' <table >lines
tab=$(printf '\t')
while IFS=$tab read -r value options status expected; do
    value=${value% } options=$(echo $options) status=$(echo $status) expected=${expected# }
    # shellcheck disable=SC2086
    run env CUDA_VISIBLE_DEVICES="$value" muster --label none $options \
        sh -c 'echo $RANK $CUDA_VISIBLE_DEVICES'
    if [ "$status" = 0 ]; then
        is "$value $options" "$rc $(sort -n out | cut -d' ' -f2- | xargs)" "0 $expected"
    else
        is "$value $options: an error" "$rc" "$status"
        ok "... $expected" grep -Fq -- "$expected" err
    fi
done <lines

# Empty means none, however many there are; ranks then run without.
run env CUDA_VISIBLE_DEVICES= muster --label none -np 2 sh -c 'echo "<$CUDA_VISIBLE_DEVICES>"'
is "empty: no GPU" "$rc $(xargs <out)" "0 <> <>"
ok "... which is said" grep -q 'CUDA_VISIBLE_DEVICES= has none of the 4 GPUs of this machine' err
run env CUDA_VISIBLE_DEVICES=0,9,1 muster true
ok "a GPU that is not there ends the list, as for CUDA, and is said" \
    grep -q 'CUDA_VISIBLE_DEVICES=0,9,1: as CUDA does, .* no GPU of this machine: 1 GPU$' err
run env CUDA_VISIBLE_DEVICES=0,-1,1 muster true
is "-1 is meant so: nothing is said of it" "$rc $(cat err)" \
    "0 muster: warning: no hostfile (/job/hostfile): using this machine alone"
run env CUDA_VISIBLE_DEVICES=2,3 muster exec --label none sh -c 'echo "$CUDA_VISIBLE_DEVICES"'
is "exec chooses nothing" "$rc $(cat out)" "0 2,3"

# Hosts that are listed have slots, and this shell knows nothing of their GPUs.
run env CUDA_VISIBLE_DEVICES=2,3 muster --dry-run -H te1:2,te2:2 true
ok "with a list of hosts: said to be ignored" grep -q 'CUDA_VISIBLE_DEVICES=2,3 is ignored, since the hosts have slots: write env:' err
run env CUDA_VISIBLE_DEVICES=0,1 muster --dry-run -H te1:2,te2:2 true
is "... but not what the slots are anyway" "$(cat err)" ""
printf 'te1 slots=2 env:CUDA_VISIBLE_DEVICES=2,3\nte2 slots=1 env:CUDA_VISIBLE_DEVICES=\n' >hosts
run env CUDA_VISIBLE_DEVICES=5 muster --dry-run --hostfile hosts --json - true
is "... nor what the hostfile says" "$(cat err)" ""
is "env: of the hostfile decides" "$(json out '[n["cuda_visible_devices"] for n in d["nodes"]]')" \
    "[['2,3', '2,3'], ['']]"

# A batch system sets the variable for each node of the job.
job() {
    run env SLURM_JOB_ID=7 SLURM_JOB_NODELIST='te[1-2]' "$@"
}
job CUDA_VISIBLE_DEVICES=2,3 SLURM_GPUS_PER_NODE=2 muster --dry-run --json plan.json --one-gpu-per-rank true
is "a Slurm job's GPUs, on each node" "$(json plan.json '[n["cuda_visible_devices"] for n in d["nodes"]]')" \
    "[['2', '3'], ['2', '3']]"
ok "... which is said" grep -q 'Slurm job 7: te\[1-2\], 2 slots each (CUDA_VISIBLE_DEVICES)' err
job CUDA_VISIBLE_DEVICES=2,3 SLURM_TASKS_PER_NODE='1(x2)' muster --dry-run --json plan.json --nproc_per_node=1 true
is "... the first of them" "$(json plan.json '[n["cuda_visible_devices"] for n in d["nodes"]]')" "[['2'], ['2']]"
job CUDA_VISIBLE_DEVICES=GPU-1,GPU-2 muster --dry-run --json plan.json true
is "names are this machine's: their number" "$(json plan.json '[n["cuda_visible_devices"] for n in d["nodes"]]')" \
    "[['0,1', '0,1'], ['0,1', '0,1']]"
job CUDA_VISIBLE_DEVICES=NoDevFiles SLURM_TASKS_PER_NODE='3(x2)' muster --dry-run --json plan.json true
is "a job without GPUs" "$(json plan.json '[n["cuda_visible_devices"] for n in d["nodes"]]')" \
    "[['', '', ''], ['', '', '']]"
finish
