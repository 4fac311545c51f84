# plan.sh - what a script needs that claims which plan muster makes; behind lib.sh
# SPDX-License-Identifier: Apache-2.0

: >train.py
printf 'worker-0 slots=4\nworker-1 slots=4\n' >pool

# plan ARGUMENTS...: the nodes and slots that muster would use, or why not.
plan() {
    run muster --dry-run --json plan.json "$@"
    if [ "$rc" = 0 ]; then
        json plan.json '" ".join(n["host"] + ":" + ",".join(map(str, n["slots"])) for n in d["nodes"])'
    else
        echo "exit $rc"
    fi
}

# filter ARGUMENTS...: the same of the hosts in pool.
filter() {
    plan --hostfile=pool "$@" train.py
}
