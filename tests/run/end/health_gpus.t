#!/bin/sh
# Before a generation each node checks its GPUs, by NVML, of which there is a stub here, and its
# InfiniBand ports; after the first one it waits until the GPUs are free. A driver that hangs holds up
# nothing.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

unset MUSTER_HOSTFILE MUSTER_SSH_CONFIG
limit=$(stretched 2) # of what must time out, and of what must not
mkdir -p root/dev root/sys/class/infiniband/mlx5_0/ports/1 root/sys/class/infiniband/mlx5_1/ports/1
: >root/dev/nvidia0
: >root/dev/nvidia1
MUSTER_TEST_ROOT=$PWD/root
MUSTER_TEST_GPU_GLOB="$PWD/root/dev/nvidia[0-9]*"
MUSTER_TEST_GATE_S=1000
MUSTER_AGENT=$test_agent
LD_LIBRARY_PATH=$top_builddir/tests/run/end/nvml
NVML_NODE=$PWD/gpu
export MUSTER_TEST_ROOT MUSTER_TEST_GPU_GLOB MUSTER_TEST_GATE_S MUSTER_AGENT LD_LIBRARY_PATH NVML_NODE

# port STATE: of mlx5_0; the other one never had a cable.
port() {
    echo "$1" >root/sys/class/infiniband/mlx5_0/ports/1/state
}
echo "1: DOWN" >root/sys/class/infiniband/mlx5_1/ports/1/state
port "4: ACTIVE"

# --- the first generation

# with WORDS [OPTIONS...]: how a run ends whose GPUs are such.
with() {
    echo "$1" >gpu
    shift
    run muster -v "$@" true
    echo "$rc $(sed -n 's/^ *node1 *health *//p' err)"
}
is "all is well" "$(with '' -H node1:2)" "0 "
ok "... as -v says" grep -Eq 'node1: fit for ranks: ports, gpus \([0-9.]+ ms\)$' err
is "a GPU is lost" "$(with lost -H node1:2)" "73 GPU 1 does not answer: GPU is lost"
is "... which no rank would use" "$(with lost -H node1:1)" "0 "
is "... and muster exec does not look" "$(echo lost >gpu; run muster exec -H node1:2 true; echo "$rc")" 0
is "the driver no longer counts it" "$(with gone -H node1:2)" \
    "73 GPU 1 does not answer: the driver has lost it, and still has 1"
is "more slots than GPUs: ranks may do without" "$(with '' -H node1:4)" "0 "
is "a GPU must be reset" "$(with reset -H node1:2)" "73 GPU 1 must be reset: GPU requires reset"
is "it has a row to remap" "$(with pending -H node1:2)" \
    "73 GPU 1 must be reset: it has a row of its memory to remap"
is "NVML never worked: ranks may do without" "$(with broken -H node1:2)" "0 "
MUSTER_TEST_GATE_S=$limit
is "the driver hangs" "$(with hang -H node1:2)" "73 the driver of the GPUs does not answer within $limit s"
ok "... nothing of it is left" no_leftovers
MUSTER_TEST_GATE_S=1000
echo hang >gpu
start muster -v --heartbeat 0.2 --dead-after 15 --grace 1 -H node1:2 true
ok "... while it hangs" wait_for 30 grep -q ' -> preparing$' err
kill -INT $pid
finish_run 30
is "... Ctrl-C ends the run" "$rc" 130
ok "... nothing of it is left" no_leftovers

# --- the second one

