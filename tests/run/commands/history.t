#!/bin/sh
# What a full disk, another version or somebody's editor has left in the directory of a run:
# muster status, attach and stop say what they can, and all the others are there as before.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../../..}/tests/run/lib.sh"

runs=$HOME/.local/state/muster/runs
escape=$(printf '\033')
number=10

# kept PLAN RESULT STATUS: a run with that in its files, "" for none. Its id is $id.
kept() {
    number=$((number + 1))
    id=20200101-1200$number-abcd
    mkdir -p "$runs/$id"
    : >"$runs/$id/log"
    [ -z "$1" ] || printf '%s' "$1" >"$runs/$id/plan.json"
    [ -z "$2" ] || printf '%s' "$2" >"$runs/$id/result.json"
    [ -z "$3" ] || printf '%s' "$3" >"$runs/$id/status.json"
}

# is_shown WORDS: that state in the list, no matter what else is there; alone and as JSON too.
is_shown() {
    run muster status
    is "$id: status" "$rc" 0
    ok "... says: $1" grep -q "^$id .* $1 " out
    run muster status "$id"
    is "... of it alone" "$rc" 0
    ok "... says so too" grep -q "^$id: $1, since" out
    run muster status --json state.json "$id"
    is "... as JSON" "$rc" 0
    ok "... likewise" json_says state.json "d['state'] == '$1' and d['run_id'] == '$id'"
}

run muster -H node1:1 sh -c 'exit 3'
is "a run that is as it should be" "$rc" 3

kept '' '' ''
is_shown died
kept '{"comm' '{"exit_st' '{'
is_shown died
kept '{"command":[1,null,"x"],"launcher":3}' '{}' '[]'
is_shown died
kept '[]' '[1]' 7
is_shown died
kept '{"command":{},"launcher":{"host":7,"start":"x","grace_s":"y"}}' \
    '{"exit_status":"no","results":[3,{"rank":"x","text":7,"node":[]}]}' ''
is_shown died
kept '{"launcher":{"start":1e300,"grace_s":-1e300},"node_count":-3,"world_size":1e9}' '' \
    '{"state":4,"ranks":[3,{"rank":1,"said_ns":"x","started_ns":9223372036854775807}]}'
is_shown died
kept '{"launcher":{"detached":true,"host":"'"$(hostname)"'"}}' '{"exit_status":256}' ''
is_shown died
run muster attach "$id"
is "a result that cannot be is none: 69" "$rc" 69
kept '{"command":["\u001b[2J\n"]}' '{"exit_status":4,"results":[{"rank":0,"text":"\u001b[2J\nx"}]}' ''
is_shown "ended 4"
run muster status "$id"
ok "nothing that a terminal would obey" not grep -q "$escape" out
run muster stop "$id"
is "there is nothing to stop" "$rc" 0
mkfifo "$runs/$id/plan.json.pipe" && mv "$runs/$id/plan.json.pipe" "$runs/$id/plan.json"
is_shown "ended 4"

run muster status
is "all of them are in the list" "$(grep -c '^20' out)" "$(ls "$runs" | wc -l)"
finish
