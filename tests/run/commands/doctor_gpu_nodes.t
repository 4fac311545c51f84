#!/bin/sh
# muster doctor looks at GPUs of four nodes: what is wrong on one of them is said of that node only.
# There are stubs of NVML and of CUDA (doctor_gpu.t), and each node has folders of its own for them.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

own_namespaces
stubs=$top_builddir/tests/run/commands/nvml
for node in node1 node2 node3 node4; do
    root=$PWD/$node
    mkdir -p "$nodes_dir/$node" $node/dev $node/libraries $node/usr/lib \
        $node/proc/sys/kernel $node/proc/driver/nvidia
    echo $node >$node/proc/sys/kernel/hostname
    for gpu in 0 1 2 3; do : >$node/dev/nvidia$gpu; done
    echo 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 2024' \
        >$node/proc/driver/nvidia/version
    : >$node/usr/lib/libnvidia-ml.so.550.54.14
    cp "$stubs/well/libnvidia-ml.so.1" "$stubs/libcuda.so.1" $node/libraries
    # Processes of four nodes are those of one machine: only node1 can be told to contain none.
    contain=
    [ $node != node1 ] || contain="MUSTER_TEST_CONTAIN=subreaper"
    cat >"$nodes_dir/$node/sshd_extra" <<END
SetEnv HOME=$nodes_dir/$node/home MUSTER_TEST_TAG=$tag $contain MUSTER_TEST_ROOT=$root MUSTER_TEST_GPU_GLOB=$root/dev/nvidia[0-9]* LD_LIBRARY_PATH=$root/libraries CUDA_STUB=@$root/cuda
END
done
use_netns 4
MUSTER_AGENT=$test_agent
export MUSTER_AGENT

# look OPTIONS...: what is told of GPUs, and how runs are contained: "node level value" in "told".
# Other checks may find something on this machine.
look() {
    run muster doctor "$@"
    sed -nE 's/^(FAIL|WARN)  ([^ ]+) +(gpu|gpu driver|gpu holders|gpu errors|cuda|machine)  +/\2 \1 /p' \
        out | sort >told
}
says() {
    is "$1" "$(grep -cE "^$2 " told)" 1
    ok "$1: it" grep -qE "^$2 .*$3" told
}
look -H node1:4,node2:4,node3:4,node4:4
says "nothing contains a run on one node" "node1 WARN" "neither a PID namespace nor a cgroup is"
is "... and of healthy GPUs nothing is said" "$(grep -vc '^node1 .* neither' told)" 0

# Something on each: none of the other three has that line.
sleep 1000 <node2/dev/nvidia2 &
holder=$!
test_pids="$test_pids $holder"
wait_for 5 grep -qsx sleep "/proc/$holder/comm"
cp "$stubs/libnvidia-ml.so.1" node3/libraries
echo hang >node4/cuda
look -H node1:8,node2:4,node3:4,node4:4
says "more slots than GPUs" "node1 FAIL" "slots=8, but 4 GPUs"
says "a GPU in use" "node2 WARN" "a GPU is in use by pid $holder of $(id -un): sleep 1000"
ok "memory errors" grep -q "^node3 FAIL 3 uncorrected memory errors" told
ok "a GPU is lost" grep -q "^node3 FAIL the driver has lost 1 of 4 GPUs" told
says "a GPU is slow" "node3 WARN" "GPUs slowed down by heat or power: 1"
says "cuInit hangs" "node4 FAIL" "CUDA calls such as cuInit did not finish within 7 s"
is "... and of the others nothing" "$(wc -l <told)" 7

# The library is newer than the driver that is loaded, as after an upgrade.
kill $holder
cp "$stubs/well/libnvidia-ml.so.1" node3/libraries
mv node2/usr/lib/libnvidia-ml.so.550.54.14 node2/usr/lib/libnvidia-ml.so.550.90.07
echo 3 >node3/cuda
echo corrupt >node4/cuda
look --full -H node1:4,node2:4,node3:4,node4:4
says "the driver and its library differ" "node2 FAIL" "the loaded driver is 550\.54\.14, its library 550\.90\.07"
says "cuInit fails" "node3 FAIL" "CUDA: error 3 of cuInit"
says "a GPU changes bytes" "node4 FAIL" "CUDA: error 1 of a comparison with what comes back on GPU 0"
is "... and of the others nothing" "$(grep -vc '^node1 .* neither' told)" 3
ok "nothing is left" no_leftovers
finish
