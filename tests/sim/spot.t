#!/bin/sh
# The policy of restarts, in 200 random schedules of losses, returns, notices and flapping;
# and the traces of contrib.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"

spot=$top_builddir/tests/sim/spot

run "$spot" --schedules 200 --seed "${MUSTER_SIM_SEED:-1}"
sed 's/^/# /' out
is "200 schedules: each keeps what muster promises" "$rc" 0
ok "... some end well, some wait too long" grep -Eq ' [1-9][0-9]+ ended well, [1-9][0-9]+ waited' out

for trace in "$top_srcdir"/contrib/traces/*.trace; do
    name=$(basename "$trace")
    # shellcheck disable=SC2046
    "$spot" $(sed -n 's/^# tests.sim.spot //p' "$trace") >again
    ok "$name is what its head says: generated" cmp "$trace" again
    run "$spot" --trace "$trace"
    is "$name, replayed: 0" "$rc" 0
    ok "... the policies differ" awk '/^restart/ { restart = $2 + 0 } /^elastic / { elastic = $2 + 0 }
        END { exit !(elastic > 2 * restart && restart > 0) }' out
done

# bad LINE WORDS: that line, behind "hosts 2", is refused with those words.
bad() {
    printf 'hosts 2\n%s\nuntil 1h\n' "$1" >bad.trace
    run "$spot" --nodes 1 --trace bad.trace
    is "'$1' is refused" "$rc $(cat err)" "1 spot: bad.trace:$2"
}
form="not 'TIME notice|drain|unlist HOST TIME', 'TIME lose|return|fail|list HOST', 'hosts N', 'until TIME'"
form="$form or 'price X Y'"
bad '1m lose host3' "2: 'host3' is not one of host1 to host2"
bad '1m lose' "2: $form"
bad '1m fall host1' "2: $form"
bad '1m notice host1' "2: $form"
bad '1m return host1' "2: host1 is there"
bad 'x lose host1' "2: 'x' is not a time from 0 to 3.456e+07 seconds (90, 1.5, 30s, 10m, 2h)"
bad 'price 1 x' "2: 'x' is not a price"
bad 'hosts 3' "2: a second 'hosts'"
bad "$(printf '2m lose host1\n1m lose host2')" "3: 60 s is before the line above"
bad "$(printf '2m lose host1\n3m fail host1')" "3: host1 is gone"
bad "$(printf '%0300d' 0)" "2: longer than 200 bytes"
run "$spot" --trace nothing.trace
is "no such file: 1" "$rc $(cat err)" "1 spot: nothing.trace: No such file or directory"
run "$spot" --nodes 5 --trace "$top_srcdir/contrib/traces/scarce.trace"
is "fewer hosts than nodes: 1" "$rc" 1
run "$spot"
is "nothing to do: 2" "$rc" 2
finish
