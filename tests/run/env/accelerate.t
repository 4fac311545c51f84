#!/bin/sh
# The configuration file of accelerate launch: its machines, processes and variables are the run's,
# the command line overrides them, and muster resume reads the file again.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

cat >default.yaml <<'END_YAML'
compute_environment: LOCAL_MACHINE
debug: false
deepspeed_config:
  gradient_accumulation_steps: 4
  offload_optimizer_device: cpu
  zero3_init_flag: true
  zero_stage: 3
distributed_type: DEEPSPEED
downcast_bf16: 'no'
machine_rank: 0
main_process_ip: null
main_process_port: 21511
main_training_function: main
mixed_precision: bf16
num_machines: 2
num_processes: 4
rdzv_backend: static
same_network: true
tpu_env: []
use_cpu: false
END_YAML
script_file rank <<'END_RANK'
#!/bin/sh
echo "$RANK/$WORLD_SIZE $LOCAL_RANK $MASTER_PORT $ACCELERATE_USE_DEEPSPEED" \
    "$ACCELERATE_DEEPSPEED_ZERO_STAGE $ACCELERATE_MIXED_PRECISION"
[ ! -e fail ]
END_RANK

run muster -H node1:8,node2:8,node3:8 --label none --config_file default.yaml ./rank
is "two machines, four processes, the variables" "$rc $(sort out | tr '\n' '|')" \
    "0 0/4 0 21511 true 3 bf16|1/4 1 21511 true 3 bf16|2/4 0 21511 true 3 bf16|3/4 1 21511 true 3 bf16|"
run muster -H node1:8,node2:8,node3:8 --label none --config_file default.yaml --num_processes 3 \
    --num_machines 3 --main_process_port 21512 --env ACCELERATE_MIXED_PRECISION=fp16 ./rank
is "the command line overrides each" "$rc $(sort out | tr '\n' '|')" \
    "0 0/3 0 21512 true 3 fp16|1/3 0 21512 true 3 fp16|2/3 0 21512 true 3 fp16|"
export ACCELERATE_MIXED_PRECISION=fp8
run muster -H node1:1 --label none --num_machines 1 -np 1 --config_file default.yaml ./rank
is "the file overrides the environment, as in accelerate" "$rc $(cat out)" \
    "0 0/1 0 21511 true 3 bf16"

: >fail
run muster --name tuned -H node1:2,node2:2 --label none --config_file default.yaml ./rank
is "a run fails" "$rc" 1
rm fail
cd "$HOME"
run muster resume tuned
is "muster resume reads the file again" "$rc $(grep -c '/4 . 21511 true 3 bf16$' out)" "0 4"
cd - >/dev/null

touch gpu0 gpu1 gpu2 gpu3
printf 'distributed_type: MULTI_GPU\nnum_processes: 2\ngpu_ids: 1,3\n' >gpus.yaml
run env MUSTER_TEST_GPU_GLOB="$PWD/gpu?" muster --dry-run --config_file gpus.yaml ./rank
ok "gpu_ids are GPUs of this machine" grep -q '^  ranks 0-1, CUDA_VISIBLE_DEVICES=1,3$' out

printf 'params:\n  fusion_threshold_mb: 32\n' >horovod.yaml
run muster --config_file horovod.yaml true
is "horovodrun's file: 65" "$rc $(cat err)" \
    "65 muster: error: horovod.yaml: this file is horovodrun's; write its values as --env HOROVOD_NAME=VALUE"
printf 'distributed_type: MULTI_GPU\nfsdp_confg: {fsdp_version: 2}\n' >typo.yaml
run muster --config_file typo.yaml true
is "a key that would be lost: 65" "$rc $(cat err)" \
    "65 muster: error: typo.yaml: fsdp_confg: muster does not know this key; take it out, and set the variable that it stands for with --env"
run muster --config_file= true
is "no name: 2" "$rc $(cat err)" \
    "2 muster: error: --config_file: is empty; it should name a file"
ok "nothing is left" no_leftovers
finish
