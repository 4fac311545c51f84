# samples.sh - nodes whose GPUs and ports a script slows down or breaks, for the scripts beside it
# SPDX-License-Identifier: Apache-2.0

unset MUSTER_HOSTFILE MUSTER_SSH_CONFIG
# Node N has the GPUs of the file s.N/gpu, by a stub of NVML, and the ports below s.N/sys.
mkdir -p root/dev s.0 s.1 s.2 s.3
: >root/dev/nvidia0
: >root/dev/nvidia1
MUSTER_TEST_ROOT=$PWD/root
MUSTER_TEST_GPU_GLOB="$PWD/root/dev/nvidia[0-9]*"
MUSTER_TEST_SAMPLES=$PWD/s
MUSTER_AGENT=$test_agent
LD_LIBRARY_PATH=$top_builddir/tests/run/end/nvml
NVML_NODE=$PWD/well
export MUSTER_TEST_ROOT MUSTER_TEST_GPU_GLOB MUSTER_TEST_SAMPLES MUSTER_TEST_SAMPLES_S MUSTER_AGENT LD_LIBRARY_PATH NVML_NODE
: >well

# gpus WORDS WORDS WORDS [WORDS]: of the nodes.
gpus() {
    echo "$1" >s.0/gpu
    echo "$2" >s.1/gpu
    echo "$3" >s.2/gpu
    echo "${4-}" >s.3/gpu
}
# looked N TIMES: node N has sampled its GPUs so often from now on.
looked() {
    left=$2
    while [ "$left" -gt 0 ]; do
        rm -f "s.$1/gpu.looked"
        wait_for 60 test -e "s.$1/gpu.looked" || return 1
        left=$((left - 1))
    done
}
# sampler: the child of an agent of ours that has only its pipe exists; $child is its pid.
sampler() {
    for file in /proc/[0-9]*/fd/3; do
        child=${file#/proc/} child=${child%%/*}
        [ -e "/proc/$child/fd/4" ] || ! is_ours "$child" ||
            [ "$(cat "/proc/$child/comm" 2>/dev/null)" != muster-agent ] || return 0
    done
    return 1
}
