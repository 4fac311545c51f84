#!/bin/sh
# A node that does not reach node 0 when it takes a place is lost, and another spare takes the place;
# so is a new node 0 that nobody reaches.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

own_namespaces
use_netns 5
unset MUSTER_HOSTFILE

script_file rank <<'END'
#!/bin/sh
echo "generation $MUSTER_GENERATION of $WORLD_SIZE"
until [ -e go ]; do sleep 0.2; done
END

# runs GENERATION "HOST HOST": one rank on each.
runs() {
    [ "$(sed -n "s/^\(node[0-9]\): generation $1 of .*/\1/p" out | sort | tr '\n' ' ')" = "$2 " ]
}

spares_wait() {
    [ "$(grep -c 'checked; it waits for a place' err)" = "$1" ]
}

# apart NODE OTHER: by number; these do not reach each other; the launcher reaches both.
apart() {
    ip netns exec "node$1" ip route add blackhole "$(node_address "$2")/32"
}

# job HOSTS OPTIONS...
job() {
    rm -f go
    start muster -v --label host --name apart --grace 1 -H "$@" ./rank
}

end_well() {
    touch go
    finish_run 30
    is "it ends well" "$rc" 0
    ok "nothing is left" no_leftovers
}

{
apart 3 1
job node1,node2,node3,node4 --spares 2
ok "two nodes" wait_for 60 runs 0 'node1 node2'
ok "and two spares" wait_for 60 spares_wait 2
muster drain --within 0 apart node2 >told
ok "the first spare does not reach node 0: the other one takes the place" wait_for 90 runs 2 'node1 node4'
ok "... which is said" wait_for 20 grep -q 'generation 2: node node3 lost (no address of node1 is reached by all other nodes: ' err
end_well

apart 3 2
job node5,node1,node2,node3,node4 --spares 2
ok "three nodes" wait_for 60 runs 0 'node1 node2 node5'
ok "and two spares" wait_for 60 spares_wait 2
muster drain --within 0 apart node5 >told
ok "nobody reaches the new node 0: it is replaced" wait_for 90 runs 2 'node1 node2 node4'
ok "... in its place" wait_for 20 grep -q 'generation 2: node node3 lost .*; node4 takes its place' err
end_well

job node1,node3 --max-restarts 1
finish_run 60
is "at the first start that is an error of the user: 68" "$rc" 68
}
finish
