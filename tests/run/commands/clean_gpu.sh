# clean_gpu.sh - what the scripts about muster clean --kill-gpu share, behind clean.sh: files stand
# for GPUs.
# SPDX-License-Identifier: Apache-2.0

mkdir dev
: >dev/nvidia0
: >dev/nvidia1
chmod 755 "$tmp" "$PWD"
MUSTER_AGENT=$test_agent
MUSTER_TEST_GPU_GLOB="$PWD/dev/nvidia[0-9]*"
export MUSTER_AGENT MUSTER_TEST_GPU_GLOB

# holds COMMAND...: a process that has GPU 0 open, in a session of its own: $holder. It writes its
# name into the file "begun", or is no shell.
holds() {
    rm -f begun
    MUSTER_TEST_TAG=$tag setsid "$@" >/dev/null 2>&1 <dev/nvidia0 &
    holder=$!
    test_pids="$test_pids $holder"
    wait_for 10 has_begun "$holder"
}

has_begun() {
    [ -e begun ] || grep -qsx sleep "/proc/$1/comm"
}

# of_user UID COMMAND...: the same, of another user.
of_user() {
    uid=$1
    shift
    holds setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
}

# suggested: run the command that the last muster clean has suggested.
suggested() {
    sed -n 's/^  to [a-z ]*: //p' out | head -n 1 >suggestion
    # shellcheck disable=SC2046
    eval "run $(cat suggestion) --grace 1"
}
