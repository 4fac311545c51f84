#!/bin/sh
# --dry-run: a command line that is refused, and what is shown of the plan.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"
. "$here/start/plan.sh"

is "unique prefix" "$(filter --num_g 1)" "worker-0:0 worker-1:0"
is "ambiguous prefix" "$(filter --no_)" "exit 2"
ok "... names what it could be" grep -q no_python err
is "unknown option" "$(filter --epochs 3)" "exit 2"
is "a value that begins with - needs =" "$(filter --include -x)" "exit 2"
for refused in --autotuning=run --launcher=slurm; do
    is "refused with an explanation: $refused" "$(filter $refused)" "exit 2"
    ok "... that names it" grep -q -e "${refused%%=*}" err
done
run muster --dry-run
is "no script" "$rc" 2


run muster --dry-run --json - -H te1:1 train.py
ok "--json - prints the document on stdout" python3 -m json.tool out /dev/null
run muster --dry-run -H te1:2 --env SECRET=hunter2 train.py
ok "the printed plan names the host" grep -q te1 out
ok "... and no value of a variable" not grep -q hunter2 out
for command in "clean" "bcast pool"; do
    # shellcheck disable=SC2086
    run muster $command --dry-run -H te1:2,te2:4
    is "muster $command: names the hosts" "$rc $(cat out)" "0 te[1-2]: this machine"
done
finish
