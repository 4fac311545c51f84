#!/bin/sh
# muster doctor looks at GPUs: by NVML, of which there is a stub here, and by the kernel's files.
# What hangs, what was left behind, and a cold disk are told, too.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

own_namespaces # other scripts would meet the orphan

# Old enough at the end of this script to be left over.
MUSTER_RUN_ID=20260101-000000-abcd MUSTER_TEST_TAG=$tag setsid sleep 1000 &
orphan=$!
mkdir -p root/dev root/proc/sys/kernel
for number in 0 1 2 3; do : >root/dev/nvidia$number; done
echo vm >root/proc/sys/kernel/hostname
MUSTER_TEST_ROOT=$PWD/root
MUSTER_TEST_GPU_GLOB="$PWD/root/dev/nvidia[0-9]*"
MUSTER_AGENT=$test_agent
LD_LIBRARY_PATH=$top_builddir/tests/run/commands/nvml
export MUSTER_TEST_ROOT MUSTER_TEST_GPU_GLOB MUSTER_AGENT LD_LIBRARY_PATH
sleep 1000 <root/dev/nvidia2 &
holder=$!
test_pids="$test_pids $holder"
wait_for 5 grep -qsx sleep "/proc/$holder/comm"
setpriv --reuid 65534 --clear-groups sleep 1000 <root/dev/nvidia3 &
others=$!
MUSTER_RUN_ID=20260101-000000-abcd sleep 1000 <root/dev/nvidia3 &
of_run=$!
test_pids="$test_pids $others $of_run"
wait_for 5 grep -qsx sleep "/proc/$others/comm"
wait_for 5 grep -qsx sleep "/proc/$of_run/comm"
start muster --grace 1 -H node1:1 sh -c 'exec sleep 1007 <root/dev/nvidia0'
launcher=$pid
wait_for 20 pgrep -fx 'sleep 1007' >/dev/null
rank=$(pgrep -fx 'sleep 1007')

# says WHAT LEVEL NODES TEXT: a line does, in its columns.
says() {
    ok "$1" grep -qE "^$2  $3 +.*$4" out
}
run muster doctor -H node1:4,node2:8 --json=said.json
is "GPUs are broken: 2" "$rc" 2
says "more slots than GPUs" FAIL node2 "slots=8, but 4 GPUs"
says "a GPU in use" WARN "node\\[1-2\\]" "a GPU is in use by pid $holder of $(id -un): sleep 1000"
mended() {
    sed -n "s/.*a GPU is in use by pid $1 of .*; //p" out
}
is "... with the command that ends it" "$(mended "$holder")" "muster clean --kill-gpu mine"
is "... or if it is another user's" "$(mended "$others")" "muster clean --kill-gpu $(id -un 65534)"
is "... or of a run that is over" "$(mended "$of_run")" "muster clean --kill"
is "... or of one that is running" "$(mended "$rank")" \
    "wait, or: muster stop $(tr '\0' '\n' <"/proc/$rank/environ" | sed -n 's/^MUSTER_RUN_ID=//p')"
kill "$launcher" "$others" "$of_run"
wait_for 20 is_gone "$launcher"
ok "NVML is the stub" grep -q '4 x NVML stub' said.json
says "memory errors" FAIL "node\\[1-2\\]" "3 uncorrected memory errors"
says "a GPU is slow" WARN "node\\[1-2\\]" "GPUs slowed down by heat or power: 1"
says "a GPU is lost" FAIL "node\\[1-2\\]" "the driver has lost 1 of 4 GPUs"
ok "CUDA works" not grep -q ' cuda ' out
CUDA_STUB=802 run muster doctor -H node1:4
says "cuInit fails" FAIL node1 "CUDA: error 802 of cuInit .the NVSwitches are not ready"
CUDA_STUB=hang run muster doctor -H node1:4
says "cuInit hangs" FAIL node1 "CUDA calls such as cuInit did not finish within 7 s"
CUDA_STUB=corrupt run muster doctor --full -H node1:4
says "a GPU changes bytes" FAIL node1 "CUDA: error 1 of a comparison with what comes back on GPU 0"
run muster doctor --full -H node1:4
ok "1 MiB goes there and back" not grep -q ' cuda ' out

# Without the library: nvidia-smi is asked, and a failure of it is told.
unset LD_LIBRARY_PATH
mkdir bin
script_file bin/nvidia-smi <<'END'
#!/bin/sh
echo "Failed to initialize NVML: Driver/library version mismatch"
exit 18
END
PATH=$PWD/bin:$PATH run muster doctor -H node1:4
says "the driver does not work" FAIL node1 "NVML: Failed to initialize NVML: Driver/library version mismatch"
says "nor CUDA" FAIL node1 "CUDA: .*libcuda.so.1: cannot open shared object file"

unset MUSTER_TEST_ROOT MUSTER_TEST_GPU_GLOB
run muster doctor -H node1:1 --env NCCL_SOCKET_IFNAME=nosuch0 --cwd /nonexistent sh
says "an interface is not there" FAIL node1 "NCCL_SOCKET_IFNAME=nosuch0: there is no such interface"
says "the directory is not there" FAIL node1 "the working directory /nonexistent does not exist"
run muster doctor -H node1:1 nosuch.py
is "a script that is not there: as with muster run" "$rc" 127

take_port
MUSTER_TEST_CONTAIN=subreaper run muster doctor -H node1:1,node2:1 --master_port "$taken_port"
says "the port is taken, on the first node" FAIL node1 "port $taken_port: pid [0-9]+ \\(python3\\)"
says "nothing contains a run" WARN "node\\[1-2\\]" "neither a PID namespace nor a cgroup is available"
# Each check has its time, and a busy machine may need more.
is_told() {
    [ "$(ps -o etimes= -p $orphan)" -gt 11 ] || return
    run muster doctor -H node1:1 --json=-
    grep -q '1 process of earlier runs' out
}
ok "a process of an earlier run is told" wait_for 60 is_told
is "JSON on stdout, and nothing else" "$(python3 -c 'import json, sys
print(json.load(open("out"))["exit_status"])')" "$rc"
kill $orphan
wait $orphan 2>/dev/null
ok "nothing is left" no_leftovers
finish
