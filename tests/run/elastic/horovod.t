#!/bin/sh
# The elastic line of horovodrun: the run starts once there are -np slots, takes what there is up to
# --max-np, and goes on with --min-np. The script may be named as for a shell.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

# discovered HOSTS...: from now on the script prints these.
discovered() {
    printf '#!/bin/sh\n' >new
    printf 'echo %s\n' "$@" >>new
    chmod +x new
    mv new discover
}
# Told that a node leaves, rank 0 saves at once.
script_file rank <<'END_RANK'
#!/bin/sh
save() {
    echo "$MUSTER_GENERATION" >save/new
    mv save/new save/latest
}
[ "$RANK" != 0 ] || trap save USR1
echo "generation $MUSTER_GENERATION rank $RANK of $WORLD_SIZE"
while [ ! -e go ]; do
    sleep 0.05
done
END_RANK
# runs N: some generation has that many ranks.
runs() {
    [ "$(grep -c "rank . of $1\$" out)" = "$1" ]
}
says() {
    grep -q -e "$1" err
}

mkdir save
discovered node1
start muster -np 2 --min-np 1 --max-np 3 --slots 1 --elastic-timeout 60 --grow-interval 1 \
    --ckpt-marker save/latest --transport exec --host-discovery-script discover ./rank
ok "one slot, -np 2: the run waits" \
    wait_for 30 says '^muster: -np 2: there is only 1 slot on 1 host; waiting for hosts, at most 60 s'
discovered node1 node2
ok "... and starts with two" wait_for 30 runs 2
discovered node2
ok "it goes on with one" wait_for 60 runs 1
discovered node1 node2 node3 node4
ok "it grows to --max-np, no further" wait_for 60 runs 3
touch go
finish_run 30
is "... and ends well" "$rc" 0
is "no world was larger" "$(grep -c 'of 4$' out)" 0

discovered node1:1 node2:1
run muster -np 1 --label none --host-discovery-script ./discover sh -c 'echo "$WORLD_SIZE"'
is "-np and a script alone: all slots that there are" "$rc $(sort -u out)" "0 2"
ok "... which is said" says '^muster: -np 1 is the least that an elastic run starts with; it has 2 ranks, and --max-np limits it$'
run muster -np 2 --min-np 1 --max-np 2 -H node1:1,node2:1 --label none sh -c 'echo "$WORLD_SIZE"'
is "a list of hosts" "$rc $(sort -u out)" "0 2"
ok "... of which none are left out needs no word" not says 'the least'
run muster -np 3 --min-np 1 -H node1:1,node2:1 true
is "... that is too short: 2, since a list never grows" "$rc $(cat err)" \
    "2 muster: error: -np 3: there are only 2 slots on 2 hosts"

run env MUSTER_TEST_GPU_GLOB="$PWD/no-gpu*" muster -np 2 --min-np 1 --label none sh -c 'echo "$WORLD_SIZE"'
is "no hosts: as many ranks as are asked for, on a machine without GPUs" "$rc $(sort -u out)" "0 2"

mkdir bin
mv discover bin/hosts-of-cloud
PATH=$PWD/bin:$PATH
run muster -np 2 --label none --host-discovery-script hosts-of-cloud sh -c 'echo "$WORLD_SIZE"'
is "a script on PATH" "$rc $(sort -u out)" "0 2"

# refused STATUS ERROR OPTIONS...
refused() {
    expected="$1 muster: error: $2"
    shift 2
    run muster "$@" true
    is "$* is refused" "$rc $(cat err)" "$expected"
}
cp bin/hosts-of-cloud .
refused 65 "--host-discovery-script: hosts-of-cloud is both ./hosts-of-cloud and $PWD/bin/hosts-of-cloud; write which" \
    -np 1 --host-discovery-script hosts-of-cloud
echo 'echo node1' >plain
refused 65 "--host-discovery-script: ./plain: Permission denied: write chmod +x ./plain" \
    -np 1 --host-discovery-script plain
refused 65 "--host-discovery-script: ./nosuch: No such file or directory, and no such program on PATH" \
    -np 1 --host-discovery-script nosuch
refused 65 "--host-discovery-script: ./bin: is not a file" --nnodes 1:2 --host-discovery-script ./bin
refused 65 "--host-discovery-script: ./plain -a: No such file or directory; it gets no arguments: put the command into a script" \
    -np 1 --host-discovery-script './plain -a'
refused 2 "--min-np 3 is more than -np 2, with which the run starts" -np 2 --min-np 3 -H node1:4
refused 2 "-np 4, with which the run starts, is more than --max-np 2" -np 4 --max-np 2 -H node1:4
ok "nothing is left" no_leftovers
finish
