# detach.sh - what the scripts about --detach, attach and stop share, behind lib.sh
# SPDX-License-Identifier: Apache-2.0

. "$here/complaints.sh"

runs=$HOME/.local/state/muster/runs
MUSTER_HEARTBEAT=0.2
export MUSTER_HEARTBEAT
four="-H node1:2,node2:2"

# Rank 0 writes all the time, until it is let go; then 3 MB, and the end.
script_file rank <<'END'
#!/bin/sh
echo "begun $RANK"
echo "begun $RANK" >&2
until [ -e go ]; do
    [ "$RANK" != 0 ] || echo more
    sleep 0.05
done
seq 1000000 1400000
exit ${CODE:-0}
END

# detach ARGUMENTS...: the run is $id, its directory $kept.
detach() {
    rm -f go
    run muster --detach "$@"
    id=$(cat out)
    kept=$runs/$id
}

# status_says EXPRESSION: over what muster status --json says of the run.
status_says() {
    muster status --json state.json "$id" >state && json_says state.json "$1"
}

is_over() {
    status_says 'd["state"].startswith("ended")'
}

launcher() {
    json state.json 'd["pid"]'
}

# The second in which that run was named is over.
is_later_than() {
    [ "$(date +%Y%m%d-%H%M%S)" != "${1%-*}" ]
}

numbers_of() {
    sed -n "s/^node[12]:$1: \(1[0-9]*\)\$/\1/p" out | cksum
}
