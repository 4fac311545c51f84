#!/bin/sh
# --max-no-progress: a run whose generations come no further than earlier ones ends, with a status of
# its own; one that makes progress, by steps or by checkpoints, or reports none, starts again.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

run_limit=60
two="-H node1:1,node2:1"
# Rank 0 goes from FROM + GENERATION * BY to TO + GENERATION * BY, and then fails.
script_file train <<'END'
#!/bin/sh
echo "$RANK $MUSTER_GENERATION" >>lives
i=$((FROM + MUSTER_GENERATION * BY)) to=$((TO + MUSTER_GENERATION * BY))
[ "$RANK" = 0 ] || [ $MUSTER_GENERATION -ge $GOOD ] || exec sleep 1003
[ "$RANK" = 0 ] || exit 0
while [ $i -le $to ]; do
    [ $FORM = none ] || echo "step: $i  loss:  2.5"
    i=$((i + 1))
done
[ -z "$SAVE" ] || { echo saved >save.new && mv save.new save/latest; }
[ $MUSTER_GENERATION -lt $GOOD ] || exit 0
exit $((10 + MUSTER_GENERATION)) # never twice the same, so that no other rule ends the run
END
fails() { # FROM TO BY GOOD OPTION...
    rm -rf save lives && mkdir save
    FROM=$1 TO=$2 BY=$3 GOOD=$4
    shift 4
    run muster --env FROM=$FROM --env TO=$TO --env BY=$BY --env GOOD=$GOOD --env SAVE=$SAVE \
        --env FORM=${FORM:-steps} --grace 1 --restart-delay 0 --max-restarts 10 "$@" ./train
}
lived() {
    grep -c '^0 ' lives
}
# shellcheck disable=SC2086
{
fails 1 5 0 99 $two
is "ranks that always fail at step 5: 79, after three generations that came no further" "$rc $(lived)" "79 4"
ok "... which says where, and what to do" grep -Eq \
    '^muster: error: no restart: no progress: 3 generations in a row did not get beyond step 5 \(found by: torchtitan\), and there was no new checkpoint; find out why' err
ok "... after the report of the last failure" grep -q '^muster: rank 0 on node1 failed first: exit 13' err
fails 1 5 0 99 --max-no-progress 1 --json end.json $two
is "--max-no-progress 1 ends sooner" "$rc $(lived)" "79 2"
ok "... the status is in --json" json_says end.json 'd["exit_status"] == 79 and d["generations"][0]["exit_status"] == 10'
fails 1 5 0 5 --max-no-progress 0 $two
is "--max-no-progress 0 never ends" "$rc $(lived)" "0 6"
fails 1 5 1 5 --max-no-progress 1 $two
is "ranks that come a step further each time go on" "$rc $(lived)" "0 6"
FORM=none fails 1 5 0 5 $two
is "ranks that report no steps go on" "$rc $(lived)" "0 6"
fails 1 5 -1 5 --max-no-progress 2 $two
is "ranks that come less far each time do not" "$rc $(lived)" "79 3"

# Each role has generations and steps of its own. Only the second one fails.
script_file role <<'END'
#!/bin/sh
echo "$RANK $MUSTER_GENERATION" >>lives
echo "step: 5  loss:  2.5"
exit $((10 + MUSTER_GENERATION))
END
rm lives
run muster --restart=role --max-restarts 9 --restart-delay 0 --grace 1 --max-no-progress 2 $two \
    --role data:1 sleep 1003 : --role train:1 ./role
is "a role whose generations make no progress ends the run" "$rc $(lived)" "79 3"
ok "... which names it" grep -q 'no restart of train: no progress: 2 generations in a row did not get beyond step 5 ' err

# Generations that a drained node ends do not count.
script_file drained <<'END'
#!/bin/sh
echo "$RANK $MUSTER_GENERATION" >>lives
trap 'exit 3' USR1
[ "$RANK" != 0 ] || echo "step: 5  loss:  2.5"
while :; do sleep 0.1; done
END
: >lives
start muster --name drains --max-no-progress 1 --restart-delay 0 --grace 1 --spares 2 -H node1:1,node2:1,node3:1 ./drained
for generation in 0 1 2; do
    ok "generation $generation runs" wait_for 30 grep -qx "0 $generation" lives
    seen() {
        muster status --json state.json drains >state &&
            json_says state.json "d['generation'] == $generation and d['ranks'][0].get('step') == 5"
    }
    ok "... and reports its step" wait_for 30 seen
    [ $generation = 2 ] || ok "... its node is drained" muster drain --within 60 drains node$((generation + 1))
done
ok "drained nodes are no lack of progress" not grep -q 'no progress' err
run muster stop drains
finish_run 30
}
ok "nothing is left" no_leftovers
finish
