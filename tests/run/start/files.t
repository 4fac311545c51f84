#!/bin/sh
# A pipe, a directory or a device where muster reads or writes a file: pipes that somebody named are
# fine, and nothing is waited for without an end.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

# refused WHAT CODE PATTERN ARGUMENTS...
refused() {
    what=$1 code=$2 pattern=$3
    shift 3
    run muster "$@"
    is "$what: $code" "$rc" "$code"
    ok "... and says so" grep -Eq -e "$pattern" err
}

plan_of() {
    run muster --dry-run --json plan.json "$@" true
    json plan.json '[n["host"] for n in d["nodes"]]'
}

mkfifo fifo
echo 'node1 slots=1' >hosts

# Named by somebody
echo 'node1 slots=1' >fifo &
is "a hostfile may be a pipe" "$(plan_of --hostfile fifo)" "['node1']"
is "... or stdin" "$(plan_of --hostfile /dev/stdin <hosts)" "['node1']"
is "... a pipe too" "$(cat hosts | plan_of --hostfile /dev/stdin)" "['node1']"
is "... by its short name" "$(cat hosts | plan_of --hostfile -)" "['node1']"
refused "a hostfile that nobody writes" 65 'fifo: no process has written to this pipe for 10 s' \
    --hostfile fifo true
refused "a directory for a hostfile" 65 ' \.: Is a directory' --hostfile . true
refused "a device for a hostfile" 65 '/dev/zero: more than' --hostfile /dev/zero true
echo FROM=pipe >fifo &
run muster --label none --env-file fifo -H node1:1 sh -c 'echo $FROM'
is "an environment file may be a pipe" "$(cat out)" pipe
printf '[muster]\nlabel = none\n' >fifo &
run muster --config fifo -H node1:1 echo x
is "--config too" "$(cat out)" x

# Read because it is there
mkdir -p "$HOME/.config/muster"
mkfifo "$HOME/.config/muster/muster.conf" .deepspeed_env
refused "a pipe for muster.conf" 65 'muster.conf: is a pipe' -H node1:1 true
rm "$HOME/.config/muster/muster.conf"
run muster -H node1:1 true
is "one for .deepspeed_env is passed over: 0" "$rc $(cat err)" "0 "
rm .deepspeed_env

# Written to
cat fifo >got &
reader=$!
run muster --json fifo -H node1:1 true
is "--json may be a pipe: 0" "$rc" 0
wait "$reader"
is "... all of it comes" "$(json got 'd["exit_status"]')" 0
refused "... one that nobody reads" 74 '--json fifo: No such device' --json fifo -H node1:1 true
refused "--json into a directory" 73 '--json .: Is a directory' --json . -H node1:1 true
finish
