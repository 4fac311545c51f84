#!/bin/sh
# --save_pid: each node keeps the process id of its agent in a file, also if nodes are one machine.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

# Each rank prints the files of this run, and whether its agent is in one of them; and waits.
script_file rank <<'END'
#!/bin/sh
agents=
up=$PPID
while [ "$up" -gt 1 ]; do
    agents="$agents $up"
    up=$(awk '{ print $4 }' "/proc/$up/stat")
done
until [ -s launcher ] && [ -e go ]; do sleep 0.05; done
for file in /tmp/"$(cat launcher)".*deepspeed; do
    case "$agents " in
    *" $(cat "$file") "*) echo "$MUSTER_HOST ${MUSTER_ROLE:-} ${file#/tmp/*.}" ;;
    esac
done
END

# saved WHAT EXPECTED OPTIONS...: each rank finds the file of its agent, and then there is none.
saved() {
    what=$1 expected=$2
    shift 2
    rm -f go
    start muster --label none --save_pid "$@"
    echo "$pid" >launcher
    : >go
    finish_run 60
    is "$what" "$rc $(sort out | tr -s ' ' | tr '\n' ';')" "0 $expected"
    is "... it is gone afterwards" "$(ls /tmp | grep -c "^$pid\..*deepspeed")" 0
}
saved "one node: DeepSpeed's name" "node1 deepspeed;" --no-pidns -H node1:1 ./rank
saved "two nodes of one machine" "node1 node1.deepspeed;node2 node2.deepspeed;" \
    -H node1:1,node2:1 ./rank
saved "... without namespaces of processes" "node1 node1.deepspeed;node2 node2.deepspeed;" \
    --no-pidns -H node1:1,node2:1 ./rank
saved "two roles on a host" "node1 one node1.one.deepspeed;node1 two node1.two.deepspeed;" \
    -H node1:2 --role one:1 ./rank : --role two:1 ./rank
ok "nothing is left" no_leftovers
finish