# A rank of the first generation breaks something, and then fails.
script_file breaks <<'END'
#!/bin/sh
[ "$RANK" = 0 ] || exit 0
echo "generation $MUSTER_GENERATION $(cat "$NVML_NODE")"
[ "$MUSTER_GENERATION" = 0 ] || exit 0
eval "$1"
exit 1
END
# breaking COMMAND [OPTIONS...]: then the node is not fit, and the run waits for it for a second.
breaking() {
    echo "" >gpu
    port "4: ACTIVE"
    command=$1
    shift
    run muster --label none --grace 1 --max-restarts 1 --restart-delay 0 --max-wait 1 -H node1:2 "$@" \
        ./breaks "$command"
    echo "$rc $(sed -En 's/^.*node node1 not fit \((.*)\); waiting .*/\1/p' err)"
}
is "nothing breaks" "$(breaking true) $(tr '\n' ' ' <out)" "0  generation 0  generation 1  "
is "an NVLink is down" "$(breaking 'echo down >gpu')" "75 NVLink 3 of GPU 1 is not active any more"
is "NVML works no more" "$(breaking 'echo broken >gpu')" "75 the GPUs do not answer: NVML: Unknown Error"
root=$MUSTER_TEST_ROOT
ports=$root/sys/class/infiniband
is "a port is down" "$(breaking "echo 1: DOWN >$ports/mlx5_0/ports/1/state")" \
    "75 InfiniBand port mlx5_0/1 is not active any more (1: DOWN)"
is "the adapter is gone" "$(breaking "rm -r $ports/mlx5_0")" \
    "75 InfiniBand port mlx5_0/1 is not active any more (it is gone)"
mkdir -p "$ports/mlx5_0/ports/1"
MUSTER_TEST_GATE_S=$limit
is "memory is not free in time" "$(breaking 'echo used=8589934592 >gpu')" \
    "75 the memory of GPU 1 is not free: 8191 MiB more are in use than at first, by no process that this user can see"
is "a little more is in use: the driver's own" "$(breaking 'echo used=400000000 >gpu')" "0 "
MUSTER_TEST_GATE_S=1000

# again: the second generation is being prepared.
again() {
    test "$(grep -c -- ' -> preparing$' err)" -ge 4
}
port "4: ACTIVE"
echo "" >gpu
start muster -v --label none --grace 1 --max-restarts 1 --restart-delay 0 -H node1:2 ./breaks \
    'echo used=8589934592 >gpu'
ok "memory is in use for a while: the second generation waits" wait_for 30 again
echo "free again" >gpu
finish_run 30
is "... until it is free" "$rc $(tail -n 1 out)" "0 generation 1 free again"

# hold: a process of no run has GPU 1 open.
hold() {
    sleep 1000 <root/dev/nvidia1 &
    holder=$!
    test_pids="$test_pids $holder"
    wait_for 5 grep -qsx sleep "/proc/$holder/comm"
}
echo "" >gpu
rm -f held
start muster -v --label none --grace 1 --max-restarts 1 --restart-delay 0 -H node1:2 ./breaks \
    'until [ -e held ]; do sleep 0.02; done'
wait_for 30 grep -q 'generation 0' out
hold
: >held
ok "a process has a GPU open: the second generation waits" wait_for 30 again
kill $holder
finish_run 30
is "... until it has ended" "$rc $(tail -n 1 out)" "0 generation 1 "
rm -f held
MUSTER_TEST_GATE_S=$limit
start muster -v --label none --grace 1 --max-restarts 1 --restart-delay 0 --max-wait 1 -H node1:2 ./breaks \
    'until [ -e held ]; do sleep 0.02; done; echo used=2147483648 >gpu'
wait_for 30 grep -q 'generation 0' out
hold
: >held
finish_run 60
is "... or the node is not fit, because of whom" \
    "$rc $(sed -En 's/^.*node node1 not fit \((.*)\); waiting .*/\1/p' err)" \
    "75 GPU 1 is still in use by pid $holder of $(id -un), with 2047 MiB: sleep 1000"
kill $holder
rm -f held
echo "" >gpu
start muster -v --label none --grace 1 --max-restarts 1 --restart-delay 0 -H node1:2 ./breaks \
    'until [ -e held ]; do sleep 0.02; done'
wait_for 30 grep -q 'generation 0' out
hold
: >held
finish_run 60
is "a process that uses no memory is waited for, and then warned of" \
    "$rc $(tail -n 1 out) $(grep -c "warning.*GPU 1 is in use by pid $holder of" err)" "0 generation 1  1"
is "who had it open at first may keep it" "$(breaking true)" "0 "
kill $holder

LD_LIBRARY_PATH=
is "without NVML there are the files" "$(with lost -H node1:2)" "0 "
ok "nothing is left" no_leftovers
finish
