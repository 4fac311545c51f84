#!/bin/sh
# Row 20a: SIGKILL to muster, then muster resume, at once: it waits until no rank of the killed
# muster's generation lives, and then starts the next one, over SSH.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/faults/lib.sh"

world_nodes 2
# Ranks that do not end by TERM.
rank_does <<'END'
trap '' TERM
exec 9>>"ran/alive-$MUSTER_GENERATION"
flock -s 9
[ "$RANK" != 0 ] || [ "$MUSTER_GENERATION" = 0 ] || flock -n ran/alive-0 true || echo >ran/two
: >"ran/begun-$MUSTER_GENERATION-$RANK"
[ "$MUSTER_GENERATION" = 1 ] || while :; do sleep 0.2; done
END
begun() {
    [ "$(ls ran | grep -c "begun-$1-")" = "$2" ]
}

control 4 --grace 2 --reconnect 1 ./rank
ran_reset
start env FAULT=yes muster --name row20a --env FAULT --grace 2 --reconnect 1 --json end.json ./rank
ok "every rank runs" wait_for 30 begun 0 4
kill -KILL "$pid"
run env FAULT=yes muster resume row20a
ended 0
says 'restarting .*row20a: generation 1'
ok "every rank has run again" begun 1 4
ok "no two generations lived at once" not test -e ran/two
ok "--json has the generation" json_says end.json 'd["generation"] == 1'

run env FAULT=yes muster resume row20a
ended 2
says 'has ended with exit status 0: there is nothing to resume'
finish
