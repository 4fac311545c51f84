#!/bin/sh
# Claims about time (run/time.sh) hold as they stand on a quiet machine, and allow for one that is
# slow, but not without end.
# SPDX-License-Identifier: Apache-2.0
. "${top_srcdir:-$(dirname "$0")/../..}/tests/run/lib.sh"

ok "this machine is not faster than a quiet one" test "$slowness_percent" -ge 100
ok "... nor more than ten times as slow" test "$slowness_percent" -le 1000
slowness_percent=100
ok "what is in time" is_in_time 100 100
is "... asks for nothing" "$slowness_percent" 100
ok "what is late is late" not is_in_time 100 1001
slowness_percent=300
ok "what is late, but not on a slow machine" is_in_time 100 300
for load in 0.00 0.08 1.50 12.34 99.99; do
    slowness_percent=100
    slower_than $((${load%.*} * 100 + 1${load#*.} - 100))
    ok "a load of $load: $slowness_percent %" test "$slowness_percent" -ge 100 -a \
        "$slowness_percent" -le 1000
done
slowness_percent=100
slow_busy_before=$((cpu_busy - 1000))
slow_stolen_before=$((cpu_stolen - 3000))
slowness
ok "a machine that is given a quarter of its time takes four times as long, or more" \
    test "$slowness_percent" -ge 350
is "seconds in milliseconds" "$(for s in 7 0.3 2.75 0.05 12.125; do in_ms $s; done | tr '\n' ' ')" \
    "7000 300 2750 50 12125 "
slowness_percent=1000
is "an option's time is stretched" "$(stretched 0.3)" 3

slowness_percent=100
began=$(now_ms)
ok "what never comes is not waited for without end" not wait_for 1 false
ok "... but ten times as long as was said" test $(($(now_ms) - began)) -ge 10000

# claims WIDE: what timed says, and how many claims that are.
claims() {
    (
        MUSTER_TEST_WIDE=$1 test_count=0
        timed "it is quick" false
        echo "$test_count"
    ) | grep -v '^# failed' | tr '\n' '|'
}
is "in the gate, time is no claim" "$(claims '')" \
    "# claimed with MUSTER_TEST_WIDE=yes alone: it is quick|0|"
is "in the wide tier it is" "$(claims yes)" "not ok 1 - it is quick|1|"
finish
